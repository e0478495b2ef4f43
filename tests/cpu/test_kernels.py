"""Hand-written kernels reach the fixed point of the program that they replace, on any number of ranks."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from flat_run import flat_run

import dgraph
from dgraph.algorithms.cc import Labels, UnionFindLabels
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.kernels.components.components_cpu import UnionFind
from dgraph.backend.cpu.backend import CpuBackend
from dgraph.backend.cpu.round import machine
from dgraph.backend.cpu.round.machine import CpuMachine
from dgraph.backend.kernel_register import KERNELS, SOLVERS
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.comm import SerialComm, world
from dgraph.engine.rounds.context import Context
from dgraph.graph.stored_graph import Graph
from dgraph.program import trace
from dgraph.tools.estimate.machines import needs
from dgraph.tools.estimate.shape import Shape

POLICIES = ("hash", "oec", "iec", "cvc")


def drawn(kind, comm):
    """Return a graph with many components, high core numbers or hubs, and isolated vertices; also its edges."""
    rng = np.random.default_rng(11)
    if kind == "forest":  # a path crosses between ranks many times
        order = rng.permutation(900)
        src, dst = order[:-1], order[1:]
        cut = rng.random(src.size) > 0.02
        src, dst = src[cut], dst[cut]
    elif kind == "trees":  # shallow: lowered labels of several branches meet
        order, vertices = rng.permutation(900), np.arange(900)
        src, dst = order, order[vertices - vertices % 60 + (rng.random(900) * (vertices % 60)).astype(np.int64)]
    elif kind == "clusters":
        src = rng.integers(0, 900, 2000)
        dst = src // 30 * 30 + rng.integers(0, 30, 2000)
    else:  # core numbers up to 30 or so: more than one window of levels
        src = (900 * rng.random(30000) ** 2).astype(np.int64)
        dst = (900 * rng.random(30000) ** 2).astype(np.int64)
    mine = slice(comm.rank, None, comm.size)
    return Graph.from_edges(src[mine], dst[mine], n=950, directed=False, comm=comm), src, dst


@pytest.mark.mpi
@pytest.mark.parametrize("kind", ["forest", "trees", "clusters", "cores"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sync", ["auto", "full", "poison"])
def test_components_equal_scipy(kind, policy, sync):
    graph, src, dst = drawn(kind, world())
    columns = flat_run("cc", graph, policy=policy, sync=sync).gather()
    if columns is None:
        return
    _, parts = sp.csgraph.connected_components(sp.coo_array((np.ones(src.size), (src, dst)), shape=(950, 950)))
    smallest = np.full(950, 950)
    np.minimum.at(smallest, parts, np.arange(950))
    np.testing.assert_array_equal(columns["labels"], smallest[parts])


@pytest.mark.mpi
@pytest.mark.parametrize("kind", ["forest", "clusters", "cores"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("k", [None, 3])
def test_cores_equal_the_rounds_that_they_stand_for(kind, policy, k):
    """Compare the kernel with the program's rounds, which the battery compares with NetworkX."""
    graph, *_ = drawn(kind, world())
    peeled = flat_run("kcore", graph, policy=policy, k=k)
    rounds = flat_run("kcore", graph, policy=policy, k=k, direction="push")
    for name, values in rounds.columns.items():
        np.testing.assert_array_equal(peeled.columns[name], values)


@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_show(threads, monkeypatch):
    monkeypatch.setattr(machine, "PEELED_ALONE", 0)
    graph = Graph.load("rmat:13,symmetric", comm=SerialComm())
    for name in ("cc", "kcore"):
        one = flat_run(name, graph, comm=SerialComm(), direction="push").columns
        more = flat_run(name, graph, comm=SerialComm(), threads=threads).columns
        for column in one:
            np.testing.assert_array_equal(more[column], one[column])


def test_levels_a_call_do_not_show():
    """Check one round per call: the window of levels must survive from call to call."""
    graph, *_ = drawn("cores", SerialComm())
    whole = dgraph.run("kcore", graph).columns["core_number"]
    local = graph.partitions["auto"][-1]
    peeling = CpuBackend(1, 1).machine(trace(Peel(), None), local, "auto")
    peeling.start({})
    peeling.apply_totals(*peeling.totals(), True)
    while not peeling.done:
        assert peeling.fused(1) == 1
    assert peeling.globals()["k"] > 16
    np.testing.assert_array_equal(peeling.fields()["core"], whole)


def test_a_backend_takes_the_kernel_where_it_may():
    graph, *_ = drawn("clusters", SerialComm())
    dgraph.run("cc", graph)
    local = graph.partitions["auto"][-1]
    backend = CpuBackend(1, 1)
    assert isinstance(backend.machine(trace(UnionFindLabels(), None), local, "auto"), UnionFind)
    assert backend.machine(trace(Peel(), None), local, "auto").module.EDGE_KERNEL
    assert not backend.machine(trace(Peel(), None), local, "push").module.EDGE_KERNEL
    assert isinstance(backend.machine(trace(UnionFindLabels(), None), local, "push"), CpuMachine)
    assert isinstance(backend.machine(trace(Labels(), None), local, "auto"), CpuMachine)


def test_a_limit_leaves_what_is_true_so_far():
    graph, *_ = drawn("cores", SerialComm())
    part = flat_run("kcore", graph, max_rounds=4)
    assert not part.converged
    assert part.rounds == 4
    whole = dgraph.run("kcore", graph).columns["core_number"]
    few = whole <= 3
    np.testing.assert_array_equal(part.columns["core_number"][few], whole[few])


@pytest.mark.exhaustive
def test_label_propagation_is_still_there():
    graph, *_ = drawn("forest", SerialComm())
    joined, spread = (dgraph.run("cc", graph, variant=v) for v in ("union-find", "label-propagation"))
    np.testing.assert_array_equal(joined.columns["labels"], spread.columns["labels"])
    assert joined.rounds == 1 < spread.rounds
    with pytest.raises(dgraph.UsageError, match="variant of cc"):
        dgraph.run("cc", graph, variant="hooking")


def test_every_row_names_what_exists():
    rows = [*KERNELS.values(), *SOLVERS.values()]
    assert {"components", "cores", "wedges", "reach", "minplus"} <= {row.name for row in rows}
    for row in rows:
        for part in row.PARTS:
            assert (row.load(part) is None) == (getattr(row, part) == "")
    assert all(row.edge_source.is_file() for row in KERNELS.values() if row.edges)


@pytest.mark.parametrize(
    "place", ["components_cpu:Unionfind", "component_cpu:UnionFind", "components_cpu:UnionFind.of"]
)
def test_a_wrong_row_fails(place):
    with pytest.raises((ImportError, AttributeError)):
        replace(KERNELS["components"], cpu=place).load("cpu")


class Listing(CpuBackend):
    """Backend with solvers of its own."""

    def solvers(self, name):
        yield from (kind(self) for kind in self.kinds)


class Never(RowSolver):
    def fits(self, ctx):
        return False


@pytest.mark.parametrize(("kinds", "taken"), [((), None), ((Never,), None), ((Never, RowSolver), RowSolver)])
def test_the_first_solver_that_fits_is_taken(kinds, taken):
    graph, *_ = drawn("clusters", SerialComm())
    dgraph.run("cc", graph)
    backend = Listing(1, 1)
    backend.kinds = kinds
    solver = Context(graph.partitions["auto"][-1], SerialComm(), backend, None, None).solver("wedges")
    assert taken is None if solver is None else type(solver) is taken


@pytest.mark.parametrize("name", SOLVERS)
def test_memory_of_solvers_grows_with_the_graph(name):
    """Solvers by programs count none; others never less for a larger part."""
    small, large = RowSize(50, 200, 50, 200, 50, 1), RowSize(500, 9000, 200, 4000, 100, 2)
    for part in SOLVERS[name].PARTS:
        kind = SOLVERS[name].load(part)
        if kind is not None:
            assert 0 <= kind.bytes(small) <= kind.bytes(large)


@pytest.mark.parametrize("name", ["scc", "mst", "triangles", "ktruss", "bc"])
def test_estimates_run_no_solver(name):
    """The bytes of a solver stand for the rest of a run, and scc, which CPUs solve by programs, has these."""
    work = needs(name, Shape(1000, 9000, directed=name == "scc"), {}, "auto")
    assert work.rows
    assert bool(work.programs) == (name == "scc")
    assert (work.result == 0) == any(solver.cpu for solver in work.rows)
