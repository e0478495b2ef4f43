"""Betweenness of paths from some vertices to some, on any number of ranks, against NetworkX."""

import networkx as nx
import numpy as np
import pytest
from battery import CASES
from test_battery import combinations, graph_of, solve

import dgraph
from dgraph.errors import UsageError

pytestmark = pytest.mark.mpi


def oracle(name, weighted, sources, targets, normalized):
    """Return NetworkX's values by position of the case's vertices."""
    n, src, dst, weights = CASES[name].arcs("float64")
    graph = nx.DiGraph() if CASES[name].directed else nx.Graph()
    graph.add_nodes_from(range(n))
    kept = src != dst
    graph.add_weighted_edges_from(zip(src[kept].tolist(), dst[kept].tolist(), weights[kept].tolist(), strict=True))
    sources, targets = (CASES[name].number(np.array(ids)).tolist() for ids in (sources, targets))
    values = nx.betweenness_centrality_subset(
        graph, sources, targets, normalized=normalized, weight="weight" if weighted else None
    )
    return np.array([values[v] for v in range(n)])


@pytest.mark.parametrize("name", ["skewed", "shifted_ids", "triangle", "one_arc", "no_edges"])
def test_subsets_equal_networkx(name):
    vertices = CASES[name].vertices
    some = vertices[::-2][:5].tolist()
    others = vertices[: len(vertices) // 2 + 1].tolist()
    for turn, chosen in enumerate(combinations(name)[:4]):
        weighted, normalized = bool(turn % 2), bool(turn // 2 % 2)
        asked = {"sources": some, "targets": others, "weighted": weighted, "normalized": normalized}
        result, here = solve("bc", name, "float64", chosen, validate=True, **asked)
        wanted = oracle(name, weighted, some, others, normalized)
        np.testing.assert_allclose(result.columns["bc"], wanted[here], rtol=1e-9, atol=1e-12)


def test_all_targets_give_the_whole():
    graph, every = graph_of("skewed", None), CASES["skewed"].vertices.tolist()
    whole, subset = dgraph.bc(graph), dgraph.bc(graph, targets=every)
    np.testing.assert_allclose(subset.columns["bc"], whole.columns["bc"], rtol=1e-12)


@pytest.mark.parametrize(("asked", "message"), [
    ({"targets": []}, "targets is empty"),
    ({"targets": [0], "k": 3}, "k has no meaning there"),
    ({"targets": [0], "endpoints": True}, "endpoints has no meaning there"),
    ({"targets": [0, 99]}, "targets: 99 is not a vertex"),
])  # fmt: skip
def test_refusals(asked, message):
    with pytest.raises(UsageError, match=message):
        dgraph.bc(dgraph.Graph.load("rmat:4"), **asked)
