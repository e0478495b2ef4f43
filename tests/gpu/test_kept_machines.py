"""Machines that a GPU keeps between calls: answers, columns of earlier results, memory, nested calls."""

import gc
import weakref

import numpy as np
import pytest
from emulated import Device, needs_compiler

import dgraph
from dgraph.backend import kept_machines
from dgraph.backend.cuda.backend import SHARE, CudaBackend
from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory import work_arrays
from dgraph.comm import SerialComm
from dgraph.report import Progress

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

CALLS = (
    ("bfs", {"source": 0}), ("sssp", {"source": 0}), ("cc", {}), ("bfs", {"source": 3}), ("kcore", {}),
    ("pagerank", {"alpha": 0.5}), ("sssp", {"source": 3}), ("pagerank", {"alpha": 0.85}), ("bfs", {"source": 0}),
    ("mis", {}), ("color", {}), ("mis", {"random_state": 3}), ("color", {"random_state": 3}),
)  # fmt: skip


@pytest.fixture
def engine():
    return CudaBackend(0, 1, True, GpuPlan(), Device(2))


@pytest.fixture
def graph(engine):
    return dgraph.Graph.load("rmat:5,symmetric", weights="1..9", device=engine, comm=SerialComm())


def answers(graph, calls=CALLS):
    return [dgraph.run(name, graph, **parameters) for name, parameters in calls]


def same(columns, wanted):
    return all(np.allclose(columns[name], values) for name, values in wanted.items())


def machines_of(engine):
    ((_, _, machines),) = engine._graphs.values()
    return machines


@pytest.mark.exhaustive
def test_results_keep_their_columns(graph):
    """Check that no later call writes into the arrays of a result that was not read yet, and answers stay right."""
    wanted = [result.gather() for result in answers(graph.on(device="cpu"))]
    first, second = answers(graph), answers(graph)
    assert all(same(result.gather(), want) for result, want in zip([*second, *first], wanted * 2, strict=True))


def test_a_repeated_call_makes_no_machine(graph, engine, monkeypatch):
    before = answers(graph)
    kept_bytes = machines_of(engine).bytes
    monkeypatch.setattr(work_arrays, "wanted", None)
    monkeypatch.setattr(CudaBackend, "_plan", None)
    after = answers(graph)
    assert machines_of(engine).bytes == kept_bytes
    assert [result.summary for result in after] == [result.summary for result in before]


def test_machines_are_bounded_and_leave_where_memory_is_short(graph, engine, monkeypatch):
    answers(graph)
    machines = machines_of(engine)
    assert 0 < machines.bytes <= engine.device.total() // SHARE
    monkeypatch.setattr(kept_machines, "MOST_MACHINES", 1)
    answers(graph, CALLS[:1])
    assert len(machines._machines) == 1
    kept = weakref.ref(next(iter(machines._machines.values()))[0])
    gc.disable()
    try:
        engine._graphs.leave(engine.device.number, engine.device)
        assert kept() is None
        assert engine._graphs.last is not None
    finally:
        gc.enable()
    engine.device.memory = 1 << 20
    answers(graph, CALLS[:1])
    assert not machines._machines  # a machine would take more than its share


def test_a_machine_leaves_with_its_graph(graph, engine):
    answers(graph, CALLS[:1])
    kept = [weakref.ref(reference) for reference, _ in machines_of(engine)._machines.values()]
    gc.disable()
    try:
        graph.close()
        assert kept
        assert not any(reference() for reference in kept)
    finally:
        gc.enable()


def test_a_call_inside_a_call_takes_another_machine(graph):
    class Asks(Progress):
        inner = None

        def round(self, number, *more):
            if self.inner is None:
                self.inner = dgraph.run("bfs", graph, source=3)

    answers(graph, CALLS[:1])
    asks = Asks()
    outer = dgraph.run("bfs", graph, source=0, progress=asks)
    wanted = [result.gather() for result in answers(graph.on(device="cpu"), [CALLS[0], CALLS[3]])]
    assert same(outer.gather(), wanted[0])
    assert same(asks.inner.gather(), wanted[1])


def test_a_report_is_made_when_it_is_read(graph):
    first = dgraph.run("bfs", graph, source=0)
    assert "report" not in vars(first)
    dgraph.run("bfs", graph, source=3)
    report = first.report
    assert report is first.report
    assert report["algorithm"]["parameters"]["source"] == 0
    assert report["rounds"]["count"] == first.rounds == len(report["rounds"]["kept"])
    assert next(row["frontier_vertices"] for row in report["rounds"]["kept"]) == 1


def test_low_memory_drops_unused_machines_of_any_graph(graph, engine):
    """Check that the pools' eviction reaches machines of the graph in use, whose arrays no call needs."""
    answers(graph, CALLS[:2])
    assert machines_of(engine)._machines
    for reference in list(pools._caches.values()):
        cache = reference()
        if cache is not None:
            cache.leave(engine.device.number, engine.device)
    assert not machines_of(engine)._machines
