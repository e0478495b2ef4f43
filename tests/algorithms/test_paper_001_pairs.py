"""Methods of all pairs take the steps of models of the printed algorithms, and no method takes those of another."""

from functools import cache

import numpy as np
import pytest
from paper_models import paper_001_pairs as paper

import dgraph
from dgraph.algorithms.apsp_parts import elimination
from dgraph.algorithms.apsp_parts.elimination import Elimination

BLOCK = 5
GRAPHS = ("path:17", "star:12", "grid:4x5", "uniform:4,edge_factor=3", "rmat:4,symmetric", "smallworld:16,k=4")
METHODS = ("floyd-warshall", "blocked", "recursive", "squaring", "separators")


def ran(spec, method):
    """Return the steps, the parts and the distances of a run."""
    steps, parts = [], []
    update, run = Elimination._update, Elimination.run

    def counted(self, rows, columns, pivots, close=False):
        sizes = (
            len(range(self.rows.n)[part]) if isinstance(part, slice) else len(part) for part in (rows, columns, pivots)
        )
        steps.append(tuple(sizes))
        update(self, rows, columns, pivots, close)

    def recorded_run(self, variant, block, of=None, inner=False, half=False):
        parts.append(of)
        run(self, variant, block, of, inner, half)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Elimination, "_update", counted)
        patch.setattr(Elimination, "run", recorded_run)
        graph = dgraph.Graph.load(spec, weights="1..9", device="cpu")
        matrix = dgraph.apsp(
            graph, variant=method, block=BLOCK, **({"parts": 3} if method == "separators" else {})
        ).matrix
    return steps, parts[0], np.asarray(matrix).tolist(), graph


def predicted(method, graph, parts):
    """Return steps and distances of the model."""
    block, n = graph.block, graph.n
    d = [[0.0 if i == j else float("inf") for j in range(n)] for i in range(n)]
    for i, j, weight in zip(block.sources().tolist(), block.targets.tolist(), block.weights.tolist(), strict=True):
        d[i][j] = min(d[i][j], weight)
    every = list(range(n))
    models = {
        "floyd-warshall": lambda: paper.eliminated(d, every, every, 1),
        "blocked": lambda: paper.eliminated(d, every, every, BLOCK),
        "recursive": lambda: paper.recursive(d, every, BLOCK),
        "squaring": lambda: paper.squaring(d, every, BLOCK),
        "separators": lambda: paper.separators(d, parts.tolist(), BLOCK),
    }
    return models[method](), d


@cache
def steps_of(spec, method):
    steps, parts, distances, graph = ran(spec, method)
    return tuple(steps), predicted(method, graph, parts), distances


@pytest.mark.mpi_skip
@pytest.mark.parametrize("method", METHODS)
def test_steps_are_those_of_the_paper(method):
    for spec in GRAPHS:
        steps, (wanted, distances), answer = steps_of(spec, method)
        assert (list(steps), answer) == (wanted, distances), spec


@pytest.mark.mpi_skip
def test_no_method_is_another_by_name():
    for one in METHODS:
        for other in METHODS:
            assert one == other or any(steps_of(spec, one)[0] != steps_of(spec, other)[0] for spec in GRAPHS)


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("method", "broken"),
    [
        ("blocked", lambda of, block: [of]),
        ("recursive", lambda of, block: [of]),
        ("separators", lambda of, block: [of]),
        ("squaring", lambda of, block: [slice(of.start, of.stop - 1), slice(of.stop - 1, of.stop)]),
        ("floyd-warshall", lambda of, block: [slice(k, k + 1) for k in range(of.stop - 1)]),
    ],
)
def test_other_blocks_are_found(method, broken, monkeypatch):
    monkeypatch.setattr(elimination, "_blocks", broken)
    differing = []
    for spec in GRAPHS:
        steps, parts, answer, graph = ran(spec, method)
        differing.append((steps, answer) != predicted(method, graph, parts))
    assert any(differing)
