"""Machines that CPU ranks keep between calls: answers, columns of earlier results, bounds, nested calls."""

import gc
import weakref

import numpy as np
import pytest

import dgraph
from dgraph.algorithms.kernels.components.components_cpu import UnionFind
from dgraph.backend.cpu import backend
from dgraph.backend.cpu.backend import machines_of
from dgraph.backend.cpu.round.machine import CpuMachine
from dgraph.comm import SerialComm, world
from dgraph.report import Progress

pytestmark = pytest.mark.mpi

CALLS = (
    ("bfs", {"source": 0}), ("sssp", {"source": 0, "variant": "buckets"}), ("pagerank", {"alpha": 0.5, "tol": 1e-9}),
    ("bfs", {"source": 3}), ("kcore", {}), ("mis", {}), ("pagerank", {"alpha": 0.85, "tol": 1e-9}),
    ("mis", {"random_state": 3}), ("bfs", {"source": 0, "return_predecessors": False}), ("kcore", {}),
)  # fmt: skip


def load():
    return dgraph.Graph.load("rmat:6,symmetric", weights="1..9", comm=world(), device=dgraph.Cpu(threads=1))


def answers(graph, calls=CALLS, **options):
    """Return the results of calls; a round limit leaves lists and flags of a machine in use."""
    options = dgraph.Options(**options)
    return [dgraph.run(name, graph, options=options, **parameters) for name, parameters in calls]


def same(result, wanted):
    columns = {name: result.columns[name] for name in wanted}
    return all(np.array_equal(columns[name], values) for name, values in wanted.items())


def columns_of(result):
    return {name: np.array(result.columns[name]) for name in result.columns}


@pytest.mark.filterwarnings("ignore::dgraph.ConvergenceWarning")
def test_answers_of_kept_machines(monkeypatch):
    """Check calls after others, also after those that a round limit ended, and results that were not read before."""
    with monkeypatch.context() as context:
        context.setattr(backend, "MOST_KEPT", 0)
        wanted = [columns_of(result) for result in answers(load())]
    graph = load()
    first = answers(graph)
    for rounds in (1, 2):
        answers(graph, max_rounds=rounds)
    second = answers(graph)
    assert all(same(result, want) for result, want in zip([*second, *first], wanted * 2, strict=True))


def test_a_repeated_call_makes_no_machine(monkeypatch):
    graph = load()
    before = answers(graph)
    monkeypatch.setattr(CpuMachine, "__init__", None)
    after = answers(graph)
    assert [result.summary for result in after] == [result.summary for result in before]


def test_a_call_compiles_no_kernels_that_are_loaded(monkeypatch):
    monkeypatch.setattr(UnionFind, "compile", None)
    graph = dgraph.Graph.from_edges([0, 1], [1, 2], n=4, comm=SerialComm(), device=dgraph.Cpu(threads=1))
    assert dgraph.run("cc", graph).summary["components"] == 2


def test_machines_are_bounded_and_leave_with_their_graph(monkeypatch):
    graph = load()
    answers(graph)
    local = graph.partition("auto").local
    machines = machines_of(local)
    assert 0 < machines.bytes <= backend.MOST_KEPT
    kept = [weakref.ref(machine) for machine, _ in machines._machines.values()]
    gc.disable()
    try:
        monkeypatch.setattr(backend, "MOST_KEPT", machines.bytes // len(kept))
        answers(graph, CALLS[:1])
        assert machines.bytes <= backend.MOST_KEPT
        graph.close()
        del local, machines, graph
        assert kept
        assert not any(reference() for reference in kept)
    finally:
        gc.enable()


def test_a_call_inside_a_call_takes_another_machine():
    class Asks(Progress):
        inner = None

        def round(self, number, *more):
            if self.inner is None:
                self.inner = dgraph.run("bfs", graph, source=3)

    graph = load()
    wanted = [columns_of(result) for result in answers(graph, [CALLS[0], CALLS[3]])]
    asks = Asks()
    outer = dgraph.run("bfs", graph, source=0, progress=asks)
    assert same(outer, wanted[0])
    assert same(asks.inner, wanted[1])
