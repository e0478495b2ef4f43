"""Random walks by the GPU's kernel, emulated, equal those of a CPU; and mutants of the kernel do not."""

import emulated
import numpy as np
import pytest
from emulated import needs_compiler
from flat_run import flat_run

import dgraph
from dgraph.algorithms.kernels.walks import walks_cuda

pytestmark = needs_compiler


def skewed_graph(directed=True, parallel=False):
    """Return a graph with a hub, so that a GPU renumbers its vertices, sinks, and ids in no order of degrees."""
    draw = np.random.default_rng(5)
    source, target = draw.integers(0, 300, 900), draw.integers(0, 300, 900)
    target[:250], source[:250] = np.arange(250), 277
    source = np.where(source % 7 == 3, 11, source)
    weights = draw.integers(0, 4, 900) / 3
    kept = {"keep_parallel": True, "keep_loops": True} if parallel else {}
    return dgraph.Graph.from_edges(source, target, weights, n=300, directed=directed, **kept)


ASKED = [
    {"length": 9, "walks": 2},
    {"length": 6, "sources": [277, 3, 0, 3], "walks": 5, "restart": 0.2},
    {"length": 6, "weighted": True, "edge_weights": True, "random_state": -3},
    {"length": 4, "weighted": True, "restart": 0.4},
]


def same(answer, expected):
    assert answer.summary == expected.summary
    np.testing.assert_array_equal(answer.walks.here, expected.walks.here)
    np.testing.assert_array_equal(answer.columns["visits"], expected.columns["visits"])
    if expected.walks.weights is not None:
        np.testing.assert_array_equal(answer.walks.weights, expected.walks.weights)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("some", [1 << 23, 64])
def test_walks_equal_those_of_a_cpu(asked, some, monkeypatch):
    monkeypatch.setattr(walks_cuda, "SOME", some)
    for options in ({}, {"directed": False}, {"parallel": True}):
        graph = skewed_graph(**options)
        backend = emulated.backend()
        expected = dgraph.random_walks(graph, **asked)
        same(flat_run("random_walks", graph, backend=backend, validate=True, **asked), expected)


def test_a_graph_that_is_not_renumbered():
    ring = np.arange(40)
    graph = dgraph.Graph.from_edges(3 * ring, 3 * ((ring + 1) % 40), sparse_ids=True, directed=False)
    asked = {"length": 5, "edge_weights": True, "sources": [9, 0]}
    same(flat_run("random_walks", graph, backend=emulated.backend(), **asked), dgraph.random_walks(graph, **asked))


MUTANTS = [
    ("draw(start, 2 * step + 1) < env.returns", "draw(start, 2 * step) < env.returns"),
    ("low + ((bits >> 32) * count +", "low + ((bits >> 33) * count +"),
    ("env.totals[e] > sought || env.totals[e] >= total", "env.totals[e] > sought / 2"),
    ("if (total == 0) return last;", ""),
    ("v = env.returns ? home : ENDED", "v = ENDED"),
    ("w / (u64)env.per_source, start", "w % (u64)env.per_source, start"),
    ("total = total + env.weights[e]", "total = env.weights[e]"),
    ("atomicAdd(env.crossed, crossed)", "atomicAdd(env.crossed, 1ull)"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_rejected(mutant):
    graph = skewed_graph()
    for asked in ASKED:
        backend = emulated.backend()
        backend.device.mutants = (mutant,)
        try:
            same(flat_run("random_walks", graph, backend=backend, **asked), dgraph.random_walks(graph, **asked))
        except AssertionError:
            assert backend.device.changed == {mutant}
            return
    pytest.fail("every answer was right")
