"""Spanning trees and forests. The engine's weights are places in Kruskal's order, so that its forest is Kruskal's.

Equal weights have different places, the earlier edge the smaller one; a partition and the largest weights first change
nothing but the order.
"""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np
from networkx.algorithms.tree.mst import ALGORITHMS, EdgePartition

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph, engine_graph
from dgraph.networkx_backend.engine_runs import solve


def _undirected(args) -> str | None:
    if args["G"].is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    if args["G"].is_multigraph() and args.get("algorithm") in ("boruvka", "borůvka"):
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")
    return None


def _without_keys(args) -> str | None:
    """Decline keys that were not converted; NetworkX keeps them where it keeps attributes."""
    converted = args["G"].is_multigraph() and isinstance(args["G"], ConvertedGraph) and args["G"].source is None
    if converted and args.get("keys", True):
        return "keys of parallel edges are converted together with attributes only; give keys=False, or data=True"
    return _undirected(args)


@answers(declines=_without_keys)
def minimum_spanning_edges(
    G: ConvertedGraph, algorithm="kruskal", weight="weight", keys=True, data=True, ignore_nan=False
) -> Iterator[tuple]:
    """Return an iterator over the edges of a minimum spanning forest, in Kruskal's order."""
    return _spanning(G, False, algorithm, weight, keys, data, ignore_nan)


@answers(declines=_without_keys)
def maximum_spanning_edges(
    G: ConvertedGraph, algorithm="kruskal", weight="weight", keys=True, data=True, ignore_nan=False
) -> Iterator[tuple]:
    """Return an iterator over the edges of a maximum spanning forest, in Kruskal's order."""
    return _spanning(G, True, algorithm, weight, keys, data, ignore_nan)


@answers(declines=_undirected)
def minimum_spanning_tree(G: ConvertedGraph, weight="weight", algorithm="kruskal", ignore_nan=False) -> nx.Graph:
    """Return a minimum spanning forest as a graph with all nodes and attributes."""
    return _tree(G, _spanning(G, False, algorithm, weight, True, True, ignore_nan))


@answers(declines=_undirected)
def maximum_spanning_tree(G: ConvertedGraph, weight="weight", algorithm="kruskal", ignore_nan=False) -> nx.Graph:
    """Return a maximum spanning forest as a graph with all nodes and attributes."""
    return _tree(G, _spanning(G, True, algorithm, weight, True, True, ignore_nan))


def _directed(args) -> str | None:
    return "NetworkX takes arcs as edges, in its own order" if args["G"].is_directed() else None


@answers(declines=_directed)
def partition_spanning_tree(
    G: ConvertedGraph, minimum=True, weight="weight", partition="partition", ignore_nan=False
) -> nx.Graph:
    """Return a spanning forest with the included edges of a partition, and without its excluded edges."""
    groups = [edge[-1] for edge in G.as_networkx().edges(data=partition)]
    chosen = [{EdgePartition.INCLUDED: 0, EdgePartition.EXCLUDED: -1}.get(group, 1) for group in groups]
    return _tree(G, _spanning(G, not minimum, "kruskal", weight, True, True, ignore_nan, np.array(chosen, np.int8)))


def _spanning(
    G: ConvertedGraph, largest: bool, algorithm, weight, keys, data, ignore_nan, groups: np.ndarray | None = None
) -> Iterator[tuple]:
    """Return an iterator over edges of the forest as NetworkX names them.

    Args:
        G: an undirected graph.
        largest: take the largest weights.
        algorithm: one of NetworkX's three, which give the same weight.
        weight: edge attribute.
        keys: name the keys of a multigraph.
        data: name the attributes.
        ignore_nan: leave out edges whose weight is NaN.
        groups: int8 (edges,): 0 for edges to take first, 1 for others, -1 for those to leave out; None: all are equal.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"{algorithm} is not a valid choice for an algorithm.")
    once = np.flatnonzero(G.sources <= G.targets)  # in the order of NetworkX's edges
    weights = G.weights(weight)
    values = np.ones(once.size, np.int64) if weights is None else weights[once]
    edges = _named(G, keys and G.is_multigraph(), data)
    undefined = np.isnan(values)
    if undefined.any() and not ignore_nan:
        return _refused(_named(G, G.is_multigraph(), True)[int(np.argmax(undefined))])
    parted = np.ones(once.size, np.int8) if groups is None else groups
    low, high = G.sources[once], G.targets[once].astype(np.int64)
    kept = np.flatnonzero(~undefined & (parted >= 0) & (low != high))
    rising = ~values if largest and values.dtype.kind == "i" else -values if largest else values
    order = kept[np.lexsort([np.where(parted == 0, 0, rising)[kept], parted[kept]])]
    return map(edges.__getitem__, order[_forest(len(G), low[order], high[order])].tolist())


def _forest(nodes: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the edges of the forest that takes the earliest edges, ascending; edges are given by their ends."""
    if not nodes:
        return np.empty(0, np.int64)
    ends, others = np.concatenate([low, high]), np.concatenate([high, low])
    rows = np.argsort(ends, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))]).astype(np.int64)
    places = np.tile(np.arange(len(low)), 2)[rows]
    graph = engine_graph(offsets, others[rows].astype(np.uint32), places, directed=False, parallel=False)
    columns = solve("mst", graph).columns
    return np.sort(columns["weight"][columns["source"] >= 0])


def _named(G: ConvertedGraph, keys: bool, data: bool) -> list[tuple]:
    """Return the edges as NetworkX lists them."""
    return list(G.as_networkx().edges(**({"keys": True} if keys else {}), data=data))


def _refused(edge: tuple) -> Iterator[tuple]:
    """Raise NetworkX's error at the first edge that is asked for."""
    raise ValueError(f"NaN found as an edge weight. Edge {edge}")
    yield


def _tree(G: ConvertedGraph, edges: Iterator[tuple]) -> nx.Graph:
    """Return the graph with these edges, and the nodes and attributes of ``G``."""
    original = G.as_networkx()
    tree = original.__class__()
    tree.graph.update(original.graph)
    tree.add_nodes_from(original.nodes.items())
    tree.add_edges_from(edges)
    return tree
