"""Shortest paths by hops or weights: ``nx.shortest_path`` and its relatives."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import distances, search
from dgraph.networkx_backend.nodes_given import position
from dgraph.networkx_backend.path_lists import all_paths, enumerate_paths, lengths, paths_by_target
from dgraph.networkx_backend.unweighted_paths import (
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    bidirectional_shortest_path,
    predecessor,
)
from dgraph.networkx_backend.weighted_paths import (
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    bellman_ford_path,
    bellman_ford_path_length,
    bidirectional_dijkstra,
    dijkstra_path_length,
    dijkstra_predecessor_and_distance,
)


def _no_pred_of_bellman_ford(args) -> str | None:
    if args.get("weight") is not None and args.get("method") == "bellman-ford":
        return "Bellman-Ford's lists of predecessors depend on its order of relaxations"
    return None


@answers
def has_path(G: ConvertedGraph, source, target) -> bool:
    """Return True if a path leads from source to target."""
    try:
        bidirectional_shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


@answers
def shortest_path(G: ConvertedGraph, source=None, target=None, weight=None, method="dijkstra"):
    """Return one path, node → path, or an iterator of those, as source and target are given."""
    _check(method)
    if source is None and target is None:
        paths = all_pairs_shortest_path(G) if weight is None else all_pairs_dijkstra_path(G, weight=weight)
        return dict(paths) if NETWORKX < (3, 5) else paths
    if source is None:
        return all_paths(G, search(G, [position(G, target)], weight, backwards=True), backwards=True)
    if target is None:
        return all_paths(G, search(G, [position(G, source)], weight))
    if weight is None:
        return bidirectional_shortest_path(G, source, target)
    if method == "dijkstra":
        return bidirectional_dijkstra(G, source, target, weight)[1]
    return bellman_ford_path(G, source, target, weight)


@answers
def shortest_path_length(G: ConvertedGraph, source=None, target=None, weight=None, method="dijkstra"):
    """Return one length, node → length, or an iterator of those, as source and target are given."""
    _check(method)
    if source is None and target is None:
        if weight is None:
            return all_pairs_shortest_path_length(G)
        return all_pairs_dijkstra_path_length(G, weight=weight)
    if source is None:
        return lengths(G, search(G, [position(G, target)], weight, backwards=True))
    if target is None:
        return lengths(G, search(G, [position(G, source)], weight))
    if weight is None:
        return len(bidirectional_shortest_path(G, source, target)) - 1
    return (dijkstra_path_length if method == "dijkstra" else bellman_ford_path_length)(G, source, target, weight)


@answers(declines=lambda args: "Floyd-Warshall" if str(args.get("method")).startswith("floyd") else None)
def average_shortest_path_length(G: ConvertedGraph, weight=None, method=None) -> float:
    """Return the mean distance of all pairs."""
    if method not in (None, "unweighted", "dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths, thus there is no average shortest path length")
    if n == 1:
        return 0
    if method == "unweighted":
        weight = None
    elif method is not None and weight is None:
        raise NotImplementedError("NetworkX reads an edge attribute named None here")
    total = 0
    for k in range(n):
        lengths = distances(G, [k], weight)
        if lengths.reached.size < n:
            raise nx.NetworkXError("Graph is not strongly connected." if G.is_directed() else "Graph is not connected.")
        total += lengths.total()
    return total / (n * (n - 1))


@answers(declines=_no_pred_of_bellman_ford)
def all_shortest_paths(G: ConvertedGraph, source, target, weight=None, method="dijkstra") -> Iterator[list]:
    """Return an iterator over all shortest paths from source to target."""
    position(G, target)
    return enumerate_paths(_predecessors(G, source, weight, method), source, target)


@answers(declines=_no_pred_of_bellman_ford)
def single_source_all_shortest_paths(G: ConvertedGraph, source, weight=None, method="dijkstra") -> Iterator:
    """Return an iterator over nodes with all their shortest paths from the source."""
    return paths_by_target(_predecessors(G, source, weight, method), source)


@answers(declines=_no_pred_of_bellman_ford)
def all_pairs_all_shortest_paths(G: ConvertedGraph, weight=None, method="dijkstra") -> Iterator:
    """Return an iterator over nodes with node → all its shortest paths."""
    if weight is not None and method != "unweighted":
        G.lengths(weight)
    return ((node, dict(paths_by_target(_predecessors(G, node, weight, method), node))) for node in G.nodes)


def _check(method: str) -> None:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")


def _predecessors(G: ConvertedGraph, source, weight, method: str) -> dict:
    if weight is None or method == "unweighted":
        return predecessor(G, source)
    if method != "dijkstra":
        raise ValueError(f"method not supported: {method}")
    return dijkstra_predecessor_and_distance(G, source, weight=weight)[0]
