"""Functions that degrees answer: centralities, isolates, reciprocity, degrees of neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import numpy as np

from dgraph.graph.rows import transpose
from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve
from dgraph.networkx_backend.nodes_given import NotANode, bunch, position
from dgraph.networkx_backend.visit_order import answered


def _directed(args) -> str | None:
    if not args["G"].is_directed():
        raise nx.NetworkXNotImplemented("not implemented for undirected type")
    return None


def _directed_and_simple(args) -> str | None:
    if args["G"].is_multigraph() or not args["G"].is_directed():
        return "NetworkX counts each of parallel edges and each undirected edge once; the engine counts arcs"
    return None


@answers
def degree_centrality(G: ConvertedGraph) -> dict:
    """Return node → number of its edges, by the number of the other nodes."""
    return _shares(G, "degree")


@answers(declines=_directed)
def in_degree_centrality(G: ConvertedGraph) -> dict:
    """Return node → number of the edges that enter it, by the number of the other nodes."""
    return _shares(G, "in_degree")


@answers(declines=_directed)
def out_degree_centrality(G: ConvertedGraph) -> dict:
    """Return node → number of the edges that leave it, by the number of the other nodes."""
    return _shares(G, "out_degree")


@answers
def is_isolate(G: ConvertedGraph, n) -> bool:
    """Return True if a node has no edge."""
    return bool(degrees(G, "degree")[position(G, n)] == 0)


@answers
def isolates(G: ConvertedGraph) -> Iterator:
    """Return an iterator over the nodes without an edge."""
    return iter(G.names(np.flatnonzero(degrees(G, "degree") == 0)))


@answers
def number_of_isolates(G: ConvertedGraph) -> int:
    """Return the number of nodes without an edge."""
    return int(np.count_nonzero(degrees(G, "degree") == 0))


@answers(declines=_directed_and_simple)
def reciprocity(G: ConvertedGraph, nodes=None):
    """Return node → share of its edges that lead both ways, that of one node, or that of the whole graph."""
    if nodes is None:
        return overall_reciprocity(G)
    lone = nodes in G
    number, both = degrees(G, "degree"), np.bincount(G.sources[_both_ways(G)], minlength=len(G))
    rows = [position(G, nodes)] if lone else [G.index[node] for node in bunch(G, nodes)]
    shares = [2 * int(both[k]) / int(number[k]) if number[k] else None for k in rows]
    if not lone:
        return dict(zip(G.names(np.array(rows, np.int64)), shares, strict=True))
    if shares[0] is None:
        raise nx.NetworkXError("Not defined for isolated nodes.")
    return shares[0]


@answers(declines=_directed_and_simple)
def overall_reciprocity(G: ConvertedGraph) -> float:
    """Return the share of all edges, loops too, that lead both ways between two nodes; one pass over the arcs."""
    if not G.targets.size:
        raise nx.NetworkXError("Not defined for empty graphs")
    return int(np.count_nonzero(_both_ways(G) & (G.sources != G.targets))) / G.targets.size


def _multigraph(args) -> str | None:
    if args["G"].is_multigraph():
        return "NetworkX takes parallel edges once among neighbours and each among degrees; the engine takes each"
    return None


@answers(declines=_multigraph)
def average_neighbor_degree(G: ConvertedGraph, source="out", target="out", nodes=None, weight=None) -> dict:
    """Return node → average degree of its neighbours, by the weights of the edges to them."""
    sides, allowed = {"neighbors": source, "degree": target}, ("in", "out", "in+out") if G.is_directed() else ("out",)
    if any(side not in allowed for side in sides.values()):
        raise NotANode
    if not len(G):
        return {}
    averages = solve("neighbor_degree", G.engine(weight), **sides).columns["neighbor_degree"].tolist()
    chosen = G.nodes if nodes is None else [nodes] if nodes in G else bunch(G, nodes)
    return {node: averages[G.index[node]] for node in chosen}


def degrees(G: ConvertedGraph, column: str) -> np.ndarray:
    """Return a column of degrees by position; parallel edges count each."""
    return solve("degrees", G.engine(parallel=True)).columns[column] if len(G) else np.zeros(0, np.int64)


def _shares(G: ConvertedGraph, column: str) -> dict:
    number, others = degrees(G, column), len(G) - 1.0
    return dict(zip(G.nodes, (number * (1.0 / others)).tolist(), strict=True)) if others > 0 else dict.fromkeys(G, 1)


def _both_ways(G: ConvertedGraph) -> np.ndarray:
    """Return a mask of the arcs whose reverse is an arc, too; a loop is its own reverse."""
    return answered(len(G), *transpose(len(G), G.offsets, G.targets, None)[:2], G.offsets, G.targets)
