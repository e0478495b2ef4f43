"""Globals with a MIN or MAX reduction over vertices, on threads, on ranks and on emulated GPUs."""

from functools import cache

import numpy as np
import oracles
import pytest
import simulated
from devices import device_of, local_graph
from emulated import needs_compiler
from gpu_ranks import run

import partitioning
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.comm import world
from dgraph.engine.rounds.context import Context
from dgraph.graph.build.local_graph import build
from dgraph.program import ADD, INF, MAX, MIN, Field, Global, Program, trace, where
from dgraph.report import Progress, Record

SOURCE, HUB, FAR = 5, 9, 2**62


class Waves(Program):
    """BFS in which each level reads the minimum over the previous level; ``every``: rounds visit all vertices."""

    source: int = 0
    hub: int = HUB
    every: bool = False
    level = Field("int32", reduce=MIN)
    told_low, told_high = Field("int64"), Field("int64")
    low = Global("int64", init=7, reduce=MIN)
    reached = Global("int64", reduce=ADD, keep=True)
    high = Global("int64", reduce=MIN)
    top = Global("int64", reduce=MAX)
    empty, last, last_top = Global("int64"), Global("int64"), Global("int64")

    def init(self, v, g):
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here, "told_low": 0, "told_high": 0, **self.said(v, here)}

    def said(self, v, here):
        low = where(v.out_degree > self.hub, v.id - FAR, v.id)
        ends = {"high": where(here, -v.id, INF), "top": where(here, v.id, INF)}
        return {"low": where(here, low, INF), "reached": here, **ends}

    def edge(self, u, e, v):
        return {"level": u.level + 1}

    def apply(self, v, g):
        new = v.level == g.round + 1
        told = {"told_low": where(new, g.low, v.told_low), "told_high": where(new, g.high, v.told_high)}
        return {"active": new, **told, **self.said(v, new)}

    def step(self, g):
        nobody = g.low == INF
        return {
            "empty": g.empty + where(nobody, 1, 0),
            "last": where(nobody, g.last, g.low),
            "last_top": where(g.top == INF, g.last_top, g.top),
            "done": g.active == 0,
            "whole": self.every,
        }


FEW, MANY = 760, 40_000
"""Number of vertices for emulated GPUs, and for several threads."""


@cache
def graph(n=FEW):
    """Graph with hubs, large and small levels, and unreachable vertices in between."""
    some, path = simulated.skewed(700, 5000, directed=False), np.arange(699, 730)
    src, dst = np.append(some.src, path), np.append(some.dst, path + 1)
    places = np.random.default_rng(2).permutation(n)
    places[places == SOURCE], places[SOURCE] = places[SOURCE], SOURCE
    return simulated.graph(n, places[src[src != dst]], places[dst[src != dst]], directed=False)


@cache
def wanted(base, n=FEW):
    """Return the values that each vertex reads, and the globals; ids start at ``base``."""
    src, dst, _ = graph(n).arcs()
    level, ids = oracles.bfs(n, src, dst, SOURCE), np.arange(n) + base
    degree = np.bincount(src, minlength=n)
    said = np.where(degree > HUB, ids - FAR, ids)
    waves = range(level.max() + 1)
    lows, highs = [said[level == wave].min() for wave in waves], [-ids[level == wave].max() for wave in waves]
    told = [np.zeros(n, np.int64), np.zeros(n, np.int64)]
    for wave in waves[1:]:
        told[0][level == wave], told[1][level == wave] = lows[wave - 1], highs[wave - 1]
    ends, top = np.iinfo(np.int64), -highs[-1]
    unset = {"low": ends.max, "high": ends.max, "top": ends.min}
    return *told, unset | {"reached": (level >= 0).sum(), "empty": 1, "last": lows[-1], "last_top": top}


def check(gids, fields, globals, base=1, n=FEW):
    low, high, ends = wanted(base, n)
    np.testing.assert_array_equal(fields["told_low"], low[gids])
    np.testing.assert_array_equal(fields["told_high"], high[gids])
    assert globals == ends


def test_minima_come_last_among_integer_sums():
    traced = trace(Waves(), None)
    assert traced.integer_sums == ["reached", "low", "high", "top"]
    assert traced.minima == ["low", "high", "top"]


@pytest.mark.mpi
@pytest.mark.parametrize(("threads", "every", "direction"), [
    (1, False, "push"), (2, False, "push"), (2, True, "push"), (2, True, "flip"), (1, False, "pull"),
])  # fmt: skip
@pytest.mark.parametrize("policy", ["oec", "hash"])
def test_on_threads_and_ranks(threads, every, direction, policy):
    comm = world()
    block = graph(MANY).block(comm)
    local = build(block, partitioning.plan(policy, block, comm.size, comm), comm)
    context = Context(local, comm, CpuBackend(threads, 1), Record(comm, ["test"]), Progress(), direction)
    state = context.run(Waves(source=SOURCE + 1, every=every))
    with comm.together():
        check(local.gids[: local.masters], state.fields, state.globals, n=MANY)


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("options", [GpuPlan(), GpuPlan(small=-1), GpuPlan(small=300)])
@pytest.mark.parametrize(("every", "limit"), [(False, 1 << 20), (True, 2)])
def test_on_one_gpu(options, every, limit):
    src, dst, _ = graph().arcs()
    device = device_of("emulated")
    machine = GpuMachine(
        trace(Waves(source=SOURCE, every=every), None),
        DeviceGraph(local_graph(graph().n, src, dst, directed=False), device, False),
        device, "push", options,
    )  # fmt: skip
    machine.start({})
    machine.apply_totals(*machine.totals(), True)
    while not machine.done:
        machine.fused(limit)
    check(np.arange(graph().n), machine.fields(), machine.globals(), base=0)


GPUS = {
    "in one kernel": GpuPlan(), "in one kernel, hosts agree": GpuPlan(host_rounds=True),
    "broad": GpuPlan(small=-1), "broad, hosts agree": GpuPlan(small=-1, host_rounds=True),
}  # fmt: skip


@pytest.mark.exhaustive
@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("way", GPUS)
@pytest.mark.parametrize(("ranks", "policy", "every"), [(2, "oec", True), (4, "cvc", False)])
def test_between_gpus(way, ranks, policy, every):
    programs = [Waves(source=SOURCE + 1, every=every)]
    (results,) = run(ranks, graph(), programs, policy=policy, direction="push", options=GPUS[way])
    for gids, state, _ in results:
        check(gids, state.fields, state.globals)


@needs_compiler
@pytest.mark.mpi_skip
def test_mutants_fail():
    """The mutant uses a rank's own minimum instead of the minimum over ranks."""
    programs, mutant = [Waves(source=SOURCE + 1)], ("count_least(t.all + j, x[j]);", ";")
    (results,) = run(2, graph(), programs, direction="push", options=GpuPlan(), mutant=mutant)
    for gids, state, _ in results:
        with pytest.raises(AssertionError):
            check(gids, state.fields, state.globals)
