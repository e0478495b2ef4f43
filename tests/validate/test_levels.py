"""Levels of undirected graphs: one wrong value in any column on any rank is refused by all, in one byte or in eight."""

import numpy as np
import pytest
from simulated import Graph, on_ranks

from dgraph.validate import validate
from dgraph.validate.host import host_prover
from dgraph.validate.rule import UNREACHED

pytestmark = pytest.mark.mpi_skip
N = 9
UP = np.array([-1, 0, 1, 0, 1, 2, 3, 4, 5])
"""Predecessors of a tree: a path of three vertices, from each of which hang two more, one below the other."""
DEPTH = np.array([0, 1, 2, 1, 2, 3, 2, 3, 4])


def failures(ranks, n, ends, distance, predecessor):
    """Return the failures that the ranks name, each of which has every P-th row; vertices are numbered from 1."""
    graph = Graph(n, *ends, directed=False)

    def work(comm):
        mine = slice(comm.rank, n, comm.size)
        columns = {"vertex": np.arange(n)[mine] + 1, "distance": distance[mine], "predecessor": predecessor[mine]}
        return validate("bfs", graph.block(comm), columns, comm, parameters={"source": 1}, rounds=n).failure

    return set(on_ranks(ranks, work))


@pytest.mark.parametrize("narrow", [255, 0])
@pytest.mark.parametrize("ranks", [2, 1, 3, 4])
def test_one_wrong_value_on_any_rank_is_refused(ranks, narrow, monkeypatch):
    monkeypatch.setattr(host_prover, "FAR", narrow)
    ends, right = (np.arange(1, N), UP[1:]), np.where(UP < 0, -1, UP + 1)
    assert failures(ranks, N, ends, DEPTH, right) == {None}
    for v in range(N):
        wrong = [(depth, right[v]) for depth in (DEPTH[v] - 1, DEPTH[v] + 1, 40, UNREACHED)]
        wrong += [(DEPTH[v], parent) for parent in {-1, 1, v + 1, N} - {right[v]}]
        for depth, parent in wrong:
            distance, predecessor = DEPTH.copy(), right.copy()
            distance[v], predecessor[v] = depth, parent
            (failure,) = failures(ranks, N, ends, distance, predecessor)
            assert failure, (v, depth, parent)


@pytest.mark.parametrize(("n", "lost"), [(256, 1), (254, 1), (255, 1), (300, 0), (254, 0), (255, 0)])
def test_the_end_of_a_long_path(n, lost):
    """The levels of the last vertices are about the largest that one byte holds."""
    vertices = np.arange(n)
    distance = np.where(vertices < n - lost, vertices, UNREACHED)
    predecessor = np.where((vertices > 0) & (vertices < n - lost), vertices, -1)
    (failure,) = failures(2, n, (vertices[:-1], vertices[1:]), distance, predecessor)
    assert (failure is None) == (not lost)
    assert not lost or f"arc {n - 1} → {n} of weight 1: {n - 1} has distance {n - 2}" in failure
