"""Validation: correct results pass on any number of ranks; every rule detects its own kind of error and names it."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from algorithm_cases import KNOWN, rows
from battery import CASES

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.bfs import Bfs
from dgraph.cli import main
from dgraph.comm import world
from dgraph.errors import UsageError, ValidationFailed
from dgraph.result.result import UNREACHED as FAR
from dgraph.validate import CERTIFICATES, validate
from dgraph.validate.host import host_rows
from partitioning.arrays import arcs

run = dgraph.run

NAMES = ("all_zero", "mostly_sinks", "plateaus", "shifted_ids")
NAN = float("nan")


@pytest.fixture(autouse=True)
def several_threads(monkeypatch):
    """Check the rows of a rank in ranges of few rows, by three threads."""
    monkeypatch.setattr(host_rows, "LEAST", 1)
    monkeypatch.setattr(host_rows, "default_threads", lambda comm: 3)


def make(src, dst, weights=None, **options):
    """Make a graph of which each rank passes every P-th edge."""
    comm = world()
    src, dst = np.array(src, np.int64), np.array(dst, np.int64)
    mine = slice(comm.rank, None, comm.size)
    weights = None if weights is None else np.asarray(weights)[mine]
    return dgraph.Graph.from_edges(src[mine], dst[mine], weights, comm=comm, **options)


def of(case, dtype=None):
    weights = case.weights.astype(dtype or case.dtypes[0])
    return make(case.src, case.dst, weights, n=case.n, directed=case.directed, sparse_ids=case.n is None)


def one_way(**options):
    """Return the graph 0 →(5) 1 ⇄(0) 2 →(4) 3, 0 →(20) 3, 4 →(1) 0; 5 is isolated."""
    return make([0, 1, 2, 2, 0, 4], [1, 2, 1, 3, 3, 0], np.array([5, 0, 0, 4, 20, 1]), n=6, **options)


def both_ways():
    """Return a triangle 0 1 2 with a tail 2 – 3 – 4, an edge 5 – 6, and an isolated 7."""
    return make([0, 1, 2, 2, 3, 5], [1, 2, 0, 3, 4, 6], n=8, directed=False)


GRAPHS = {name: both_ways if module.undirected else one_way for name, module in ALGORITHMS.items()}


@cache
def solved(algorithm, *parameters):
    graph = GRAPHS[algorithm]()
    result = run(algorithm, graph, **dict(parameters))
    assert verdict(algorithm, graph, result, {}, dict(parameters)).passed is True
    return graph, result


def verdict(algorithm, graph, result, changes, parameters):
    """Validate the result after ``changes``: column → {original id: value}."""
    columns = {name: values.copy() for name, values in result.columns.items()}
    for name, values in changes.items():
        for vertex, value in values.items():
            columns[name][result.columns["vertex"] == vertex] = value
    work = ALGORITHMS[algorithm](**parameters)
    settings = (work if graph.directed else work.of_edges()).settings()
    converged = {"rounds": result.rounds, "converged": result.converged}
    return validate(algorithm, graph.block, columns, graph.comm, parameters=settings, **converged)


def agreed(outcome):
    """Return the failure, and check that it is the same on every rank."""
    told = world().allgather_json([outcome.passed, outcome.failure])
    assert all(failure == told[0] for failure in told)
    return outcome.failure


def test_every_algorithm_has_a_certificate():
    assert CERTIFICATES.keys() == ALGORITHMS.keys()


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "chunk"), [(name, arcs.CHUNK) for name in NAMES] + [("skewed", 97)])
def test_right_answers_pass(name, chunk, monkeypatch):
    monkeypatch.setattr(arcs, "CHUNK", chunk)
    case = CASES[name]
    graph, source = of(case), case.source
    runs = [(name, parameters) for name, module in KNOWN.items() for parameters in module.VALID]
    if case.directed:
        more = {name: getattr(module, "VALID_DIRECTED", []) for name, module in KNOWN.items()}
        runs += [(name, parameters) for name, listed in more.items() for parameters in listed]
    naming = {"betas", "dangling", "first", "nstart", "personalizations", "sources", "target", "targets"}
    naming = set() if set(range(5)) <= set(case.vertices.tolist()) else naming
    runs = [(name, parameters) for name, parameters in runs if not parameters.keys() & naming]
    if not np.all(case.weights > 0):  # shortest paths are counted by weights above 0
        runs = [(name, parameters) for name, parameters in runs if name != "bc" or not parameters.get("weighted")]
    runs.append(("pagerank", {"tol": 0, "max_iter": 5, "personalization": {source: 2.0}}))
    for algorithm, parameters in runs:
        options = {"source": source} if ALGORITHMS[algorithm].needs_source else {}
        result = run(algorithm, graph.on(policy="hash"), validate=True, **options, **parameters)
        told = result.report["outcome"]["validation"]
        assert told["passed"] is True, (algorithm, parameters)
        assert told["checked"]
        assert told["failure"] is None


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["rounded_sums", "swallowed", "extreme_floats"])
def test_floats_are_compared_exactly(name):
    case = CASES[name]
    for dtype in case.dtypes:
        if dtype.startswith("float"):
            graph = of(case, dtype)
            for predecessors in (True, False):
                run("sssp", graph, source=case.source, return_predecessors=predecessors, validate=True)
            result = run("sssp", graph, source=case.source)
            vertex, distance = (column[-1] for column in result.top(3, "distance").values())
            wrong = {"distance": {vertex: np.nextafter(distance, np.array(0, dtype))}}
            assert verdict("sssp", graph, result, wrong, {"source": case.source}).passed is False


WRONG = rows("WRONG")


@pytest.mark.mpi
@pytest.mark.parametrize(("algorithm", "parameters", "changes", "rule", "culprit"), WRONG)
def test_every_rule_catches_its_kind(algorithm, parameters, changes, rule, culprit):
    if algorithm in ("bfs", "sssp"):
        parameters = {"source": 0, **parameters}
    graph, result = solved(algorithm, *parameters.items())
    failure = agreed(verdict(algorithm, graph, result, changes, parameters))
    assert f"rule '{rule}': " in failure
    assert culprit in failure


@pytest.mark.mpi
def test_ranks_without_weights_are_wrong_where_there_are_some():
    """Check that the certificate takes weights from the graph, not from the run, with and without weights."""
    weighted, unweighted = one_way(), make([0, 1, 2, 2, 0, 4], [1, 2, 1, 3, 3, 0], n=6)
    for parameters in ({}, {"tol": 0, "max_iter": 4}):
        for graph, other in ((weighted, unweighted), (unweighted, weighted)):
            assert verdict("pagerank", graph, run("pagerank", graph, **parameters), {}, parameters).passed
            result = run("pagerank", other, **parameters)
            assert "off by" in agreed(verdict("pagerank", graph, result, {}, parameters))


@pytest.mark.mpi
def test_negative_weights_are_no_chances():
    weights = np.array([5, 0, 0, 4, -20, 1])
    graph, result = make([0, 1, 2, 2, 0, 4], [1, 2, 1, 3, 3, 0], weights, n=6), run("pagerank", one_way())
    assert "arc 0 → 3 has weight -20" in agreed(verdict("pagerank", graph, result, {}, {}))


@pytest.mark.mpi
@pytest.mark.parametrize("algorithm", ["bfs", "sssp", "cc", "kcore"])
def test_no_single_wrong_value_passes(algorithm):
    """Plausible mistakes: values of other vertices, and values next to the right one."""
    case, rng = CASES["skewed"], np.random.default_rng(3)
    graph, parameters = of(case), {}
    if ALGORITHMS[algorithm].undirected:
        graph = graph.undirected()
    if algorithm in ("bfs", "sssp"):
        parameters = {"source": case.source}
    result = run(algorithm, graph, **parameters)
    column = list(result.columns)[1]
    whole = np.concatenate(graph.comm.allgatherv(result.columns[column]))
    vertices = np.concatenate(graph.comm.allgatherv(result.columns["vertex"]))
    for _ in range(25):
        row = rng.integers(whole.size)
        wrong = rng.choice([whole[row] ^ 1, whole[row] - 1, whole[rng.integers(whole.size)], FAR])
        if wrong != whole[row]:
            changes = {column: {int(vertices[row]): wrong}}
            assert verdict(algorithm, graph, result, changes, parameters).passed is False, changes


@pytest.mark.mpi
def test_core_numbers_need_an_undirected_graph():
    result = run("kcore", one_way())
    with pytest.raises(UsageError, match=r"pass the block of graph\.undirected"):
        verdict("kcore", one_way(), result, {}, {})
    assert verdict("kcore", one_way().undirected(), result, {}, {}).passed


@pytest.mark.mpi
def test_culprits_have_their_own_ids():
    ids = np.array([30, 7, 2**40, 500])
    graph = make(ids[[0, 1, 2]], ids[[1, 2, 3]], sparse_ids=True)
    result = run("bfs", graph, source=30)
    failure = agreed(verdict("bfs", graph, result, {"distance": {500: FAR}, "predecessor": {500: -1}}, {"source": 30}))
    assert f"arc {2**40} → 500 of weight 1" in failure


@pytest.mark.mpi
def test_a_lost_arc_is_seen():
    """The result is that of a graph without one arc, as a wrong partition would give."""
    lacking = make([0, 1, 2], [1, 2, 3], n=6)
    failure = agreed(verdict("bfs", one_way(), run("bfs", lacking, source=0), {}, {"source": 0}))
    assert "arc 0 → 3" in failure


@pytest.mark.mpi
def test_the_peel_and_the_joins_cross_ranks():
    """A long path in random order needs communication for every step."""
    order = np.random.default_rng(1).permutation(200)
    graph = make(order[:-1], order[1:], n=200, directed=False)
    for algorithm, column, wrong in (("cc", "labels", 1), ("kcore", "core_number", 0)):
        result = run(algorithm, graph, validate=True)
        changes = {column: dict.fromkeys(range(200), wrong)}
        assert verdict(algorithm, graph, result, changes, {}).passed is False


@pytest.mark.mpi
@pytest.mark.filterwarnings("ignore::dgraph.errors.ConvergenceWarning")
def test_what_a_limit_ended_has_no_proof():
    result = run("bfs", "path:50", source=0, options=dgraph.Options(max_rounds=3), validate=True)
    told = result.report["outcome"]["validation"]
    assert told["passed"] is None
    assert "a limit ended bfs" in told["failure"]
    assert run("pagerank", "path:50", max_iter=3, validate=True).report["outcome"]["validation"]["passed"]


@pytest.fixture
def broken(monkeypatch):
    """Make bfs place vertex 3 one level too far."""
    right = Bfs.run

    def one_too_far(self, ctx):
        answer = right(self, ctx)
        column = np.array(answer.columns["distance"]())
        column[ctx.local.original[: ctx.local.masters] == 3] += 1
        return replace(answer, columns={**answer.columns, "distance": column})

    monkeypatch.setattr(Bfs, "run", one_too_far)


@pytest.mark.mpi
def test_run_refuses_a_wrong_answer_on_every_rank(broken):
    assert run("bfs", "path:6", source=0).columns["vertex"].dtype == np.int64
    with pytest.raises(ValidationFailed, match="arc 2 → 3 of weight 1: 2 has distance 2, so 3 is at most 3 away"):
        run("bfs", "path:6", source=0, validate=True)


@pytest.mark.mpi_skip
def test_the_command_line_refuses_it_with_code_1(broken, capsys, tmp_path):
    words = ["bfs", "path:6", "--source", "0", "--output", f"{tmp_path}/out.txt", "--report", f"{tmp_path}/run.json"]
    assert main([*words, "--validate"]) == 1
    said = capsys.readouterr().err
    assert said.count("validation failed: the answer is wrong by the rule 'no arc is a short cut'") == 1
    assert not (tmp_path / "out.txt").exists()
    told = json.loads((tmp_path / "run.json").read_text())["outcome"]["validation"]
    assert told["passed"] is False
    assert "arc 2 → 3" in told["failure"]
    assert main(words) == 0


@pytest.mark.interpreted
@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_the_command_line_says_what_was_proved(capsys):
    assert main(["sssp", "path:6", "--source", "2", "--validate"]) == 0
    assert capsys.readouterr().err.count("validated: distances; no arc is a short cut; predecessors are a tree") == 1


@pytest.mark.mpi_skip
def test_a_program_of_ones_own_has_no_certificate():
    from dgraph.algorithms.cc import Labels

    with pytest.raises(UsageError, match="labels has no certificate, so its answer cannot be validated"):
        run(Labels(), "path:6", validate=True)


def test_parallel_arcs_count_at_the_corner_opposite_to_them():
    source, target, weight = np.random.default_rng(5).integers(1, 12, (3, 90))
    graph = dgraph.Graph.from_edges(source, target, weight)
    assert dgraph.run("lcc", graph, count="arcs", validate=True).report["outcome"]["validation"]["passed"]
