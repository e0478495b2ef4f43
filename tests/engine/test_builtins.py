"""Built-in values ``in_degree`` and ``e.id`` and the function ``sqrt``, on threads, ranks and emulated GPUs."""

from functools import cache

import numpy as np
import pytest
import simulated
from emulated import needs_compiler
from gpu_ranks import run

import partitioning
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build
from dgraph.program import MAX, MIN, Field, Program, sqrt, trace
from dgraph.report import Progress, Record


class Facts(Program):
    """First edge that enters a vertex, the largest in-degree of its sources, and roots of its degrees."""

    first = Field("int64", reduce=MIN)
    most = Field("int32", reduce=MAX)
    root, narrow = Field("float64"), Field("float32")

    def init(self, v, g):
        mean = sqrt(v.in_degree * 1.0 * v.out_degree)
        return {"most": 0, "root": mean, "narrow": sqrt(v.in_degree), "active": True}

    def edge(self, u, e, v):
        return {"first": e.id, "most": u.in_degree}

    def step(self, g):
        return {"done": True}


class FactsBack(Facts):
    """Facts of the reversed edges."""

    reverse = True


@cache
def graph(directed):
    return simulated.skewed(500, 2500, directed)


def check(gids, state, ctx, directed, reverse=False, base=1):
    """Compare with NumPy; ids start at ``base``."""
    n, (src, dst, _) = graph(directed).n, graph(directed).arcs()
    entering, leaving = np.bincount(dst, minlength=n), np.bincount(src, minlength=n)
    ends = np.stack([src, dst] if directed else [np.minimum(src, dst), np.maximum(src, dst)]) + base
    if reverse:
        src, dst, entering, leaving = dst, src, leaving, entering
    most, first = np.zeros(n, np.int64), np.full((n, 2), n + base)
    np.maximum.at(most, dst, entering[src])
    for k in np.lexsort(ends[::-1])[::-1]:
        first[dst[k]] = ends[:, k]
    np.testing.assert_array_equal(state["most"], most[gids])
    np.testing.assert_array_equal(state["root"], np.sqrt(1.0 * entering * leaving)[gids])
    np.testing.assert_array_equal(state["narrow"], np.sqrt(entering).astype(np.float32)[gids])
    some = (entering > 0)[gids]
    ends_by_edge = np.stack(ctx.edge_ends(state["first"][some]), axis=1)
    np.testing.assert_array_equal(ends_by_edge, first[gids][some])


@pytest.mark.mpi
@pytest.mark.parametrize("direction", ["auto", "push", "pull"])
@pytest.mark.parametrize(("policy", "directed"), [("oec", True), ("hash", True), ("cvc", False)])
def test_on_threads_and_ranks(policy, directed, direction):
    comm = world()
    block = graph(directed).block(comm)
    local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
    ctx = Context(local, comm, CpuBackend(2, 1), Record(comm, ["test"]), Progress(), direction)
    for kind in (Facts, FactsBack):
        state = ctx.run(kind())
        with comm.together():
            check(local.gids[: local.masters], state, ctx, directed, kind is FactsBack)


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(("ranks", "directed", "direction"), [(1, True, "push"), (2, True, "pull"), (3, False, "push")])
def test_on_gpus(ranks, directed, direction):
    contexts = []
    of_programs = run(
        ranks, graph(directed), [Facts(), FactsBack()], policy="hash", direction=direction, options=GpuPlan(),
        wrapped=contexts.append,
    )  # fmt: skip
    for kind, results in zip((Facts, FactsBack), of_programs, strict=True):
        for gids, state, _ in results:
            check(gids, state, contexts[0], directed, kind is FactsBack)


@pytest.mark.mpi_skip
def test_large_ids_have_no_edge_ids():
    whole = simulated.graph(3, np.array([0, 1]), np.array([1, 2]))
    comm = SerialComm()
    block = whole.block(comm)
    local = build(block, partitioning.plan("oec", block, 1, comm), comm)
    local.original[:] += 3_037_000_499
    ctx = Context(local, comm, CpuBackend(1, 1), Record(comm, ["test"]), Progress())
    with pytest.raises(UsageError, match=r"e\.id needs vertex ids below 3037000499, and this graph has 3037000502"):
        ctx.run(Facts())


@pytest.mark.mpi_skip
def test_traces_of_edge_ids_are_not_weighted():
    assert not trace(Facts(), np.dtype("int32")).weighted
