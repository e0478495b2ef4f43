"""Similarity of pairs of nodes, by which links are predicted."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve
from dgraph.networkx_backend.nodes_given import NotANode, positions


@answers
def jaccard_coefficient(G: ConvertedGraph, ebunch=None) -> Iterator:
    """Return an iterator over pairs and the share of common neighbours among all their neighbours."""
    return _predictions(G, ebunch, "jaccard")


@answers
def adamic_adar_index(G: ConvertedGraph, ebunch=None) -> Iterator:
    """Return an iterator over pairs and the sum of 1 / log of the degrees of their common neighbours."""
    return _predictions(G, ebunch, "adamic_adar")


@answers
def resource_allocation_index(G: ConvertedGraph, ebunch=None) -> Iterator:
    """Return an iterator over pairs and the sum of 1 / degree of their common neighbours."""
    return _predictions(G, ebunch, "resource_allocation")


@answers
def preferential_attachment(G: ConvertedGraph, ebunch=None) -> Iterator:
    """Return an iterator over pairs and the products of their degrees."""
    return _predictions(G, ebunch, "preferential_attachment")


def _predictions(G: ConvertedGraph, ebunch, measure: str) -> Iterator:
    """Return an iterator over (node, node, value) of the given pairs, or of all pairs without an edge."""
    if G.loops:
        raise NotImplementedError("loops, which count in degrees and neighbours here, do not count in similarities")
    if not len(G):
        raise NotANode
    try:
        pairs = [(u, v) for u, v in (nx.non_edges(G.as_networkx()) if ebunch is None else ebunch)]
    except (TypeError, ValueError):
        raise NotANode from None
    first, second = (positions(G, [pair[side] for pair in pairs]) for side in (0, 1))
    if measure == "adamic_adar" and any(u == v for u, v in zip(first, second, strict=True)):
        raise NotImplementedError(
            "a node may have a neighbour of degree 1 in common with itself: 1 / log 1 is infinite"
        )
    edges = solve("similarity", G.engine(), measure=measure, first=first, second=second).edges
    if edges is None:
        raise NotImplementedError("a service returns values of vertices, not of pairs")
    values = edges.values.astype(int) if measure == "preferential_attachment" else edges.values
    return ((u, v, value) for (u, v), value in zip(pairs, values.tolist(), strict=True))
