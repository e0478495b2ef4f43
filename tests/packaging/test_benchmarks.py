"""Benchmarks use public names only, so that one script can time two commits.

The names beside ``dgraph.run`` are in ``dgraph/tools/benchmarking.py``, which runs here on an emulated GPU.
"""

import ast
import importlib.util
import math
import os
import re
import sys
from importlib import import_module

import numpy as np
import pytest
from children import ROOT
from devices import device_of, on_devices
from emulated import Device, needs_compiler
from flat_run import flat_run

import dgraph
from benchmarks import __main__ as command
from benchmarks import anchors, resizing, schedules
from dgraph.errors import UsageError
from dgraph.tools import benchmarking

pytestmark = pytest.mark.mpi_skip
FOLDER = ROOT / "benchmarks"
FILES = sorted(FOLDER.rglob("*.py"))
PUBLIC = (
    "dgraph",
    "dgraph.networkx_backend",
    "dgraph.program",
    "dgraph.report",
    "dgraph.tools.benchmarking",
    "partitioning",
)
UNREACHED = 2**31 - 1
OURS = re.compile(r"(dgraph|partitioning|launch|tests)\b")


def imported(text):
    """Yield (module, name or "") of imports of this project, also those in programs that the text holds as strings."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if OURS.match(alias.name))
        elif isinstance(node, ast.ImportFrom) and OURS.match(node.module or ""):
            for member in node.names:
                module = f"{node.module}.{member.name}"
                yield (module, "") if module in PUBLIC else (node.module, member.name)
        elif isinstance(node, ast.Constant) and re.search(r"^ *(import|from) .*dgraph", str(node.value), re.MULTILINE):
            yield from imported(node.value)


@pytest.mark.quick
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_benchmark_imports_public_names_alone(file):
    for module, name in imported(file.read_text()):
        assert module in PUBLIC, f"{file.name} imports {module}"
        assert not name or name in import_module(module).__all__, f"{file.name} imports {name} of {module}"
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            assert getattr(node.value, "id", "") == "self", f"{file.name}:{node.lineno} uses {node.attr}"


def test_imports_in_functions_and_in_strings_are_seen():
    text = 'def f():\n    from dgraph.engine import x\nP = """\nimport dgraph.run\n"""'
    assert [*imported(text)] == [("dgraph.engine", "x"), ("dgraph.run", "")]
    assert len(FILES) > 15


@pytest.mark.quick
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_benchmark_can_be_imported_without_a_gpu(file):
    import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


ON_GPUS = (
    "gpu", "schedules", "default", "turns", "tuning", "gpu-load", "device-tables", "across", "transports", "building",
    "variants", "structure --backend cuda", "papers --backend cuda", "certificates --device cuda",
    "service --device cuda", "soak --device cuda",
)  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="refusals without CuPy")
@pytest.mark.parametrize("words", ON_GPUS)
def test_a_benchmark_of_gpus_says_in_one_line_that_there_is_none(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words.split(), "--results", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        command.main()
    output, messages = capsys.readouterr()
    assert (ended.value.code, output, messages.count("\n")) == (2, "", 1)
    assert "needs CuPy" in messages


def test_scale_resizes_every_graph_of_a_benchmark(monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ})
    for what, tables in resizing.SIZED.items():
        copies = tuple(dict(table) for table in tables)
        monkeypatch.setitem(resizing.SIZED, what, copies)
        resizing.resize(what, 6)
        for graphs in copies:
            for recipe in graphs.values():
                spec = recipe[0] if isinstance(recipe, tuple) else recipe
                if isinstance(spec, anchors.Recipe):
                    assert math.prod(spec.numbers[:2]) < 1 << 13
                    assert not spec.checksum
                elif spec:
                    assert 36 <= dgraph.Graph.load(spec).n <= 64, spec


@pytest.fixture(scope="module")
def loaded():
    return dgraph.Graph.load("rmat:6,symmetric", weights="1..9")


def on_gpu(device, loaded):
    """Return the rows of a graph on a GPU, as benchmarks pass them."""
    rows = (loaded.block.offsets, loaded.block.targets.astype(np.int32), loaded.block.weights)
    return benchmarking.GpuGraph(benchmarking.Gpu(device=device), *map(device.put, rows), directed=False)


@on_devices
@pytest.mark.parametrize(("work", "parameters"), [("bfs", {"source": 0}), ("cc", {})])
def test_rounds_run_again_and_again_to_the_answer_of_a_call(device, work, parameters, loaded):
    graph = on_gpu(device_of(device), loaded)
    assert (graph.n, graph.arcs, graph.has_hubs) == (loaded.n, loaded.arcs, False)
    column = flat_run(work, loaded, backend="cpu", **parameters).columns["labels" if work == "cc" else "distance"]
    for _ in range(2):
        solver = benchmarking.Rounds(graph, benchmarking.program(work, **parameters))
        assert solver.seconds() > 0
        assert solver.done
        with pytest.raises(UsageError, match="another Rounds"):
            solver.start()
        (result,) = solver.fields().values()
        np.testing.assert_array_equal(np.minimum(result, UNREACHED), np.minimum(column, UNREACHED))


@on_devices
def test_rounds_one_by_one_tell_their_frontier_and_the_edges_of_blocks(device, loaded):
    graph = on_gpu(device_of(device), loaded)
    solver = benchmarking.Rounds(
        graph, benchmarking.program("bfs", source=0), "push", schedule="twc", record=True, limit=-1
    )
    solver.start()
    degree, edges = int(loaded.block.offsets[1]), 0
    assert solver.frontier() | {"largest": 0} == {"vertices": 1, "edges": degree, "largest": 0}
    while not solver.done:
        edges += solver.frontier()["edges"]
        before = solver.rounds
        solver.go(1)
        assert solver.rounds == before + 1
    assert solver.edges_by_block().sum() == edges
    assert solver.queues() == {}
    assert solver.bytes > 0


def test_edge_lists_are_those_of_the_generator():
    pieces = [*benchmarking.edge_lists("uniform", 6, 50, edge_factor=2, seed=1, symmetric=False)]
    assert [count for count, _ in pieces] == [50, 50, 28]
    lines = b"".join(lines for _, lines in pieces).splitlines()
    edges = np.array([line.split() for line in lines], np.int64)
    graph = dgraph.Graph.load("uniform:6,edge_factor=2,seed=1", keep_loops=True, keep_parallel=True)
    counted = np.bincount(edges[:, 0], minlength=64)
    np.testing.assert_array_equal(counted, np.diff(graph.block.offsets))


def test_a_part_is_built_as_by_a_call():
    graph = dgraph.Graph.load("grid:8x8")
    part = benchmarking.build_part(graph, "oec")
    assert (part.masters, part.out.arcs) == (graph.n, graph.arcs)


@needs_compiler
def test_schedules_rates_are_means_over_sources(monkeypatch):
    """Check a path of two arcs and one of six, beside plain counts, where every run takes half a second."""
    rounds = schedules.solve
    monkeypatch.setattr(schedules, "solve", lambda *args, **limit: rounds(*args, **limit) * 0 + 0.5)
    offsets, targets = np.array([0, 1, 2, 3, 5, 7, 8]), np.array([1, 0, 3, 2, 4, 3, 5, 4], np.int32)
    graph = benchmarking.GpuGraph(benchmarking.Gpu(device=Device(2, seed=1)), offsets, targets, None, False)
    degree = np.diff(offsets)

    def arcs(distances):
        return degree[distances < 9].sum()

    row = schedules.cell(graph.gpu, graph, "bfs top-down", [3, 0, 5], schedules.Entry("lb"), 1, arcs)
    assert (row["seconds"], row["sources"], row["cut"]) == (0.5, 3, None)
    assert row["mteps"] * 1e6 == pytest.approx((6 + 2 + 6) / 3 / 0.5)
