"""Breadth-first search in NetworkX's order, and reachability."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph, convert_from_nx
from dgraph.networkx_backend.engine_runs import depth, hops, reached_from_each, search
from dgraph.networkx_backend.nodes_given import position, positions


def _unordered(args) -> str | None:
    if args.get("sort_neighbors") is not None:
        return "sort_neighbors= is a function"
    if args.get("reverse") and args["G"].is_directed():
        return "the order of predecessors is not converted"
    return None


def _neighbors(args) -> str | None:
    return None if args.get("neighbors") is None else "neighbors= is a function"


@answers(declines=_neighbors)
def generic_bfs_edges(G: ConvertedGraph, source, neighbors=None, depth_limit=None) -> Iterator:
    """Return an iterator over the edges of the search tree."""
    return zip(*_tree(G, source, depth_limit), strict=True)


@answers(declines=_unordered)
def bfs_edges(G: ConvertedGraph, source, reverse=False, depth_limit=None, sort_neighbors=None) -> Iterator:
    """Return an iterator over the edges of the search tree."""
    return zip(*_tree(G, source, depth_limit), strict=True)


@answers(declines=_unordered)
def bfs_tree(G: ConvertedGraph, source, reverse=False, depth_limit=None, sort_neighbors=None) -> nx.DiGraph:
    """Return the search tree."""
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, depth_limit=depth_limit))
    return tree


@answers(declines=_unordered)
def bfs_predecessors(G: ConvertedGraph, source, depth_limit=None, sort_neighbors=None) -> Iterator:
    """Return an iterator over nodes with their predecessors."""
    above, below = _tree(G, source, depth_limit)
    return zip(below, above, strict=True)


@answers(declines=_unordered)
def bfs_successors(G: ConvertedGraph, source, depth_limit=None, sort_neighbors=None) -> Iterator:
    """Return an iterator over nodes with the list of their successors."""
    tree = _search(G, source, depth_limit)
    below = tree.reached[1:]
    if not below.size:
        return iter([(source, [])])
    above = tree.parent[below]
    starts = np.flatnonzero(np.diff(above, prepend=-1))
    names, ends = G.names(below), [*starts.tolist(), below.size]
    return ((u, names[a:b]) for u, a, b in zip(G.names(above[starts]), ends, ends[1:], strict=False))


@answers
def bfs_layers(G: ConvertedGraph, sources) -> Iterator[list]:
    """Return an iterator over the lists of nodes at each distance from the sources."""
    if sources in G:
        sources = [sources]
    starts = positions(G, sources)
    first = list(dict.fromkeys(starts)) if NETWORKX < (3, 5) else [position(G, node) for node in set(sources)]
    if not first:
        return iter(())
    nearest = search(G, first)
    levels = nearest.values[nearest.reached]
    cuts = np.flatnonzero(np.diff(levels)) + 1
    return (G.names(layer) for layer in np.split(nearest.reached, cuts))


@answers
def descendants_at_distance(G: ConvertedGraph, source, distance) -> set:
    """Return the nodes at a distance from the source."""
    first = position(G, source)
    levels = hops(G, [first]).values if distance != 0 else hops(G, [first], cutoff=0).values
    return set(G.names(np.flatnonzero((levels == distance) & (levels >= 0))))


def _merged_by_key(args) -> str | None:
    """Return the reason to decline a weighted search without directions: NetworkX merges arcs by their keys."""
    graph = args["G"]
    keyless = graph.is_multigraph() and getattr(graph, "source", graph) is None
    merged = args["undirected"] and graph.is_directed() and args["distance"] is not None
    return "undirected= with distance= of a directed multigraph converted without keys" if keyless and merged else None


@answers(declines=_merged_by_key)
def ego_graph(G: ConvertedGraph, n, radius=1, center=True, undirected=False, distance=None) -> nx.Graph:
    """Return the graph of the nodes within a radius of a node, by hops or by an edge attribute."""
    whole, searched, first = G.as_networkx(), G, [position(G, n)]
    if undirected and G.is_directed():
        searched = convert_from_nx(whole.to_undirected(), edge_attrs={} if distance is None else {distance: 1})
    cutoff = depth(radius) if distance is None else radius
    near = whole.subgraph(G.names(search(searched, first, distance, cutoff=cutoff).reached)).copy()
    if not center:
        near.remove_node(n)
    return near


@answers
def descendants(G: ConvertedGraph, source) -> set:
    """Return the nodes that can be reached from the source, without it."""
    return _reachable(G, source, False)


@answers
def ancestors(G: ConvertedGraph, source) -> set:
    """Return the nodes from which the source can be reached, without it."""
    return _reachable(G, source, True)


@answers
def transitive_closure(G: ConvertedGraph, reflexive=False) -> nx.Graph:
    """Return the graph with an edge between all nodes that a path joins."""
    if reflexive not in {None, True, False}:
        raise nx.NetworkXError("Incorrect value for the parameter `reflexive`")
    closure = G.as_networkx().copy()
    rows = closure.pred if G.is_directed() else closure.adj
    for v, there in zip(G.nodes, reached_from_each(G), strict=True):
        ends = dict.fromkeys(G.names(there))
        cycle = reflexive is False and G.is_directed() and any(u in ends for u in G.as_networkx().pred[v])
        if not reflexive and not cycle:
            del ends[v]
        closure.add_edges_from((v, u) for u in ends if v not in rows[u])
    return closure


def _reachable(G: ConvertedGraph, source, backwards: bool) -> set:
    first = position(G, source)
    return set(G.names(hops(G, [first], backwards=backwards).reached[1:]))


def _search(G: ConvertedGraph, source, depth_limit):
    return search(G, [position(G, source)], cutoff=depth(depth_limit))


def _tree(G: ConvertedGraph, source, depth_limit) -> tuple[list, list]:
    """Return parents and nodes of the search tree in the order of the search, without the source."""
    tree = _search(G, source, depth_limit)
    below = tree.reached[1:]
    return G.names(tree.parent[below]), G.names(below)
