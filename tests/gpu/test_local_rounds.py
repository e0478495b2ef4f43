"""Rounds of a rank's own between exchanges: where they are chosen, and that distances stay right, on emulated GPUs."""

import numpy as np
import oracles
import pytest
from emulated import Device, needs_compiler
from simulated import Graph, succeed

import partitioning
from dgraph.algorithms.base import ALGORITHMS
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.transports import Links
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Trace

pytestmark = [needs_compiler, pytest.mark.mpi_skip]
LENGTH, WIDTH = 800, 2
SOURCE = 7
"""Id of the source; an id is one more than the gid."""


def street(chords=0):
    """Return a grid that is long and narrow, whose halves share few vertices, with weights; and short random edges."""
    rng = np.random.default_rng(3)
    at = np.arange(LENGTH * WIDTH).reshape(LENGTH, WIDTH)
    far = rng.integers(8, at.size, chords)
    src = np.concatenate([at[1:].ravel(), at[:, 1:].ravel(), far])
    dst = np.concatenate([at[:-1].ravel(), at[:, :-1].ravel(), far - rng.integers(1, 8, chords)])
    src, dst, weights = oracles.simple(src, dst, rng.integers(1, 9, src.size).astype(np.int32))
    return Graph(LENGTH * WIDTH, src, dst, False, weights)


def searched(name, graph, policy="oec", options=None, direct=True, **limits):
    """Return the distances by gid, the rounds, and how they were chosen, on two ranks."""

    def on_rank(comm):
        block = graph.block(comm)
        local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
        backend = CudaBackend(0, 1, False, options or Options(), Device(2, seed=comm.rank + 1))
        chosen = {1 - comm.rank: "p2p" if direct else "mpi-host"}
        backend.links = Links(comm.duplicate(), chosen, not_direct="" if direct else "not asked for")
        ctx = Context(local, comm, backend, Trace(comm, ["test"]), Progress(), **limits)
        answer = ALGORITHMS[name](source=SOURCE).run(ctx)
        found = np.array(answer.columns["distance"]())
        return local.gids[: local.masters], found, ctx.rounds, [each["what"] for each in ctx.record.choices]

    ranks = succeed(2, on_rank)
    whole = np.empty(graph.n, np.int64)
    for gids, found, _, _ in ranks:
        whole[gids] = found
    return whole, ranks[0][2], "rounds" in ranks[0][3]


def right(name, graph):
    weights = np.ones_like(graph.weights) if name == "bfs" else graph.weights
    ends = oracles.simple(*oracles.symmetric(graph.src, graph.dst, weights))
    return np.array(oracles.sssp(graph.n, *ends, SOURCE - 1))


@pytest.mark.parametrize("name", ["bfs", "sssp"])
def test_ranks_that_share_few_vertices_exchange_seldom(name):
    graph = street()
    far, few, chosen = searched(name, graph)
    same, many, asked = searched(name, graph, options=Options(local_rounds=False))
    np.testing.assert_array_equal(far, right(name, graph))
    np.testing.assert_array_equal(same, far)
    assert chosen
    assert not asked
    assert 3 * few < many


@pytest.mark.parametrize(
    "how",
    [
        {"policy": "hash"}, {"graph": street(8000)}, {"direct": False}, {"max_rounds": 1000},
        {"direction": "push"}, {"options": Options(schedule="twc")},
    ],
    ids=["many vertices are shared", "many edges", "no access", "limited", "direction", "schedule"],
)  # fmt: skip
def test_other_runs_exchange_in_each_round(how):
    graph = how.get("graph", street())
    far, _, chosen = searched("bfs", **{"graph": graph, **how})
    np.testing.assert_array_equal(far, right("bfs", graph))
    assert not chosen
