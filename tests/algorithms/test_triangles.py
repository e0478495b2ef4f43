"""Triangles and clustering coefficients on any number of ranks, against products of SciPy's sparse matrices."""

import emulated
import numpy as np
import pytest
import scipy.sparse as sparse
from battery import CASES
from flat_run import flat_run
from test_battery import combinations, equal, graph_of, solve

import dgraph
from dgraph.algorithms.kernels.wedges import wedges_cpu, wedges_memory
from dgraph.comm import SerialComm, world
from dgraph.errors import ValidationFailed
from dgraph.graph.halo import degree_rows
from dgraph.validate import validate


def counted(n, src, dst):
    """Return triangles and distinct neighbours of every vertex."""
    apart = src != dst
    joined = sparse.csr_array((np.ones(apart.sum(), np.int64), (src[apart], dst[apart])), (n, n))
    joined.data[:] = 1
    joined.sum_duplicates()
    joined.data[:] = 1
    return np.asarray((joined @ joined).multiply(joined).sum(axis=1)).ravel() // 2, np.diff(joined.indptr)


def wanted(name):
    n, src, dst, _ = CASES[name].arcs(directed=False)
    return counted(n, src, dst)


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_counts(name):
    triangles, degree = wanted(name)
    for chosen in combinations(name):
        result, here = solve("triangles", name, combination=chosen)
        equal(result.columns["triangles"], triangles, here, f"triangles {chosen}")
        assert result.summary == {"triangles": triangles.sum() // 3}
        result, here = solve("lcc", name, combination=chosen)
        shares = np.where(degree > 1, 2 * triangles / np.maximum(degree * (degree - 1), 1), 0.0)
        equal(result.columns["lcc"], shares, here, f"lcc {chosen}")
        assert result.summary["mean"] == pytest.approx(shares.mean())


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "cvc", "hvc,threshold=3"])
def test_rows_of_others_come_some_at_a_time(policy, monkeypatch):
    """Check many turns, loops and parallel edges."""
    monkeypatch.setattr("dgraph.graph.halo.ghost_rows.FEWEST", 10)
    comm = world()
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 60, (2, 900))
    triangles, _ = counted(60, np.concatenate([src, dst]), np.concatenate([dst, src]))
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(
        src[mine], dst[mine], n=60, directed=False, keep_loops=True, keep_parallel=True, policy=policy, comm=comm
    )
    result = dgraph.run("triangles", graph, validate=True)
    equal(result.columns["triangles"], triangles, result.columns["vertex"], policy)


@pytest.mark.mpi
def test_the_certificate_catches_wrong_counts(monkeypatch):
    """Check that a missing and an invented triangle are seen, whichever pairs are asked about together."""
    monkeypatch.setattr("dgraph.validate.rising_rows.STEP", 7)
    graph = dgraph.Graph.load("complete:6", comm=world())
    for name, wrong in (("triangles", 9), ("triangles", 11), ("lcc", 0.9), ("lcc", np.nan)):
        result = dgraph.run(name, graph, validate=True)
        values = np.where(result.columns["vertex"] == 3, wrong, result.columns[name])
        columns = {"vertex": result.columns["vertex"], name: values}
        verdict = validate(name, graph.block, columns, world(), parameters={}, rounds=0)
        assert verdict.passed is False
        assert "vertex 3 has" in verdict.failure


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("hubs", [1 << 18, 8])
@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_on_an_emulated_gpu(name, hubs, monkeypatch):
    monkeypatch.setattr(wedges_memory, "MOST_HUBS", hubs)
    triangles, _ = wanted(name)
    backend = emulated.backend()
    if hubs == 8:  # rows beyond the first and targets beyond the first, too
        backend.device.mutants = (("ROWS_ALONE 65536", "ROWS_ALONE 9"), ("ROW_HELD 512", "ROW_HELD 4"))
    result = flat_run("triangles", graph_of(name, None), backend=backend)
    np.testing.assert_array_equal(result.columns["triangles"], triangles)


MUTANTS = [
    ("once && place_of(env.neighbours[e]) < here", "once && place_of(env.neighbours[e]) + 1 < here"),
    ("at < j + k", "true"),
    ("env.neighbours[e - 1] != v", "true"),
    ("hub_word(high, low)] >>", "hub_word(high, low / 2)] >>"),
    ("+ (v >> 5)", "+ (v >> 6)"),
    ("row[place] == v", "row[place] >= v"),
    ("1u << (v & 31)", "1u << (u & 31)"),
]


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_the_kernel_are_rejected(mutant, monkeypatch):
    monkeypatch.setattr(wedges_memory, "MOST_HUBS", 40)
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 90, (2, 900)) ** 2 // 90
    graph = dgraph.Graph.from_edges(
        src, dst, n=90, directed=False, keep_loops=True, keep_parallel=True, comm=SerialComm()
    )
    backend = emulated.backend()
    flat_run("triangles", graph, backend=backend, validate=True)
    backend.device.mutants = (mutant,)
    with pytest.raises(ValidationFailed):
        flat_run("triangles", graph, backend=backend, validate=True)
    assert backend.device.changed == {mutant}


@pytest.mark.mpi_skip
def test_rows_of_places_by_numpy_and_by_threads(monkeypatch):
    """Compare both versions on graphs with loops and parallel edges, and with an empty one."""
    for name in ("_split", "_copy"):
        monkeypatch.setattr(degree_rows, name, getattr(degree_rows, name).py_func)
    draw = np.random.default_rng(1)
    for n, edges in ((1, 0), (5, 0), (60, 900)):
        ends = draw.integers(0, n, (2, edges))
        source, target = np.concatenate([ends, ends[::-1]], axis=1)
        order = np.lexsort((target, source))
        offsets, neighbours = np.searchsorted(source[order], np.arange(n + 1)), target[order].astype(np.uint32)
        by_degree = np.argsort(np.diff(offsets), kind="stable")
        arrays = offsets, neighbours, by_degree, np.argsort(by_degree).astype(np.uint32)
        expected = degree_rows._orient_few(*arrays)
        for threads in (1, 3):
            for rows, few in zip(degree_rows._orient(*arrays, threads), expected, strict=True):
                assert [part.tolist() for part in rows] == [part.tolist() for part in few]


@pytest.mark.mpi_skip
@pytest.mark.parametrize("threads", [1, 2])
def test_short_rows_are_merged_in_place(threads, monkeypatch):
    """Merge rows with loops and parallel arcs, in several parts."""
    monkeypatch.setattr(wedges_cpu, "compiles", lambda arcs: True)
    monkeypatch.setattr(wedges_cpu, "MERGED", 20)
    monkeypatch.setattr(wedges_cpu, "triangles_at", None)
    src, dst = np.tile(np.random.default_rng(7).integers(0, 16, (2, 30)), 2)
    graph = dgraph.Graph.from_edges(
        src, dst, n=16, directed=False, keep_loops=True, keep_parallel=True, comm=SerialComm(),
        device=dgraph.Cpu(threads=threads),
    )  # fmt: skip
    triangles, degree = counted(16, np.append(src, dst), np.append(dst, src))
    assert triangles.sum() > 9
    np.testing.assert_array_equal(dgraph.run("triangles", graph)["triangles"], triangles)
    np.testing.assert_allclose(dgraph.run("lcc", graph)["lcc"], 2 * triangles / np.maximum(degree * (degree - 1), 1))
