"""Schedules: every edge of every active vertex exactly once, on grids smaller and larger than the work; and which
thread visits how many, as the papers map them. The text runs as C++ on a CPU, and on a GPU where there is one.
"""

import faulthandler
import os

import numpy as np
import pytest
from devices import device_of, local_graph, on_devices
from schedule_models import MODELS

from dgraph.algorithms.base import OnePass
from dgraph.backend.cuda import graph as device_graph
from dgraph.backend.cuda import layout as at
from dgraph.backend.cuda.machine import Machine
from dgraph.backend.cuda.options import Options
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.program import ADD, Field, trace

pytestmark = pytest.mark.mpi_skip


class Tally(OnePass):
    """What reaches a vertex: how many edges, and the sum of their weights, which are random: no edge can stand in for
    another."""

    chosen = Field("bool", given=True)
    edges = Field("int64", reduce=ADD)
    total = Field("int64", reduce=ADD)

    def init(self, v, g):
        return {"active": v.chosen}

    def edge(self, u, e, v):
        return {"edges": 1, "total": e.weight}


def skewed(n=500, hub=900, seed=3):
    """Arcs of a graph with a hub, two medium vertices, rows without arcs and short rows; weights random."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, n)
    degrees[[7, 100, 333]] = hub, 90, 60
    degrees[200:280] = 0
    src = np.repeat(np.arange(n), degrees)
    return n, src, rng.integers(0, n, src.size), rng.integers(1, 1 << 40, src.size)


def visited(device, schedule, active, direction="push", arcs=None, record=False, **options):
    """One round over the arcs of active vertices: the machine after it, and the list of the frontier before it."""
    n, src, dst, weights = arcs or skewed()
    local = local_graph(n, src, dst, weights)
    graph = device_graph.DeviceGraph(local, device, renumber=False)
    options = Options(schedule=schedule, record=record, **options)
    machine = Machine(trace(Tally(), weights.dtype), graph, device, direction, options)
    machine.start({"chosen": active.astype(np.uint8)})
    machine.agreed(*machine.totals(), True)
    listed = machine.frontier().astype(np.int64)
    machine.fused(1)
    machine.arrays.bits[0].fill(0)
    return machine, listed


def wanted(active, arcs=None):
    n, src, dst, weights = arcs or skewed()
    walks = active[src]
    edges, total = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.add.at(edges, dst[walks], 1)
    np.add.at(total, dst[walks], weights[walks])
    return edges, total


def exactly_once(machine, active, arcs=None):
    edges, total = wanted(active, arcs)
    return np.array_equal(machine.state["edges"], edges) and np.array_equal(machine.state["total"], total)


def in_a_child(holds) -> bool:
    """Whether ``holds()`` in a process of its own, which may crash."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        os._exit(0 if holds() else 1)
    return os.waitpid(child, 0)[1] == 0


FRONTIERS = {
    "all": np.ones(500, bool),
    "some": np.random.default_rng(1).random(500) < 0.3,
    "hub": np.arange(500) == 7,
    "no arcs": np.arange(500) == 210,
    "hub after rows without arcs": np.isin(np.arange(500), [*range(200, 280), 7, 499]),
}
OPTIONS = [(name, {}) for name in SCHEDULES] + [
    ("alb", {"alb_threshold": 0}),
    ("alb", {"alb_threshold": 50, "alb_distribution": "blocked"}),
    ("alb", {"alb_threshold": "threads"}),
    ("lb", {"alb_distribution": "blocked"}),
]


@on_devices
@pytest.mark.parametrize("blocks", [1, 2, 9])
@pytest.mark.parametrize(("schedule", "options"), OPTIONS)
def test_every_edge_exactly_once(device, schedule, options, blocks):
    device = device_of(device, blocks)
    for name, active in FRONTIERS.items():
        machine, _ = visited(device, schedule, active, **options)
        assert exactly_once(machine, active), name
        assert machine.schedules(0) == [schedule]


@on_devices
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_backwards(device, schedule):
    """A pull by a schedule walks the rows of all vertices."""
    active = FRONTIERS["some"]
    machine, _ = visited(device_of(device, 3), schedule, active, direction="pull")
    assert exactly_once(machine, active)


@on_devices
@pytest.mark.parametrize("schedule", [name for name, row in SCHEDULES.items() if row.sums or row.huge])
def test_wide_offsets(device, schedule, monkeypatch):
    """As on a graph of 2**31 edges: 64-bit offsets, and prefix sums from a scan."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    for blocks in (1, 5):
        machine, _ = visited(device_of(device, blocks), schedule, FRONTIERS["some"])
        assert machine.graph.wide
        assert exactly_once(machine, FRONTIERS["some"])


MUTANTS = {
    "vertex": ("e < last); e += 4)", "e < last); e += 5)"),
    "twc": ("at += BLOCK) {\n            const offset_t here", "at += 2 * BLOCK) {\n            const offset_t here"),
    "lb": ("bool has = edge < end;", "bool has = edge + 1 < end;"),
    "alb": ("aside ? last : first", "first"),
    "merge_path": ("if (ends <= diagonal - middle - 1)", "if (ends < diagonal - middle - 1)"),
    "warp_search": ("window += 31;", "window += 32;"),
}


@on_devices(gpu=False)
@pytest.mark.parametrize("schedule", MUTANTS)
def test_a_wrong_template_is_found(device, schedule):
    options = {"alb_threshold": 50} if schedule == "alb" else {}

    def right():
        return all(
            exactly_once(visited(device_of(device, blocks, MUTANTS[schedule]), schedule, active, **options)[0], active)
            for blocks in (1, 3)
            for active in FRONTIERS.values()
        )

    assert not in_a_child(right)


@on_devices(gpu=False)
@pytest.mark.parametrize("narrow", ["int", "u8"])
def test_a_narrow_scan_is_found(device, narrow, monkeypatch):
    """Prefix sums that wrap; a graph of few edges needs a narrow type for that, and signed ones wrap at half."""
    monkeypatch.setattr(device_graph, "WIDE", 1)
    wraps = "(prefix_t)(signed char)here" if narrow == "int" else "(prefix_t)(u8)here"

    def right():
        machine, _ = visited(device_of(device, 2, ("(prefix_t)here", wraps)), "lb", FRONTIERS["all"])
        return exactly_once(machine, FRONTIERS["all"])

    assert not in_a_child(right)


@on_devices
@pytest.mark.parametrize(("schedule", "options"), [*[(name, {}) for name in SCHEDULES], OPTIONS[-1], OPTIONS[-3]])
def test_threads_as_the_paper_maps_them(device, schedule, options):
    device = device_of(device, 3)
    active = FRONTIERS["all"]
    machine, listed = visited(device, schedule, active, record=True, **options)
    n, src, *_ = skewed()
    degrees = np.bincount(src, minlength=n)[listed]
    threads = device.threads
    blocks = device.get(machine.arrays.record).size // threads
    model = {}
    if options.get("alb_distribution") == "blocked":
        model["blocked"] = True
    if schedule == "alb":
        model["threshold"] = options.get("alb_threshold", at.BLOCK)
    blocks = machine.kernels.blocks(machine.kernels._module(f"{schedule}:push", True), "edges")
    found = device.get(machine.arrays.record)[: blocks * threads]
    np.testing.assert_array_equal(found, MODELS[schedule](degrees, blocks, threads, **model))


def test_no_two_models_alike():
    n, src, *_ = skewed()
    degrees = np.bincount(src, minlength=n)
    made = [model(degrees, 3, 64, **({"threshold": 256} if name == "alb" else {})) for name, model in MODELS.items()]
    for i, one in enumerate(made):
        assert one.sum() == degrees.sum()
        for other in made[:i]:
            assert not np.array_equal(one, other)
