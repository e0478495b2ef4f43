"""Validation: correct results pass on any number of ranks; every rule detects its own kind of error and names it."""

import json
from functools import cache

import numpy as np
import pytest
from battery import CASES

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.bfs import Bfs
from dgraph.cli import main
from dgraph.comm import world
from dgraph.errors import UsageError, ValidationFailed
from dgraph.result.result import UNREACHED as FAR
from dgraph.validate import CERTIFICATES, validate
from partitioning.arrays import arcs

run = dgraph.run

NAMES = ("all_zero", "mostly_sinks", "plateaus", "shifted_ids")
NAN = float("nan")


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


GRAPHS = {"bfs": one_way, "sssp": one_way, "cc": both_ways, "kcore": both_ways, "pagerank": one_way, "color": both_ways}


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
    settings = ALGORITHMS[algorithm](**parameters).settings()
    converged = {"rounds": result.rounds, "converged": result.converged}
    return validate(algorithm, graph.block, columns, graph.comm, parameters=settings, **converged)


def agreed(found):
    """Return the failure, and check that it is the same on every rank."""
    told = world().allgather_json([found.passed, found.failure])
    assert all(each == told[0] for each in told)
    return found.failure


def test_every_algorithm_has_a_certificate():
    assert CERTIFICATES.keys() == ALGORITHMS.keys()


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "chunk"), [(name, arcs.CHUNK) for name in NAMES] + [("skewed", 97)])
def test_right_answers_pass(name, chunk, monkeypatch):
    monkeypatch.setattr(arcs, "CHUNK", chunk)
    case = CASES[name]
    graph, source = of(case), case.source
    runs = [
        ("bfs", {"source": source}),
        ("bfs", {"source": source, "depth_limit": 2, "return_predecessors": False}),
        ("sssp", {"source": source}),
        ("sssp", {"source": source, "cutoff": 17.5}),
        ("sssp", {"source": source, "return_predecessors": False}),
        ("cc", {}),
        ("kcore", {}),
        ("kcore", {"k": 3}),
        ("color", {}),
        ("color", {"variant": "degree"}),
        ("pagerank", {}),
        ("pagerank", {"tol": 0, "max_iter": 5, "personalization": {source: 2.0}}),
        ("pagerank", {"precision": "single"}),
        ("pagerank", {"precision": "single", "tol": 0, "max_iter": 5}),
    ]
    for algorithm, parameters in runs:
        result = run(algorithm, graph.on(policy="hash"), validate=True, **parameters)
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


WITHOUT, SINGLE = {"return_predecessors": False}, {"precision": "single"}
MOVED = {0: 0.20012266, 4: 0.11013081}  # 2e-6 moved from one vertex to the other
WRONG = [
    ("bfs", {}, {"vertex": {3: 77}}, "rows are of vertices", "a row of 77"),
    ("bfs", {}, {"vertex": {3: 2}}, "every vertex has one row", "vertex 2 has 2 rows"),
    ("bfs", {}, {"distance": {0: 1}}, "the source is at 0", "the source 0 has distance 1"),
    ("bfs", {}, {"distance": {3: 2}}, "no arc is a short cut", "arc 0 → 3 of weight 1: 0 has distance 0"),
    ("bfs", {}, {"distance": {2: 1}}, "tree arcs are tight", "vertex 2 has distance 1 and predecessor 1, which has 1"),
    ("bfs", {"depth_limit": 1}, {"distance": {2: 2}, "predecessor": {2: 1}}, "the cutoff holds", "vertex 2"),
    ("sssp", {}, {"distance": {3: -1}}, "distances are not negative", "vertex 3 has distance -1"),
    ("sssp", {"cutoff": 6.5}, {"distance": {3: 9}, "predecessor": {3: 2}}, "the cutoff holds", "distance 9, above 6.5"),
    ("sssp", {"cutoff": 6.5}, {"distance": {2: FAR}, "predecessor": {2: -1}}, "no arc is a short cut", "arc 1 → 2"),
    ("sssp", {}, {"predecessor": {0: 4}}, "the source has no predecessor", "source 0 has predecessor 4"),
    ("sssp", {}, {"predecessor": {5: 0}}, "the unreached have no predecessor", "vertex 5"),
    ("sssp", {}, {"predecessor": {3: -1}}, "the reached have a predecessor", "vertex 3"),
    ("sssp", {}, {"predecessor": {3: 77}}, "the reached have a predecessor", "predecessor 77 is not a vertex"),
    ("sssp", {}, {"predecessor": {3: 5}}, "predecessors are reached", "its predecessor 5 is unreached"),
    ("sssp", {}, {"distance": {3: 12}}, "no arc is a short cut", "arc 2 → 3 of weight 4: 2 has distance 5, so 3 is"),
    ("sssp", {}, {"distance": {3: FAR}, "predecessor": {3: -1}}, "no arc is a short cut", "but has unreached"),
    ("sssp", {}, {"predecessor": {3: 1}}, "tree arcs are arcs", "there is no arc 1 → 3"),
    ("sssp", {}, {"predecessor": {3: 0}}, "tree arcs are tight", "vertex 3 has distance 9 and predecessor 0"),
    ("sssp", {}, {"predecessor": {1: 2}}, "no circle", "predecessors of vertex 1, at distance 5, run in a circle"),
    ("sssp", WITHOUT, {"distance": {1: 3, 2: 3, 3: 7}}, "distances are reached", "vertex 1 has distance 3"),
    ("sssp", WITHOUT, {"distance": {3: 8}}, "distances are reached", "vertex 3 has distance 8"),
    ("cc", {}, {"labels": {7: 99}}, "labels are vertices", "vertex 7 has label 99"),
    ("cc", {}, {"labels": {4: 4}}, "labels are equal along arcs", "arc 3 → 4 joins label 0 with label 4"),
    ("cc", {}, {"labels": {5: 1, 6: 1}}, "a label's vertex carries it", "vertex 5 has label 1"),
    ("cc", {}, {"labels": {5: 0, 6: 0}}, "no two components of one label", "vertex 5 has label 0"),
    ("cc", {}, {"labels": {5: 6, 6: 6}}, "labels are the smallest", "vertex 5 has label 6"),
    ("kcore", {}, {"core_number": {3: 2}}, "enough neighbours", "vertex 3 has core number 2, but only 1 neighbours"),
    ("kcore", {}, {"core_number": {4: 0}}, "no larger core", "vertex 4 has core number 0"),
    ("kcore", {}, {"core_number": {0: 1, 1: 1, 2: 1}}, "no larger core", "vertex 0 has core number 1"),
    ("kcore", {}, {"core_number": {7: -1}}, "no larger core", "vertex 7"),
    ("kcore", {"k": 2}, {"in_core": {3: 1}}, "enough neighbours", "vertex 3 is in the 2-core with 1 neighbours"),
    ("kcore", {"k": 2}, {"in_core": {0: 0, 1: 0, 2: 0}}, "no larger core", "vertex 0 belongs to the 2-core"),
    ("kcore", {"k": 2}, {"in_core": {3: 2}}, "members are 0 or 1", "vertex 3 has in_core 2"),
    ("color", {}, {"color": {3: -1}}, "every vertex has a color", "vertex 3 has color -1"),
    (
        "color",
        {},
        {"color": dict.fromkeys(range(8), 0)},
        "neighbours differ",
        "0 and 1 are joined, and both have color",
    ),
    ("color", {}, {"color": {7: 9}}, "no color is left out", "but vertex 7 has color 9"),
    ("pagerank", {}, {"pagerank": {3: -0.1}}, "ranks are shares", "vertex 3 has pagerank -0.1"),
    ("pagerank", {}, {"pagerank": {3: NAN}}, "ranks are shares", "vertex 3 has pagerank nan"),
    ("pagerank", {}, {"pagerank": {5: 0.6}}, "ranks sum to 1", "which is off 1"),
    ("pagerank", {}, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "the residual", "most at 3: it has 0.1666"),
    ("pagerank", {"tol": 0, "max_iter": 3}, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "3 iterations", "most at"),
    ("pagerank", SINGLE, {"pagerank": {5: 0.10786}}, "ranks sum to 1", "which is off 1"),
    ("pagerank", SINGLE, {"pagerank": dict.fromkeys(range(6), 1 / 6)}, "the residual", "most at 3: it has 0.1666"),
    ("pagerank", SINGLE | {"tol": 0, "max_iter": 3}, {"pagerank": MOVED}, "3 iterations", "most at"),
]


@pytest.mark.mpi
@pytest.mark.parametrize(("algorithm", "parameters", "changes", "rule", "culprit"), WRONG)
def test_every_rule_catches_its_kind(algorithm, parameters, changes, rule, culprit):
    if algorithm in ("bfs", "sssp"):
        parameters = {"source": 0, **parameters}
    graph, result = solved(algorithm, *parameters.items())
    found = agreed(verdict(algorithm, graph, result, changes, parameters))
    assert f"rule '{rule}': " in found
    assert culprit in found


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
        at = rng.integers(whole.size)
        wrong = rng.choice([whole[at] ^ 1, whole[at] - 1, whole[rng.integers(whole.size)], FAR])
        if wrong != whole[at]:
            changes = {column: {int(vertices[at]): wrong}}
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
    found = agreed(verdict("bfs", graph, result, {"distance": {500: FAR}, "predecessor": {500: -1}}, {"source": 30}))
    assert f"arc {2**40} → 500 of weight 1" in found


@pytest.mark.mpi
def test_a_lost_arc_is_seen():
    """The result is that of a graph without one arc, as a wrong partition would give."""
    lacking = make([0, 1, 2], [1, 2, 3], n=6)
    found = agreed(verdict("bfs", one_way(), run("bfs", lacking, source=0), {}, {"source": 0}))
    assert "arc 0 → 3" in found


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
        answer.columns["distance"][ctx.local.original[: ctx.local.masters] == 3] += 1
        return answer

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


@pytest.mark.mpi_skip
def test_the_command_line_says_what_was_proved(capsys):
    assert main(["sssp", "path:6", "--source", "2", "--validate"]) == 0
    assert capsys.readouterr().err.count("validated: distances; no arc is a short cut; predecessors are a tree") == 1


@pytest.mark.mpi_skip
def test_a_program_of_ones_own_has_no_certificate():
    from dgraph.algorithms.cc import Labels

    with pytest.raises(UsageError, match="labels has no certificate, so its answer cannot be validated"):
        run(Labels(), "path:6", validate=True)
