"""Relations that hold on any graph: between an answer and the oracle's, and between answers to related graphs.

Hypothesis draws graphs, algorithms and combinations, equal on all ranks (see ``conftest.py``).
"""

from dataclasses import dataclass, replace

import numpy as np
import oracles
import pytest
from flat_run import flat_run
from hypothesis import given, settings
from hypothesis import strategies as st
from test_battery import COMBINATIONS

import dgraph
from dgraph.comm import world
from dgraph.result.result import UNREACHED

pytestmark = pytest.mark.mpi


@dataclass(frozen=True)
class Drawn:
    """A small graph as listed, an algorithm, and options. ``ids``: original ids of the vertices."""

    n: int
    edges: tuple[tuple[int, int, int], ...]
    directed: bool
    source: int
    algorithm: str
    combination: dict
    ids: tuple[int, ...] | None = None


@st.composite
def graphs(draw):
    """Draw up to 12 vertices and edges with loops, parallel edges and zero weights."""
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    return Drawn(
        n,
        tuple(draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 3)), max_size=30))),
        draw(st.booleans()),
        draw(vertex),
        draw(st.sampled_from(sorted(WANTED))),
        draw(st.sampled_from(COMBINATIONS)),
    )


def few(test):
    return settings(max_examples=25)(test)


def answer(drawn):
    """Return the whole answer on every rank, vertices ascending."""
    comm = world()
    edges = np.array(drawn.edges, np.int64).reshape(-1, 3)[comm.rank :: comm.size]
    src, dst, weights = edges.T
    if drawn.ids is not None:
        src, dst = np.array(drawn.ids)[src], np.array(drawn.ids)[dst]
    graph = dgraph.Graph.from_edges(
        src, dst, weights, n=None if drawn.ids else drawn.n, directed=drawn.directed, sparse_ids=drawn.ids is not None
    )
    parameters = {"pagerank": {"tol": 0, "max_iter": 12}}.get(drawn.algorithm, {})
    if drawn.algorithm in ("bfs", "sssp"):
        parameters = {"source": drawn.ids[drawn.source] if drawn.ids else drawn.source}
    result = flat_run(drawn.algorithm, graph, **drawn.combination, **parameters)
    columns = {name: np.concatenate(comm.allgatherv(values)) for name, values in result.columns.items()}
    order = np.argsort(columns.pop("vertex"))
    return {name: values[order] for name, values in columns.items()}


def same(answers, wanted):
    assert answers.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(answers[name], values, rtol=1e-12 if name == "pagerank" else 0, err_msg=name)


def arcs(drawn, directed=None):
    src, dst, weights = np.array(drawn.edges, np.int64).reshape(-1, 3).T
    if not (drawn.directed if directed is None else directed):
        src, dst, weights = oracles.symmetric(src, dst, weights)
    return drawn.n, *oracles.simple(src, dst, weights)


def tree(drawn, unit):
    n, src, dst, weights = arcs(drawn)
    weights = np.ones_like(weights) if unit else weights
    distance = oracles.sssp(n, src, dst, weights, drawn.source)
    return {
        "distance": np.array([UNREACHED if d is None else d for d in distance]),
        "predecessor": oracles.predecessors(n, src, dst, weights, distance, drawn.source),
    }


WANTED = {
    "bfs": lambda drawn: tree(drawn, unit=True),
    "sssp": lambda drawn: tree(drawn, unit=False),
    "cc": lambda drawn: {"labels": oracles.components(*arcs(drawn)[:3])},
    "kcore": lambda drawn: {"core_number": oracles.core_numbers(*arcs(drawn, directed=False)[:3])},
    "pagerank": lambda drawn: {"pagerank": oracles.pagerank(*arcs(drawn)[:3], weights=arcs(drawn)[3], rounds=12)},
}


@few
@given(graphs())
def test_answers_are_the_oracles(drawn):
    same(answer(drawn), WANTED[drawn.algorithm](drawn))


@pytest.mark.exhaustive
@few
@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_show(drawn, random):
    """Check that answers do not depend on the order of edges, repeated edges, or ranks that list none."""
    edges = list(drawn.edges) + list(drawn.edges[:3])
    random.shuffle(edges)
    same(answer(replace(drawn, edges=tuple(edges))), answer(drawn))


@few
@given(graphs(), st.integers(1, 2**40), st.integers(0, 2**40))
def test_ids_show_only_as_names(drawn, factor, start):
    """Check that a renaming that keeps the order changes only labels and predecessors."""
    loops = tuple((v, v, 0) for v in range(drawn.n))
    ids = tuple(start + factor * v for v in range(drawn.n))
    renamed = answer(replace(drawn, edges=drawn.edges + loops, ids=ids))
    wanted = answer(drawn)
    for name in ("labels", "predecessor"):
        if name in wanted:
            wanted[name] = np.where(wanted[name] < 0, -1, start + factor * wanted[name])
    same(renamed, wanted)


@few
@given(graphs())
def test_what_cannot_be_reached_does_not_show(drawn):
    """Check that a separate ring of five vertices changes nothing; not for PageRank, whose teleport reaches it."""
    if drawn.algorithm == "pagerank":
        return
    ring = tuple((drawn.n + v, drawn.n + (v + 1) % 5, 1) for v in range(5))
    answers = answer(replace(drawn, n=drawn.n + 5, edges=drawn.edges + ring))
    same({name: values[: drawn.n] for name, values in answers.items()}, answer(drawn))


@pytest.mark.exhaustive
@few
@given(graphs(), st.sampled_from([3, 2**20, 2**31]))
def test_distances_scale_with_weights(drawn, factor):
    drawn = replace(drawn, algorithm="sssp")
    scaled = answer(replace(drawn, edges=tuple((u, v, w * factor) for u, v, w in drawn.edges)))
    wanted = answer(drawn)
    reached = wanted["distance"] != UNREACHED
    wanted["distance"][reached] *= factor
    same(scaled, wanted)
