"""Certificates on an emulated GPU: verdicts and messages as on CPUs, renumbered rows, mutants of solver kernels."""

import re

import numpy as np
import pytest
from algorithm_cases import rows
from emulated import Device, needs_compiler
from flat_run import flat_run
from test_validate import GRAPHS, WRONG

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.graph.load_options import LoadOptions
from dgraph.validate import CERTIFICATES, PROVED, validate
from dgraph.validate.host.host_prover import HostProver

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
ON_HOST = {"dangling", "nstart"}
"""Parameters whose certificate runs on the host."""
RULES = [
    row
    for row in WRONG
    if CERTIFICATES[row[0]] in PROVED and row[3] != "every vertex has one row" and not ON_HOST & row[1].keys()
]


def gpu(**options):
    return CudaBackend(0, 1, True, GpuPlan(), Device(blocks=2, seed=1, **options))


def changed(columns, changes):
    """Return a copy of the columns after ``changes``: column → {original id: value}."""
    columns = {name: np.array(values) for name, values in columns.items()}
    vertex = columns["vertex"].copy()
    for name, values in changes.items():
        for vertex_id, value in values.items():
            columns[name][vertex == vertex_id] = value
    return columns


def judged(evidence, algorithm, columns, graph, result, parameters):
    settings = ALGORITHMS[algorithm](**parameters).settings()
    end = {"rounds": result.rounds, "converged": result.converged}
    return validate(algorithm, evidence, columns, graph.comm, parameters=settings, **end)


@pytest.fixture
def hosts(monkeypatch):
    """List that grows whenever a certificate runs on the CPU."""
    provers, init = [], HostProver.__init__
    monkeypatch.setattr(HostProver, "__init__", lambda self, *args: (provers.append(self), init(self, *args))[1])
    return provers


@pytest.mark.parametrize(("algorithm", "parameters", "changes", "rule", "culprit"), RULES)
def test_every_rule_catches_its_kind(algorithm, parameters, changes, rule, culprit, hosts):
    if algorithm in ("bfs", "sssp"):
        parameters = {"source": 0, **parameters}
    graph = GRAPHS[algorithm]()
    result = dgraph.run(algorithm, graph, **parameters)
    evidence = gpu().evidence(graph, None, algorithm)
    columns = changed(result.columns, changes)
    outcome = judged(evidence, algorithm, columns, graph, result, parameters)
    assert f"rule '{rule}': " in outcome.failure
    assert culprit in outcome.failure
    assert judged(evidence, algorithm, result.columns, graph, result, parameters).passed
    assert not hosts


ANSWERS = rows("NUDGED")


@pytest.mark.parametrize("spec", ["rmat:6,symmetric", "road:7x7"])
@pytest.mark.parametrize(("algorithm", "parameters", "column", "step"), ANSWERS)
def test_a_built_graph_has_the_verdicts_of_its_rows(spec, algorithm, parameters, column, step, hosts):
    """Vertices are numbered by degree on the GPU: places are translated back to ids."""
    engine, options = gpu(), LoadOptions(weights="1..9")
    engine.options = GpuPlan(renumber=True)
    built = engine.build(spec, SerialComm(), "auto", options).on(device=engine)
    result = dgraph.run(algorithm, built, validate=True, **parameters)
    assert result.report["outcome"]["validation"]["passed"]
    rows = dgraph.Graph.load(spec, comm=SerialComm(), weights="1..9")
    evidence = engine.evidence(built, built.partition().local, algorithm)
    assert evidence._built.place is not None
    for place in (0, int(np.argmax(result.columns[column])), 40):
        value = result.columns[column][place]
        columns = changed(result.columns, {column: {place: value + step}})
        assert not hosts, "ranks checked it: NUDGED is for certificates with proved=True"
        outcome = judged(evidence, algorithm, columns, built, result, parameters)
        want = judged(rows.block, algorithm, columns, rows, result, parameters)
        assert outcome.passed is want.passed
        assert _rounded(outcome.failure) == _rounded(want.failure)
        hosts.clear()


def test_a_circle_is_named_as_on_cpus(hosts):
    """Rows get other edges of the graph, of few weights: the first edge that lighter ones join is the same."""
    graph, random = dgraph.Graph.load("rmat:6,symmetric", comm=SerialComm(), weights="1..3"), np.random.default_rng(5)
    result, block = dgraph.run("mst", graph), graph.block
    sources = np.repeat(np.arange(block.n), np.diff(block.offsets))
    edges = {"source": sources, "target": block.targets, "weight": block.weights}
    evidence, rules = gpu().evidence(graph, None, "mst"), set()
    for _ in range(12):
        rows = random.choice(np.flatnonzero(result.columns["source"] >= 0), 2, replace=False)
        planted = random.choice(sources.size, 2)
        columns = {name: np.array(values) for name, values in result.columns.items()}
        for name in ("source", "target", "weight"):
            columns[name][rows] = edges[name][planted]
        outcome = judged(evidence, "mst", columns, graph, result, {})
        assert not hosts
        assert outcome.failure == judged(graph.block, "mst", columns, graph, result, {}).failure
        rules.add(outcome.failure.split("'")[1])
        hosts.clear()
    assert "no circle" in rules


def _rounded(text):
    """Return a message without the digits that the order of a sum decides."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.6f}", text or "")


def test_rows_that_were_written_to_are_refused():
    engine = gpu()
    built = engine.build("rmat:6,symmetric", SerialComm(), "auto", LoadOptions()).on(device=engine)
    result = dgraph.run("cc", built)
    local = built.partition().local
    local.built.neighbours[7] ^= 1
    outcome = judged(engine.evidence(built, local, "cc"), "cc", result.columns, built, result, {})
    assert "something has written to them" in outcome.failure


def test_without_memory_the_ranks_check(hosts):
    graph = GRAPHS["cc"]()
    result = dgraph.run("cc", graph)
    assert judged(gpu(memory=100).evidence(graph, None, "cc"), "cc", result.columns, graph, result, {}).passed
    assert hosts


NO_ROW = "return offsets[none ? v : v + 1];", "return offsets[none || v == 9 ? v : v + 1];"
PRIORITIES = {"variant": "jones-plassmann"}
MUTANTS = [
    ("bfs", "road:8x8", {}, ("saturating_add((i64)(x0), (i64)(1ll))", "x0 + 1 + (x0 == 2)")),
    ("bfs", "path:40", {"variant": "queue"}, NO_ROW),
    ("sssp", "road:8x8", {}, ("const i64 x2 = x0 + x1;", "const i64 x2 = x0 + x1 + (x1 > 6);")),
    ("sssp", "path:40", {}, NO_ROW),
    ("cc", "road:8x8", {}, ("if (lane_id() == 0 && least <", "if (false && least <")),
    ("cc", "rmat:6", {}, ("root.of[k] == giant ? least :", "root.of[k] == giant ? least + 1 :")),
    ("kcore", "rmat:6", {}, ("if (rest < level) lessened(", "if (rest < level - 1) lessened(")),
    ("color", "road:8x8", {}, ("32 : __ffs(~taken) - 1;", "32 : __ffs(~(taken & ~2u)) - 1;")),
    ("color", "road:8x8", PRIORITIES, ("const bool x8 = x7 == 0ll;", "const bool x8 = x7 <= 1ll;")),
    ("color", "rmat:6", PRIORITIES, NO_ROW),
    ("pagerank", "rmat:6", {}, ("const double x8 = x5 + x7;", "const double x8 = x5;")),
    ("pagerank", "rmat:6", {}, ("const double x2 = x0 * (double)(x1);", "const double x2 = x0;")),
]


@pytest.mark.parametrize(("algorithm", "spec", "parameters", "mutant"), MUTANTS)
def test_mutants_of_solver_kernels_are_rejected(algorithm, spec, parameters, mutant):
    """Check that both provers refuse the answer of a solver whose kernels are wrong."""
    if algorithm in ("bfs", "sssp"):
        parameters = {"source": 2, **parameters}
    graph = dgraph.Graph.load(spec, comm=SerialComm(), weights="1..9")
    whole = graph.undirected() if ALGORITHMS[algorithm].undirected else graph
    device = Device(blocks=2, seed=1, mutant=mutant)
    engine = CudaBackend(0, 1, True, GpuPlan(renumber=algorithm == "cc"), device)
    result = flat_run(algorithm, whole, backend=engine, max_rounds=500, **parameters)
    columns = {name: np.array(values) for name, values in result.columns.items()}
    assert device.changed, "the solver's kernels do not contain the text"
    for evidence in (gpu().evidence(whole, None, algorithm), whole.block):
        outcome = judged(evidence, algorithm, columns, whole, result, parameters)
        assert outcome.passed is False, str(outcome)
