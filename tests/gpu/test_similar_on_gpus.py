"""Most similar vertices by the GPU's kernel, emulated, equal those of a CPU; and mutants of the kernel do not."""

import emulated
import numpy as np
import pytest
from emulated import needs_compiler
from flat_run import flat_run

import dgraph
from dgraph.algorithms.kernels.common import similar_cuda
from dgraph.errors import OutOfMemory

pytestmark = needs_compiler

MEASURES = ["jaccard", "overlap", "sorensen", "cosine"]


def graph_of(directed=False, n=400):
    """Return a graph with hubs, many ties, loops, parallel edges, and vertices without edges."""
    draw = np.random.default_rng(9)
    source = np.concatenate([draw.integers(0, n // 2, 300), draw.integers(0, 3, 260), [7, 7, 8]])
    target = np.concatenate([draw.integers(0, n // 2, 300), draw.integers(0, n // 2, 260), [7, 8, 7]])
    ids = draw.permutation(n)
    return dgraph.Graph.from_edges(
        ids[source], ids[target], n=n, directed=directed, keep_loops=True, keep_parallel=True
    )


def same(graph, mutant=None, **asked):
    """Compare the answers of an emulated GPU and a CPU; return the GPU's backend."""
    backend = emulated.backend()
    if mutant is not None:
        backend.device.mutants = (mutant,)
    answer = flat_run("similarity", graph, backend=backend, validate=mutant is None, **asked)
    expected = dgraph.run("similarity", graph, **asked)
    pairs, wanted = answer.edges.gather(), expected.edges.gather()
    for name in ("source", "target", "similarity"):
        np.testing.assert_array_equal(pairs[name], wanted[name], err_msg=name)
    return backend


@pytest.fixture(params=[5, similar_cuda.SHIFT], ids=["windows of 32", "windows of 8192"])
def shift(request, monkeypatch):
    monkeypatch.setattr(similar_cuda, "SHIFT", request.param)


@pytest.mark.parametrize("measure", MEASURES)
def test_lists_equal_those_of_a_cpu(measure, shift):
    same(graph_of(), measure=measure, k=5)


@pytest.mark.parametrize("k", [1, 33, 1000])
def test_lists_of_any_length(k, shift):
    same(graph_of(), k=k)


def test_directions_and_graphs_without_pairs(shift):
    same(graph_of(directed=True), k=4)
    for source, target in (([0, 2], [1, 3]), ([0], [0])):
        graph = dgraph.Graph.from_edges(np.array(source), np.array(target), n=5, directed=False)
        same(graph, k=4)


def test_measures_and_pairs_of_the_host():
    same(graph_of(), measure="adamic_adar", k=3)
    same(graph_of(), first=[0, 3], second=[4, 4])


def test_lists_that_do_not_fit_are_refused():
    backend = emulated.backend()
    backend.device.memory = 1 << 12
    with pytest.raises(OutOfMemory, match="lists of 10 similar vertices may need"):
        flat_run("similarity", graph_of(n=40), backend=backend)


MUTANTS = [
    ("if (step > 0 ? need > degree :", "if (step > 0 ? need >= degree :"),
    ("scaled(wide, degree, wide) < least) break", "scaled(wide, degree, wide) <= least) break"),
    ("step >= -1; step -= 2", "step >= 0; step -= 2"),
    ("lane_past(through, entry)", "lane_past(through, entry + 1)"),
    ("slot = 0; slot < room.segments", "slot = 1; slot < room.segments"),
    ("windows.lacks << windows.bits : 0", "windows.lacks : 0"),
    ("env.order[begin] > room.last", "true"),
    ("scaled(need, degree, width) < least) need++", "scaled(need, degree, width) <= least) need++"),
    ("values[place - 1] == value && best[place - 1] > w", "false"),
    ("value == room.least && vertex < room.last", "false"),
    ("if (w == v) continue;", ""),
    ("room.counts[i] = 0, i += BLOCK", "i += BLOCK"),
    ("(i64)env.windows[segment] >= window", "(i64)env.windows[segment] > window"),
    ("room.filled = filled, room.size = 0", "room.filled = filled"),
    ("2 * total / (double)(one + two)", "total / (double)(one + two)"),
    ("(double)smaller(one, two)", "(double)larger(one, two)"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_are_rejected(mutant, monkeypatch):
    monkeypatch.setattr(similar_cuda, "SHIFT", 5)
    graph = graph_of()
    for measure in MEASURES:
        for k in (2, 33):
            try:
                backend = same(graph, mutant, measure=measure, k=k)
            except (AssertionError, IndexError):
                return
            assert backend.device.changed == {mutant}
    pytest.fail("every answer was right")
