"""Bellman-Ford's lengths over negative weights are NetworkX's, and so are its errors; other functions decline them."""

import networkx as nx
import numpy as np
import pytest

pytestmark = [pytest.mark.mpi_skip, pytest.mark.interpreted]
CALLS = (
    ("single_source_bellman_ford_path_length", {"source": "a"}),
    ("bellman_ford_path_length", {"source": "a", "target": "d"}),
    ("bellman_ford_path_length", {"source": "b", "target": "b"}),
    ("all_pairs_bellman_ford_path_length", {}),
)


def graph_of(kind, rng, loops):
    graph = kind()
    graph.add_nodes_from("abcdefgh")
    for u, v, w in zip(*rng.integers(0, 8, (2, 14)), rng.integers(-4, 9, 14), strict=True):
        if u != v or loops:
            graph.add_edge("abcdefgh"[u], "abcdefgh"[v], weight=int(w) / 2 if loops else int(w))
    return graph


def outcome(name, graph, arguments, backend):
    """Return what a call returns, or the class and text of its error."""
    try:
        answer = getattr(nx, name)(graph, **arguments, backend=backend)
        return answer if isinstance(answer, (int, float)) else dict(answer)
    except nx.NetworkXException as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.Graph, nx.MultiDiGraph])
@pytest.mark.parametrize("loops", [False, True])
def test_lengths(kind, loops):
    rng, unbounded = np.random.default_rng(3), 0
    for _ in range(12):
        graph = graph_of(kind, rng, loops)
        for name, arguments in CALLS:
            answer = outcome(name, graph.copy(), arguments, "dgraph")
            wanted = outcome(name, graph, arguments, "networkx")
            assert answer == wanted, (name, list(graph.edges.data("weight")))
            unbounded += isinstance(wanted, tuple) and wanted[0] is nx.NetworkXUnbounded
    assert unbounded


def test_paths_are_declined():
    graph = nx.DiGraph([("a", "b", {"weight": -1})])
    with pytest.raises(NotImplementedError):
        nx.bellman_ford_path(graph, "a", "b", backend="dgraph")
