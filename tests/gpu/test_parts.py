"""Rows in two parts, edges into mirrors and into masters: contents, planned memory, lifetime."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import simulated
from emulated import Device, needs_compiler
from hypothesis import given
from hypothesis import strategies as st
from test_cuda_exchange import PROGRAMS

import partitioning
from dgraph.algorithms.base import OnePass
from dgraph.algorithms.bfs import Levels
from dgraph.algorithms.cc import UnionFindLabels
from dgraph.algorithms.kcore import Estimate, Peel
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device_graph import device_graph
from dgraph.backend.cuda.device_graph.boundary_rows import split_rows
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.memory import memory_plan
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.cuda.transports import Links
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build
from dgraph.program import ADD, Field, trace

pytestmark = pytest.mark.mpi_skip


class Sums(OnePass):
    """Count the edges into each vertex."""

    total = Field("int64", reduce=ADD)

    def init(self, v, g):
        return {"active": True}

    def edge(self, u, e, v):
        return {"total": 1}


def parted(rows, masters, some, weighted=True):
    """Return by row the targets and weights of both parts; weights are the edges' numbers."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.uint32)
    neighbours = np.array([target for row in rows for target in row], np.uint32)
    weights = np.arange(neighbours.size) if weighted else None
    moved, carried, middles = split_rows(offsets, neighbours, weights, masters, np, some)
    assert (moved.dtype, middles.dtype, middles.size) == (np.uint32, np.uint32, len(rows))
    assert (carried is None) == (weights is None)
    columns = [moved, moved] if carried is None else [moved, carried]
    return [
        [[column[a:b].tolist() for column in columns] for a, b in ((first, middle), (middle, last))]
        for first, middle, last in zip(offsets[:-1].tolist(), middles.tolist(), offsets[1:].tolist(), strict=True)
    ]


def expected(rows, masters):
    """Return the expected result of ``parted``, computed in plain Python."""
    number, found = 0, []
    for row in rows:
        kinds = [], []
        for target in row:
            kinds[target < masters].append((target, number))
            number += 1
        found.append([[[a for a, _ in kind], [b for _, b in kind]] for kind in kinds])
    return found


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=12), max_size=12), st.integers(0, 10), st.integers(1, 9)
)  # fmt: skip
def test_kinds_stand_apart_and_in_order(rows, masters, some):
    assert parted(rows, masters, some) == expected(rows, masters)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("some", [7, 64, 1 << 20])
def test_a_hub_is_longer_than_a_piece(weighted, some):
    """Check a row longer than a piece between empty rows, rows of one kind, and no rows."""
    rng = np.random.default_rng(some)
    rows = [[], [], rng.integers(0, 100, 500).tolist(), [], [3] * 9, [99] * 20, []]
    found, wanted = parted(rows, 60, some, weighted), expected(rows, 60)
    assert found == [[[part[0], part[weighted]] for part in row] for row in wanted]
    assert parted([], 60, some, weighted) == []


def local_of(comm, policy="oec", directed=True, m=40_000):
    made = simulated.skewed(3000, m, directed)
    made.weights = np.random.default_rng(2).integers(1, 9, made.src.size).astype(np.int32)
    block = made.block(comm)
    return build(block, partitioning.plan(policy, block, comm.size, comm), comm)


def one_of(size, **more):
    """Return rank 0's partition of ``size``."""
    return simulated.succeed(size, lambda comm: local_of(comm, **more))[0]


@needs_compiler
@pytest.mark.parametrize("program", [Levels(source=1), PROGRAMS["dist"], Peel(), PageRank()])
def test_memory_is_what_was_planned(program):
    """Compare planned and allocated arrays and rows, to the byte."""
    options, device = Options(overlap=True), Device()
    graph = device_graph.DeviceGraph(one_of(3), device)
    traced = trace(program, np.dtype(np.int32))
    machine = Machine(traced, graph, device, "push", options)
    need = memory_plan.for_rounds(traced, graph.extent, "push", options, device.blocks)
    whole = memory_plan.for_rounds(traced, graph.extent, "push", Options(), device.blocks)
    assert need.arrays == machine.arrays.bytes
    if machine.arrays.parted:
        rows = graph.parts
        own = rows.neighbours.nbytes + rows.weights.nbytes + rows.middles.nbytes
        assert own <= need.parts <= own + 8
        assert need.arrays - whole.arrays == machine.arrays.boundary_sums.nbytes
        assert machine.arrays.boundary_sums.size == graph.local.size + 1  # and the total
        assert need.rounds > whole.rounds
    else:
        assert isinstance(program, PageRank)
        assert need == whole


@pytest.mark.parametrize("some", [1 << 10, 1 << 12])
def test_parting_takes_no_more_than_was_planned(some, monkeypatch):
    monkeypatch.setattr(device_graph, "SOME", some)
    monkeypatch.setattr(memory_plan, "SOME", some)
    graph = device_graph.DeviceGraph(one_of(2), Device())
    need = memory_plan.for_rounds(
        trace(Levels(source=0), np.dtype(np.int32)), graph.extent, "push", Options(overlap=True), 2
    )
    tracemalloc.start()
    try:
        rows = graph.parts
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows.middles.size == graph.local.size
    assert 0.7 * need.split_rows < peak < 1.05 * need.split_rows + 20_000


@pytest.mark.parametrize(("extent", "able"), [
    ({}, True), ({"entered": 0}, False), ({"wide": True}, False),
])  # fmt: skip
def test_what_may_be_cut(extent, able):
    extent = GraphSize(**{"size": 9, "edges": 20, "masters": 5, "peers": 1, "entered": 4} | extent)
    traced = trace(Levels(source=0), None)
    assert Options(overlap=True).overlaps_push(traced, extent) == able
    assert not Options(overlap=True).without_overlap().overlaps_push(traced, extent)
    assert not Options().overlaps_push(traced, extent)
    assert not Options(overlap=True).overlaps_push(trace(PageRank(), None), extent)
    assert Options(overlap=True).overlaps_push(trace(Sums(), None), extent) == able
    assert not Options(overlap=True).overlaps_push(trace(Sums().retype(total="float64"), None), extent)


def test_the_most_may_be_while_rows_are_brought_into_parts():
    need = memory_plan.MemoryPlan(
        upload=0, graph=1, transpose=0, incoming=10, arrays=2, result=3, split_rows=100, parts=50
    )
    assert need.rounds == 111
    assert replace(need, arrays=90).rounds == 154


@needs_compiler
@pytest.mark.parametrize(("program", "direction", "direct", "cut"), [
    (UnionFindLabels(), "auto", True, False), (UnionFindLabels(), "push", True, True),
    (Estimate(), "auto", True, False),
    (Levels(source=1), "auto", True, True), (Levels(source=1), "auto", False, False),
])  # fmt: skip
def test_rows_are_only_copied_for_rounds_that_walk_them(program, direction, direct, cut):
    """Check that rows are not copied for union-find, estimates, or rounds with the host's allreduce."""

    def work(comm):
        local = local_of(comm, directed=False)
        backend = CudaBackend(0, 1, False, Options(overlap=True), Device())
        name = "p2p" if direct else "mpi-host"
        backend.links = Links(comm.duplicate(), {1 - comm.rank: name}, not_direct="" if direct else "not asked for")
        machine = backend.machine(trace(program, None), local, direction)
        assert ("parts" in machine.graph.__dict__) == machine.arrays.parted == cut

    simulated.succeed(2, work)


@needs_compiler
def test_copies_leave_where_others_need_their_room():
    """Check that a later run that pushes whole rows frees the parts if it needs the memory."""

    def work(comm):
        device = Device(memory=1 << 30)
        local = local_of(comm, directed=False)
        backend = CudaBackend(0, 1, False, Options(overlap=True), device)
        backend.links = Links(comm.duplicate(), {1 - comm.rank: "p2p"}, not_direct="")
        traced = trace(Levels(source=1), None)
        backend.machine(traced, local, "push")
        graph = backend._graphs.of(local)
        assert "parts" in graph.__dict__
        need = memory_plan.for_rounds(traced, graph.extent, "push", Options(overlap=True), device.blocks)
        assert (
            graph.held_bytes({name: getattr(need, name) for name in ("incoming", "parts", "light", "heads")})
            == need.parts
        )
        device.free = lambda _=0: need.rounds + backend._messages(need) - need.graph - need.parts
        backend.machine(traced, local, "push")
        device.free = lambda _=0: 1 << 30
        plain = backend.choosing(Options())
        plain.links = backend.links
        plain.machine(traced, local, "push")
        assert "parts" in graph.__dict__
        rounds = memory_plan.for_rounds(traced, graph.extent, "push", Options(), device.blocks)
        wanted = rounds.rounds + plain._messages(rounds) - rounds.graph
        device.free = lambda _=0: wanted - 1 + need.parts * ("parts" not in graph.__dict__)
        plain.machine(traced, local, "push")
        assert "parts" not in graph.__dict__
        device.free = lambda _=0: wanted - 1
        with pytest.raises(UsageError, match=r"in two parts [1-9]"):
            backend.machine(traced, local, "push")

    simulated.succeed(2, work)
