"""Edges that can never propose a value are filtered before the first round.

The other rows are equal bit for bit. Nothing is filtered if too many edges remain, or when a checkpoint is resumed.
"""

import numpy as np
import oracles
import pytest
from devices import device_of, local_graph, on_devices

from dgraph.algorithms.kcore_parts.shells import ShellLevels
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.filtered_edges.edge_filter import FilteredMachine
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory import work_arrays
from dgraph.program import trace

pytestmark = pytest.mark.mpi_skip
TOPS = {"all alike": 1, "few alike": 5, "hardly any": 200}


def begun(device, n, src, dst, tops, monkeypatch, kept=1, after=0):
    """Return a machine after ``begin``, for vertices with these tops, as after ``after`` rounds."""
    monkeypatch.setattr(work_arrays, "KEPT", kept)
    graph = DeviceGraph(local_graph(n, src, dst, directed=False), device, renumber=False)
    machine = FilteredMachine(trace(ShellLevels(first=15), None), graph, device, "auto", GpuPlan())
    machine.compile()
    machine.start({"core": np.ones(n, np.int32), "top": tops.astype(np.int32)})
    machine.words[control_block.ROUND] = after
    machine.begin()
    return machine


def rows(machine):
    """Return the offsets and targets that the kernels walk; None if these are the whole graph's."""
    env, arrays, device = machine.kernels._values, machine.arrays, machine.device
    if env["out_offsets"] != device.address(arrays.kept_offsets):
        return None
    offsets = device.get(arrays.kept_offsets)
    assert env["out_edges"] == offsets[-1]
    return offsets, device.get(arrays.kept[: offsets[-1]])


@on_devices
@pytest.mark.parametrize("alike", TOPS)
@pytest.mark.parametrize("hub", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_rows_of_the_edges_that_stay(device, alike, hub, wide, monkeypatch):
    """Check empty and short rows, and one longer than a warp takes: words of marks span several rows.

    ``wide``: with 64-bit offsets, as above 2³¹ edges.
    """
    monkeypatch.setattr(device_graph, "WIDE", 1 if wide else device_graph.WIDE)
    rng = np.random.default_rng(len(alike) + hub)
    n = 700
    src, dst = (rng.integers(0, n - 50, 3000) ** 2 // n for _ in range(2))
    if hub:
        src, dst = np.append(src, np.full(n - 60, 7)), np.append(dst, np.arange(n - 60))
    src, dst, *_ = oracles.symmetric(*(ends[src != dst] for ends in (src, dst)))
    tops = rng.integers(0, TOPS[alike], n)
    machine = begun(device_of(device), n, src, dst, tops, monkeypatch)
    order = np.argsort(src, kind="stable")
    src, dst = src[order], dst[order]
    stays = tops[src] == tops[dst]
    offsets, kept = rows(machine)
    np.testing.assert_array_equal(offsets, np.append(0, np.cumsum(np.bincount(src[stays], minlength=n))))
    np.testing.assert_array_equal(kept, dst[stays])


@on_devices
def test_the_next_run_filters_all_edges_again(device, monkeypatch):
    """Check edges of a path that stay in the second run, of which the first drops half."""
    path = np.arange(40)
    src, dst, *_ = oracles.symmetric(path, path + 1)
    machine = begun(device_of(device), 41, src, dst, np.arange(41) // 2, monkeypatch)
    assert len(rows(machine)[1]) == 40
    machine.rest()
    machine.renew(machine.traced)
    machine.start({"core": np.ones(41, np.int32), "top": (np.arange(41) > 1).astype(np.int32)})
    machine.begin()
    assert len(rows(machine)[1]) == 78


@on_devices
def test_too_many_stay(device, monkeypatch):
    """Check one edge more than fits, and exactly as many as fit."""
    path = np.arange(40)
    src, dst, *_ = oracles.symmetric(path, path + 1)
    tops = np.zeros(41)
    tops[21:] = np.arange(20)  # edges among the first 22 vertices remain: 42 of 80
    assert rows(begun(device_of(device), 41, src, dst, tops, monkeypatch, kept=2)) is None
    tops[21] = 30
    assert len(rows(begun(device_of(device), 41, src, dst, tops, monkeypatch, kept=2))[1]) == 40


@on_devices
def test_a_frontier_that_was_kept_has_the_sums_of_whole_rows(device, monkeypatch):
    path = np.arange(40)
    src, dst, *_ = oracles.symmetric(path, path + 1)
    for after in (0, 1):
        machine = begun(device_of(device), 41, src, dst, np.arange(41) // 20, monkeypatch, after=after)
        assert (rows(machine) is None) == bool(after)


@on_devices
def test_no_edge_at_all(device, monkeypatch):
    none = np.empty(0, np.int64)
    assert rows(begun(device_of(device), 5, none, none, np.zeros(5), monkeypatch)) is None
