"""An observer ends a run: on all ranks, within a round, and the next run is right."""

import re

import numpy as np
import pytest

import dgraph
from dgraph.comm import world
from dgraph.engine.rounds.progress import Progress
from dgraph.errors import Cancelled


class Ends(Progress):
    """Observer that asks for the end once round ``after`` is seen, on one rank."""

    def __init__(self, after, rank):
        self.after, self.asks, self.seen = after, world().rank == rank, []

    def round(self, number, vertices, edges=None, direction=""):
        self.seen.append(number)

    def cancelled(self):
        return self.asks and bool(self.seen) and self.seen[-1] >= self.after


@pytest.mark.mpi
@pytest.mark.parametrize("after", [1, 5, 40])
@pytest.mark.parametrize("last", [False, True])
def test_one_rank_ends_the_run_of_all_within_a_round(after, last):
    graph = dgraph.Graph.load("rmat:6,seed=2", device=dgraph.Cpu(1))
    ends = Ends(after, world().size - 1 if last else 0)
    with pytest.raises(Cancelled, match="after round") as caught:
        dgraph.pagerank(graph, tol=0.0, max_iter=10**8, progress=ends)
    alike = world().allgather_json([str(caught.value), ends.seen[-1]])
    assert all(rounds == alike[0] for rounds in alike)
    rounds = int(re.search(r"after round (\d+)", str(caught.value))[1])
    if world().size > 1:  # each round is agreed on, and the request is sent with the next one
        assert (rounds, ends.seen[-1]) == (after + 1, after)
    else:
        assert len(ends.seen) <= 2 * after + 16
    result, fresh = dgraph.bfs(graph, source=1), dgraph.bfs(dgraph.Graph.load("rmat:6,seed=2", device="cpu"), source=1)
    np.testing.assert_array_equal(result.columns["distance"], fresh.columns["distance"])
    np.testing.assert_array_equal(result.columns["predecessor"], fresh.columns["predecessor"])


def test_the_first_check_of_a_large_graph_comes_after_one_round():
    class Counts(Progress):
        seen: list[int]

        def round(self, number, vertices, edges=None, direction=""):
            self.seen.append(number)

    graph = dgraph.Graph.load("rmat:9,seed=2", device=dgraph.Cpu(1))
    from dgraph.backend.interface import Machine

    counts = Counts()
    counts.seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Machine, "first_arcs", 10)
        dgraph.pagerank(graph, tol=0.0, max_iter=20, progress=counts)
    assert counts.seen[0] == 1


def test_a_request_after_the_last_round_is_too_late():
    graph = dgraph.Graph.load("path:30", device="cpu")
    late = Ends(29, 0)
    assert dgraph.bfs(graph, source=0, return_predecessors=False, progress=late).converged
