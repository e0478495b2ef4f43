"""The pipeline's source binds each name once and leaves graphs' attributes alone; a graph that it loads ends early."""

import ast
import weakref
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import dgraph
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.handle import Graph

PACKAGE = Path(dgraph.__file__).parent
GRAPHS = {"handle.py", "graph_forms.py", "graph_values.py", "stored_graph.py", "built_graph.py"}
"""Files of classes of graphs."""


def bound(function: ast.FunctionDef) -> list[str]:
    """Return the names that a function binds, once for each place: arguments, assignments, loops and ``with``."""
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    nodes = ast.walk(function)
    return names + [node.id for node in nodes if isinstance(node, ast.Name) and type(node.ctx) is ast.Store]


def rebound(text: str) -> list[str]:
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return [f"{f.name}: {name}" for f in functions for name, count in Counter(bound(f)).items() if count > 1]


def test_the_pipeline_binds_each_name_once():
    assert rebound((PACKAGE / "run.py").read_text()) == []
    assert rebound("def f(a):\n    b = a\n    a = 1\n    for b in a: pass") == ["f: a", "f: b"]


def writes(text: str, attributes: set[str]) -> list[str]:
    """Return the assignments to attributes of these names, or to an entry of one, unless the object is ``self``."""
    places = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            target = node.value if isinstance(node, ast.Subscript) else node
            if isinstance(target, ast.Attribute) and target.attr in attributes and ast.unparse(target.value) != "self":
                places.append(ast.unparse(node))
    return places


def test_only_graphs_write_their_attributes():
    shared = {
        name for owner in Graph.__mro__ for name, value in vars(owner).items() if isinstance(value, SharedAttribute)
    }
    attributes = shared | {"policy", "building", "built_on"}
    assert {"partitions", "kept_backend", "version"} <= shared
    assert writes("graph.kept_backend = 1\ngraph.partitions['x'] = 2\nself.policy = 3", attributes) == [
        "graph.kept_backend", "graph.partitions['x']",
    ]  # fmt: skip
    files = [path for path in PACKAGE.rglob("*.py") if path.name not in GRAPHS and "service" not in path.parts]
    assert [(path.name, place) for path in files for place in writes(path.read_text(), attributes)] == []


@pytest.mark.parametrize(
    ("algorithm", "validate", "forms"), [("kcore", False, 0), ("pagerank", False, 0), ("kcore", True, 1)]
)
def test_rows_of_a_graph_that_the_run_loads_end_before_the_rounds(algorithm, validate, forms, monkeypatch):
    """Validation needs the undirected form; nothing needs the rows as they were loaded."""
    pipeline, blocks, alive = import_module("dgraph.run"), [], []
    begin, solved = Graph._begin, pipeline.solved

    def begun(graph, size, fingerprint):
        begin(graph, size, fingerprint)
        blocks.append(weakref.ref(size))

    def counted(work, ctx):
        alive.append(sum(block() is not None for block in blocks))
        return solved(work, ctx)

    monkeypatch.setattr(Graph, "_begin", begun)
    monkeypatch.setattr(pipeline, "solved", counted)
    result = dgraph.run(algorithm, "rmat:6", validate=validate)
    assert result.converged
    assert len(blocks) == (1 if algorithm == "pagerank" else 2)
    assert alive == [forms]
