"""Trees of tight arcs that are no shortest paths: the first short cut is named, in undirected and directed graphs."""

import numpy as np
import pytest
from simulated import Graph, on_ranks

from dgraph.validate import validate

pytestmark = pytest.mark.mpi_skip


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weight", [None, 1, 1.0])
def test_a_path_around_a_circle_is_too_long(directed, ranks, weight):
    n = 6
    src = np.arange(n)
    dst = (src + 1) % n
    if directed:
        src, dst = np.append(src, 0), np.append(dst, n - 1)
    graph = Graph(n, src, dst, directed, None if weight is None else np.full(len(src), weight))
    kind = np.float64 if isinstance(weight, float) else np.int64

    def work(comm):
        mine = np.arange(comm.rank, n, comm.size)
        columns = {"vertex": mine + 1, "distance": mine.astype(kind), "predecessor": np.where(mine > 0, mine, -1)}
        verdict = validate("sssp", graph.block(comm), columns, comm, parameters={"source": 1}, rounds=n)
        return verdict.failure

    (failure,) = set(on_ranks(ranks, work))
    assert f"'no arc is a short cut': arc 1 → {n} of weight {kind(1)}" in failure
