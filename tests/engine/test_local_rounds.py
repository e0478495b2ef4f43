"""Local rounds, several between two exchanges: where they are chosen, and that distances stay right."""

from functools import partial

import numpy as np
import oracles
import pytest
from emulated import Device, needs_compiler
from simulated import Graph, succeed

import partitioning
from dgraph.algorithms.base import ALGORITHMS
from dgraph.backend.cpu import backend as cpu_backend
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cpu.round import array_rounds, machine
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import Links
from dgraph.engine.rounds import context
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.report import Progress, Record

pytestmark = pytest.mark.mpi_skip
LENGTH, WIDTH = 800, 2
SOURCE = 7
"""Id of the source; an id is one more than the gid."""


def street(chords=0):
    """Return a grid that is long and narrow, whose halves share few vertices, with weights; and short random edges."""
    rng = np.random.default_rng(3)
    vertices = np.arange(LENGTH * WIDTH).reshape(LENGTH, WIDTH)
    far = rng.integers(8, vertices.size, chords)
    src = np.concatenate([vertices[1:].ravel(), vertices[:, 1:].ravel(), far])
    dst = np.concatenate([vertices[:-1].ravel(), vertices[:, :-1].ravel(), far - rng.integers(1, 8, chords)])
    src, dst, weights = oracles.simple(src, dst, rng.integers(1, 9, src.size).astype(np.int32))
    return Graph(LENGTH * WIDTH, src, dst, False, weights)


def on_cpu(comm):
    return CpuBackend(1, 1)


def on_gpu(comm, options=None, direct=True):
    """Return a backend with an emulated GPU; ``direct``: GPUs reach each other's memory."""
    backend = CudaBackend(0, 1, False, options or GpuPlan(), Device(2, seed=comm.rank + 1))
    chosen = {1 - comm.rank: "p2p" if direct else "mpi-host"}
    backend.links = Links(comm.duplicate(), chosen, not_direct="" if direct else "not asked for")
    return backend


def searched(name, graph, device, policy="oec", **limits):
    """Return the distances by gid, the rounds, and True if local rounds were chosen, on two ranks."""

    def on_rank(comm):
        block = graph.block(comm)
        local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
        ctx = Context(local, comm, device(comm), Record(comm, ["test"]), Progress(), **limits)
        answer = ALGORITHMS[name](source=SOURCE).run(ctx)
        column = answer.columns["distance"]
        values = np.array(column() if callable(column) else column)
        local_rounds = any(choice["what"] == "exchanges" for choice in ctx.record.choices)
        return local.gids[: local.masters], values, ctx.rounds, local_rounds

    ranks = succeed(2, on_rank)
    whole = np.empty(graph.n, np.int64)
    for gids, values, _, _ in ranks:
        whole[gids] = values
    return whole, ranks[0][2], ranks[0][3]


def right(name, graph):
    weights = np.ones_like(graph.weights) if name == "bfs" else graph.weights
    ends = oracles.simple(*oracles.symmetric(graph.src, graph.dst, weights))
    return np.array(oracles.sssp(graph.n, *ends, SOURCE - 1))


@pytest.mark.parametrize("name", ["bfs", "sssp"])
@pytest.mark.parametrize(
    ("device", "compiles"),
    [
        pytest.param(on_gpu, "never", marks=needs_compiler),
        (on_cpu, "never"),
        (on_cpu, "first"),
        pytest.param(on_cpu, "always", marks=pytest.mark.exhaustive),
    ],
    ids=["GPU", "interpreted", "arrays", "compiled"],
)
def test_ranks_that_share_few_vertices_exchange_seldom(name, device, compiles, monkeypatch):
    monkeypatch.setenv("DGRAPH_COMPILE", compiles)
    monkeypatch.setattr(array_rounds, "uncompiled", lambda stem, tiny=False: compiles == "first")
    graph = street()
    far, few, chosen = searched(name, graph, device)
    same, many, asked = searched(name, graph, device, sync="full")
    np.testing.assert_array_equal(far, right(name, graph))
    np.testing.assert_array_equal(same, far)
    assert chosen
    assert not asked
    assert 3 * few < many


@pytest.mark.parametrize("device", [pytest.param(on_gpu, marks=needs_compiler), on_cpu])
@pytest.mark.parametrize(
    "how",
    [{"policy": "hash"}, {"graph": street(8000)}, {"max_rounds": 1000}, {"direction": "push"}],
    ids=["many vertices are shared", "many edges", "limited", "direction"],
)
def test_other_runs_exchange_in_each_round(device, how):
    graph = how.get("graph", street())
    far, _, chosen = searched("bfs", **{"graph": graph, "device": device, **how})
    np.testing.assert_array_equal(far, right("bfs", graph))
    assert not chosen


@needs_compiler
@pytest.mark.parametrize(
    "how",
    [{"direct": False}, {"options": GpuPlan(local_rounds=False)}, {"options": GpuPlan(schedule="twc")}],
    ids=["no access", "option", "schedule"],
)
def test_gpus_exchange_in_each_round(how):
    graph = street()
    far, _, chosen = searched("bfs", graph, partial(on_gpu, **how))
    np.testing.assert_array_equal(far, right("bfs", graph))
    assert not chosen


@pytest.mark.exhaustive
@pytest.mark.parametrize("small", [0, 3, 1024])
def test_threads_share_rounds(small, monkeypatch):
    """Check two threads a rank, where local rounds end once more than ``small`` vertices changed."""
    monkeypatch.setenv("DGRAPH_COMPILE", "always")
    monkeypatch.setattr(cpu_backend, "team_of", lambda size: Team(2))  # each of these ranks has its own
    monkeypatch.setattr(machine, "SMALL", small)
    graph = street()
    for name in ("bfs", "sssp"):
        far, _, chosen = searched(name, graph, on_cpu)
        np.testing.assert_array_equal(far, right(name, graph))
        assert chosen


@pytest.mark.parametrize("policy", ["cvc", "iec"])
def test_rows_of_other_ranks_are_told_of_every_change(policy, monkeypatch):
    """Check policies that place a vertex's edges on several ranks: their owner exchanges in each round."""
    monkeypatch.setattr(context, "RARELY_SHARED", 0)
    graph = street()
    far, _, chosen = searched("bfs", graph, on_cpu, policy=policy)
    np.testing.assert_array_equal(far, right("bfs", graph))
    assert chosen
