"""Certificates reject answers by other rules for loops and parallel edges than the algorithm's."""

import numpy as np
import pytest
from emulated import backend, needs_compiler
from kept_edges import COMMUNITIES, Kept

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.edge_rule import STRIPPED, EdgeRule
from dgraph.comm import SerialComm, world
from dgraph.errors import ValidationFailed
from dgraph.validate import CERTIFICATES, PROVED, validate

AS_LISTED = EdgeRule()
OTHERS = [
    ("kcore", {}, "loops", AS_LISTED), ("kcore", {}, "parallel", AS_LISTED), ("kcore", {"k": 3}, "parallel", AS_LISTED),
    ("kcore", {"variant": "estimates"}, "loops", AS_LISTED), ("cdlp", {}, "loops", STRIPPED),
    ("cdlp", {}, "parallel", AS_LISTED), ("pagerank", {"tol": 1e-9}, "loops", STRIPPED),
    ("pagerank", {"tol": 1e-9}, "parallel", STRIPPED), ("hits", {}, "loops", STRIPPED),
    ("hits", {}, "parallel", STRIPPED),
]  # fmt: skip
"""Algorithm, parameters, what the graph keeps, and a rule that gives another answer."""


def refused(monkeypatch, graph, name, parameters, rule):
    """Check that a run by the algorithm's rule is certified, and that one by another rule is not; collective."""
    dgraph.run(name, graph, validate=True, **parameters)
    monkeypatch.setattr(ALGORITHMS[name], "edge_rule", rule)
    with pytest.raises(ValidationFailed, match="the answer is wrong by the rule"):
        dgraph.run(name, graph, validate=True, **parameters)


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "parameters", "part", "rule"), OTHERS)
def test_answers_by_another_rule_are_wrong(name, parameters, part, rule, monkeypatch):
    refused(monkeypatch, Kept(False, part, weighted=False).engine(world()), name, parameters, rule)


@needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("directed", [True, False])
def test_paths_along_parallel_edges_are_wrong(directed, monkeypatch):
    graph = Kept(directed, "parallel", weighted=False).engine(SerialComm()).on(device=backend())
    refused(monkeypatch, graph, "bc", {}, AS_LISTED)


def small(weighted=True):
    """Return a triangle 0 1 2 with three edges 0 – 1, a loop at 2, a tail 2 – 4, and a loop alone at 3."""
    ends = [0, 0, 0, 1, 0, 2, 3, 2], [1, 1, 1, 2, 2, 2, 3, 4]
    weights = np.array([3, 5, 4, 4, 9, 1, 1, 1]) if weighted else None
    return dgraph.Graph.from_edges(
        *ends, weights, directed=False, keep_loops=True, keep_parallel=True, comm=SerialComm()
    )


WRONG = [
    ("apsp", {}, "the largest weight counts", {"farthest": {2: 9, 4: 10}}),
    ("bfs", {"source": 2}, "a loop is a cycle to the source", {"distance": {2: 1}}),
    ("cdlp", {"max_iter": 1}, "loops do not count", {COMMUNITIES: {2: 0, 3: 0}}),
    ("closeness", {}, "a loop is a path", {"closeness": {3: 1.0}}),
    ("color", {}, "no colour differs from a loop's end", {"color": {3: -1}}),
    ("kcore", {}, "a vertex is its own neighbour", {"core_number": {3: 1}}),
    ("kcore", {}, "parallel edges count each", {"core_number": {0: 3, 1: 3}}),
    ("kcore", {"k": 1}, "a vertex is its own neighbour", {"in_core": {3: 1}}),
    ("kcore", {"k": 3}, "parallel edges count each", {"in_core": {0: 1, 1: 1}}),
    ("ktruss", {}, "a loop is an edge", {"truss": {3: 2}}),
    ("ktruss", {}, "parallel edges close triangles each", {"truss": {0: 5, 1: 5, 2: 5}}),
    ("lcc", {}, "parallel edges count each", {"lcc": {2: 1.0}}),
    ("lcc", {}, "a loop is a neighbour", {"lcc": {2: 1 / 6}}),
    ("mis", {}, "a vertex is its own neighbour", {"in_set": {3: 0}}),
    ("mst", {}, "the largest weight counts", {"weight": {1: 5}}),
    ("multi_source_sssp", {"sources": [0]}, "the largest weight counts", {"distance_0": {1: 5}}),
    ("sssp", {"source": 0, "return_predecessors": False}, "the largest weight counts", {"distance": {1: 5}}),
    ("triangles", {}, "parallel edges close triangles each", {"triangles": {0: 3, 1: 3, 2: 3}}),
    ("triangles", {}, "a loop closes triangles", {"triangles": {2: 2}}),
]
"""Algorithm, parameters, another rule, and changes of the columns to answers by it."""


@pytest.mark.mpi_skip
@pytest.mark.parametrize("gpu", [False, pytest.param(True, marks=needs_compiler)], ids=["cpu", "emulated"])
@pytest.mark.parametrize(("name", "parameters", "rule", "changes"), WRONG)
def test_wrong_answers_are_rejected_by_every_prover(name, parameters, rule, changes, gpu):
    graph, work = small(), ALGORITHMS[name](**parameters)
    result = dgraph.run(name, graph, **parameters)
    on_gpu = gpu and CERTIFICATES[name] in PROVED
    evidence = backend().evidence(graph, None, name) if on_gpu else graph.block
    columns = {column: values.copy() for column, values in result.columns.items()}

    def judged():
        end = {"rounds": result.rounds, "converged": result.converged}
        return validate(name, evidence, columns, graph.comm, parameters=work.settings(), **end).passed

    assert judged() is True
    for column, values in changes.items():
        for vertex, value in values.items():
            columns[column][vertex] = value
    assert judged() is False, rule
