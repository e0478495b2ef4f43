"""A program that only pulls pulls under direction auto, on threads, ranks and emulated GPUs."""

from functools import cache

import numpy as np
import pytest
import simulated
from emulated import needs_compiler
from gpu_ranks import field, run

import partitioning
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import world
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.program import MAX, Field, Program, maximum
from dgraph.report import Progress, Record

HOPS = 3


class WithinHops(Program):
    """Largest id from which at most ``HOPS`` edges lead to a vertex."""

    directions = ("pull",)

    largest = Field("int64")
    best = Field("int64", reduce=MAX)

    def init(self, v, g):
        return {"largest": v.id, "active": v.id > 400}

    def edge(self, u, e, v):
        return {"best": u.largest}

    def apply(self, v, g):
        return {"largest": maximum(v.largest, v.best), "active": v.best > v.largest}

    def step(self, g):
        return {"done": (g.active == 0) | (g.round >= HOPS)}


@cache
def graph():
    return simulated.skewed(500, 900, directed=True)


@cache
def wanted():
    n, (src, dst, _) = graph().n, graph().arcs()
    largest, active = np.arange(n) + 1, np.arange(n) + 1 > 400
    for _ in range(HOPS):
        after = largest.copy()
        np.maximum.at(after, dst[active[src]], largest[src[active[src]]])
        largest, active = after, after > largest
    return largest


def pulled(record):
    rounds = record.rounds
    assert rounds.kept
    return rounds.by_direction == {"pull": HOPS}


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "hash"])
def test_on_threads_and_ranks(policy):
    comm = world()
    block = graph().block(comm)
    local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
    record = Record(comm, ["test"])
    state = Context(local, comm, CpuBackend(2, 1), record, Progress()).run(WithinHops())
    with comm.together():
        np.testing.assert_array_equal(state["largest"], wanted()[local.gids[: local.masters]])
        assert pulled(record)


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(("ranks", "options"), [(1, GpuPlan()), (3, GpuPlan()), (2, GpuPlan(schedule="twc"))])
def test_on_gpus(ranks, options):
    (results,) = run(ranks, graph(), [WithinHops()], policy="hash", options=options)
    np.testing.assert_array_equal(field(results, "largest", graph().n), wanted())
    assert all(pulled(record) for _, _, record in results)
