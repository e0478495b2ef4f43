"""Kernels as plain Python: the bits of machine code, one thread, and machine code once plain runs took long."""

import subprocess
import sys
import tracemalloc
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from children import environment

import dgraph
from dgraph._support import first_runs
from dgraph._support.compiled import njit
from dgraph.algorithms.apsp_parts import array_distances
from dgraph.algorithms.many_sources.betweenness import paths_arrays
from dgraph.backend.cpu.threads.plain_kernels import PlainFirst, plain_first
from dgraph.backend.cpu.threads.team import Team
from dgraph.comm import SerialComm
from dgraph.report.comparison import _traits

LAYERS = (
    8 * np.arange(200)[:, None, None] + np.indices((8, 8))[:, None] + np.array([0, 8]).reshape(2, 1, 1, 1)
).reshape(2, -1)
"""Edges of 201 layers of 8 vertices: 2^597 shortest paths lead from the first to the last, so that bc scales them."""

RUNS = [
    ("louvain", "rmat:8,symmetric", "1..9", {}),
    ("louvain", "rmat:7,symmetric", None, {"metric": "cpm", "resolution": 0.1, "max_size": 9}),
    ("leiden", "rmat:8,symmetric", None, {"n_iterations": -1}),
    ("leiden", "grid:13x9", "0.5..2.5", {"theta": 0.0, "levels": 2}),
    ("leiden", "rmat:9,symmetric", None, {"theta": 0.0, "max_size": 30}),
    ("leiden", "grid:17x13", None, {"theta": 0.0}),
    ("leiden", "grid:17x13", "1..9", {"n_iterations": -1, "theta": 1.0}),
    ("ktruss", "rmat:8,symmetric", None, {}),
    ("ktruss", "grid:13x9", None, {"k": 2}),
    ("mst", "rmat:9,symmetric", "1..3", {}),
    ("mst", "grid:13x9", "0.5..2.5", {}),
    ("mst", "rmat:8,symmetric,edge_factor=40", "1..255", {}),
    ("color", "rmat:9,symmetric", None, {}),
    ("triangles", "rmat:9,symmetric", None, {}),
    ("bc", "rmat:8,symmetric", None, {}),
    ("bc", "rmat:8", None, {"k": 21, "endpoints": True}),
    ("bc", "grid:13x9", None, {"k": 1}),
    ("bc", LAYERS, None, {"sources": [0, 7]}),
    ("closeness", "rmat:10", None, {}),
    ("closeness", "grid:23x29", None, {"k": 600}),
    ("multi_source_bfs", "rmat:8", None, {"k": 200}),
    ("multi_source_bfs", "grid:13x19", None, {"k": 200, "depth_limit": 5}),
    ("multi_source_sssp", "rmat:8", "1..255", {"k": 200}),
    ("multi_source_sssp", "grid:13x9", "0.5..2.5", {"k": 21, "cutoff": 9.5}),
    ("similarity", "rmat:9,symmetric", None, {"measure": "cosine"}),
    ("similarity", "grid:13x9", None, {"k": 40, "measure": "overlap"}),
    ("random_walks", "rmat:8", None, {"walks": 3, "length": 7}),
    ("random_walks", "rmat:8", "0.5..9", {"walks": 20, "weighted": True, "restart": 0.2, "edge_weights": True}),
]


def test_arrays_of_bc_do_not_grow_with_vertices_times_levels(monkeypatch):
    """Check the peak on a path, where each level has few rows: all rows of all levels would take 82 MB."""
    monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, args: True)
    graph = dgraph.Graph.load("path:400", comm=SerialComm(), device=dgraph.Cpu(threads=2))
    dgraph.bc(graph, k=1)
    tracemalloc.start()
    dgraph.bc(graph)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize(("algorithm", "spec", "weights", "parameters"), RUNS)
def test_plain_kernels_answer_the_bits_of_machine_code(algorithm, spec, weights, parameters, monkeypatch):
    where = {"comm": SerialComm(), "device": dgraph.Cpu(threads=2)}
    named = isinstance(spec, str)
    graph = dgraph.Graph.load(spec, weights=weights, **where) if named else dgraph.Graph.from_edges(*spec, **where)
    answers, interpreted = [], []
    for plain in (True, False):
        monkeypatch.setattr(
            PlainFirst, "runs_plain", lambda self, args, plain=plain: interpreted.append(plain) or plain
        )
        result = dgraph.run(algorithm, graph, **parameters)
        pairs = {} if result.edges is None else result.edges.gather()
        answers.append((result.gather() | {f"{name} of a pair": pairs[name] for name in pairs}, result.summary))
    assert True in interpreted
    (plain, summary), (compiled, compiled_summary) = answers
    assert summary == compiled_summary
    assert plain.keys() == compiled.keys()
    for name, values in compiled.items():
        assert plain[name].dtype == values.dtype
        assert plain[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize(("spec", "parameters"), [("rmat:8", {}), (LAYERS, {"sources": [0, 7]}), ("star:30", {"k": 9})])
def test_bc_without_scipy_has_the_same_bits(spec, parameters, monkeypatch):
    """Compare products by SciPy, by NumPy and by machine code; a star has levels that no arc enters."""
    graph = (
        dgraph.Graph.load(spec, comm=SerialComm(), device="cpu")
        if isinstance(spec, str)
        else dgraph.Graph.from_edges(*spec, comm=SerialComm(), device="cpu")
    )
    plain = {"search_batch"}
    monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, args: self.py_func.__name__ in plain)
    answers = [dgraph.bc(graph, **parameters).columns["bc"].tobytes()]
    monkeypatch.setattr(paths_arrays, "import_module", lambda name: import_module(f"no_{name}"))
    for names in ({"search_batch"}, {"search_batch", "_sum_rows"}):
        plain = names
        answers.append(dgraph.bc(graph, **parameters).columns["bc"].tobytes())
    assert len(set(answers)) == 1


def total_of(limit, monkeypatch, tmp_path):
    """Return a kernel with a choice between its forms, and the threads that called it."""
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(first_runs, "folder", lambda: tmp_path)
    monkeypatch.setattr(first_runs, "_spent", {})

    @plain_first(most=limit)
    @njit(nogil=True)
    def total(t, threads, values, sums):
        for i in range(t, len(values), threads):
            sums[t][0] += values[i]

    return total


def sums_of(kernel, size):
    """Return what each of two threads summed."""
    sums = np.zeros((2, 1), np.int64)
    Team(2).run(kernel, 2, np.arange(size), sums)
    return sums.ravel().tolist()


def test_a_plain_kernel_runs_on_one_thread_and_a_large_one_on_all(monkeypatch, tmp_path):
    kernel = total_of(10, monkeypatch, tmp_path)
    assert sums_of(kernel, 10) == [45, 0]
    assert sums_of(kernel, 12) == [30, 36]
    assert sums_of(kernel, 10) == [20, 25]  # its machine code is there


def test_a_kernel_compiles_after_its_plain_runs_took_long(monkeypatch, tmp_path):
    kernel = total_of(10, monkeypatch, tmp_path)
    assert sums_of(kernel, 10) == [45, 0]
    first_runs.spend(kernel._stem, 2 * first_runs.WORTH)
    assert sums_of(kernel, 10) == [20, 25]


def test_array_rounds_end_where_compilation_pays(monkeypatch, tmp_path):
    rounds = []

    def add_all(values, sums):
        for t in range(len(sums)):
            rounds.append(t)
            yield
        sums[:, 0] = -1

    kernel = total_of(10, monkeypatch, tmp_path)
    kernel.rounds = add_all
    assert sums_of(kernel, 10) == [-1, -1]
    monkeypatch.setattr(first_runs, "WORTH", 0.0)
    monkeypatch.setattr(first_runs, "_spent", {})
    assert sums_of(kernel, 10) == [20, 25]
    assert rounds == [0, 1, 0]


def test_a_report_names_the_kernels_that_ran_plain(monkeypatch):
    reasons, codes = [], []
    for plain in (True, False):
        monkeypatch.setattr(PlainFirst, "runs_plain", lambda self, args, plain=plain: plain)
        graph = dgraph.Graph.load("rmat:5,symmetric", weights="1..9", comm=SerialComm(), device=dgraph.Cpu())
        report = dgraph.run("mst", graph).report
        kernels = [choice for choice in report["choices"] if choice["what"] == "kernels"]
        reasons += [(choice["taken"], choice["reason"]) for choice in kernels]
        codes.append(_traits(report)["code"])
    assert codes == ["Python", "compiled"]
    assert len(reasons) == 1
    assert reasons[0][0] == "Python"
    assert reasons[0][1].endswith(first_runs.REMARK)
    assert len(reasons[0][1]) > len(first_runs.REMARK) + 2


@pytest.mark.starts_children
@pytest.mark.parametrize("algorithm", [
    "louvain", "leiden", "mst", "reachability", "multi_source_bfs", "closeness", "multi_source_sssp", "similarity",
    "triangles", "lcc", "clustering", "color", "random_walks",
])  # fmt: skip
def test_a_first_run_on_a_small_graph_does_without_numba(algorithm, tmp_path):
    code = f"import sys, dgraph; dgraph.run({algorithm!r}, 'rmat:6,symmetric'); print('numba' in sys.modules)"
    extra = {"DGRAPH_CACHE_DIR": str(tmp_path), "DGRAPH_COMPILE": ""}
    ran = subprocess.run([sys.executable, "-c", code], env=environment(extra), stdout=subprocess.PIPE, text=True)
    assert (ran.returncode, ran.stdout.split()[-1]) == (0, "False")


def test_array_rounds_of_apsp_are_shortest_distances(monkeypatch):
    """Compare columns of a few vertices with a matrix that Floyd and Warshall's method closes."""
    monkeypatch.setattr(array_distances, "PART", 64)
    draw = np.random.default_rng(61)
    for most, n, arcs in product((0, 3, 255, 9_000, 60_000), (30,), (0, 20, 90, 800)):
        heads, tails = np.divmod(np.sort(draw.choice(n * n, arcs, replace=False)), n)
        tolls = draw.integers(0, most + 1, arcs, dtype=np.int32)
        closed = np.full((n, n), np.inf)
        closed[tails, heads] = tolls
        closed[np.arange(n), np.arange(n)] = 0
        for k in range(n):
            closed = np.minimum(closed, closed[:, k, None] + closed[k])
        into = np.searchsorted(heads, np.arange(n + 1))
        for first, last in ((0, n), (n // 3, n // 2), (4, 6), (n, n)):
            matrix = np.empty((last - first, n), np.float32)
            for _ in array_distances.array_distances(matrix, first, into, tails.astype(np.uint32), tolls):
                pass
            assert (matrix == closed[first:last]).all()
