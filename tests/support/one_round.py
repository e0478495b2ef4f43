"""One round of a GPU schedule over a small skewed graph, with a check that every edge is visited exactly once."""

from __future__ import annotations

import faulthandler
import os

import numpy as np
from devices import local_graph

from dgraph.algorithms.base import OnePass
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.program import ADD, Field, trace


class Tally(OnePass):
    """Count the edges into each vertex, and sum their random weights, so that no edge can replace another unnoticed."""

    chosen = Field("bool", given=True)
    edges = Field("int64", reduce=ADD)
    total = Field("int64", reduce=ADD)

    def init(self, v, g):
        return {"active": v.chosen}

    def edge(self, u, e, v):
        return {"edges": 1, "total": e.weight}


def skewed(n=500, hub=900, seed=3):
    """Return arcs of a graph with a hub, two medium vertices, empty rows and short rows; weights are random."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 6, n)
    degrees[[7, 100, 333]] = hub, 90, 60
    degrees[200:280] = 0
    src = np.repeat(np.arange(n), degrees)
    return n, src, rng.integers(0, n, src.size), rng.integers(1, 1 << 40, src.size)


def visited(device, schedule, active, direction="push", arcs=None, record=False, **options):
    """Run one round over the arcs of active vertices; return the machine after it and the frontier's list before it."""
    n, src, dst, weights = arcs or skewed()
    local = local_graph(n, src, dst, weights)
    graph = DeviceGraph(local, device, renumber=False)
    options = GpuPlan(schedule=schedule, record=record, **options)
    machine = GpuMachine(trace(Tally(), weights.dtype), graph, device, direction, options)
    machine.start({"chosen": active.astype(np.uint8)})
    machine.apply_totals(*machine.totals(), True)
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
    """Return True if ``holds()`` returns true in a child process, which may crash."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        correct = False
        try:
            correct = holds()
        finally:  # after any error: the child must not continue the test session
            os._exit(0 if correct else 1)
    return os.waitpid(child, 0)[1] == 0


FRONTIERS = {
    "all": np.ones(500, bool),
    "some": np.random.default_rng(1).random(500) < 0.3,
    "hub": np.arange(500) == 7,
    "no arcs": np.arange(500) == 210,
    "hub after rows without arcs": np.isin(np.arange(500), [*range(200, 280), 7, 499]),
}
