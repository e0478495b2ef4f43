"""Measures over the distances from every node, or from those asked for: one run of the engine for each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import answers, not_given
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import NodeDistances, all_distances, from_each
from dgraph.networkx_backend.generic_paths import shortest_path_length
from dgraph.networkx_backend.nodes_given import NotANode, are_nodes, bunch, positions


def _on_nodes(*names: str):
    """Return the check of :func:`not_given`, which also declines the null graph: NetworkX's versions differ for it."""
    check = not_given(*names)
    return lambda args: check(args) or (None if len(args["G"]) else "the graph has no nodes")


@answers(declines=_on_nodes("sp"))
def eccentricity(G: ConvertedGraph, v=None, sp=None, weight=None):
    """Return node → largest distance from it, or that of one node."""
    one = v in G
    chosen = G.nodes if v is None else [v] if one else bunch(G, v)
    eccentricities = dict(zip(chosen, _farthest(G, [G.index[node] for node in chosen], weight), strict=True))
    return eccentricities[v] if one else eccentricities


@answers(declines=_on_nodes("e"))
def diameter(G: ConvertedGraph, e=None, usebounds=False, weight=None):
    """Return the largest eccentricity."""
    return max(_farthest(G, range(len(G)), weight))


@answers(declines=_on_nodes("e"))
def radius(G: ConvertedGraph, e=None, usebounds=False, weight=None):
    """Return the smallest eccentricity."""
    return min(_farthest(G, range(len(G)), weight))


@answers(declines=_on_nodes("e"))
def periphery(G: ConvertedGraph, e=None, usebounds=False, weight=None) -> list:
    """Return the nodes of largest eccentricity."""
    return _where(G, list(_farthest(G, range(len(G)), weight)), max)


@answers(declines=_on_nodes("e"))
def center(G: ConvertedGraph, e=None, usebounds=False, weight=None) -> list:
    """Return the nodes of smallest eccentricity."""
    return _where(G, list(_farthest(G, range(len(G)), weight)), min)


@answers(declines=_on_nodes("sp", "attr"))
def barycenter(G: ConvertedGraph, weight=None, attr=None, sp=None) -> list:
    """Return the nodes with the smallest sum of distances."""
    sums = []
    for lengths in _everywhere(G, weight):
        if lengths.reached.size < len(G):
            raise nx.NetworkXNoPath(
                f"Input graph {G} is disconnected, so every induced subgraph has infinite barycentricity."
            )
        sums.append(lengths.total())
    return _where(G, sums, min)


def _of_trees(args) -> str | None:
    return None if hasattr(nx, "centroid") else "NetworkX before 3.7 means the centroid of a tree"


@answers(declines=lambda args: _of_trees(args) or _on_nodes("sp", "attr")(args))
def centroid(G: ConvertedGraph, weight=None, attr=None, sp=None) -> list:
    """Return the nodes with the smallest sum of distances: NetworkX's name of :func:`barycenter` since 3.7."""
    return barycenter(G, weight)


@answers(declines=not_given("sp"))
def harmonic_diameter(G: ConvertedGraph, sp=None, *, weight=None) -> float:
    """Return the number of ordered pairs over the sum of inverse distances."""
    total = sum(_inverses(lengths) for lengths in _everywhere(G, weight))
    if total:
        return len(G) * (len(G) - 1) / total
    return math.inf if len(G) > 1 else math.nan


@answers
def wiener_index(G: ConvertedGraph, weight=None) -> float:
    """Return the sum of the distances of all pairs."""
    total = _sum(G, weight, NodeDistances.total)
    return total if G.is_directed() or total == math.inf else total / 2


@answers
def hyper_wiener_index(G: ConvertedGraph, weight=None) -> float:
    """Return the sum of distances and their squares over all pairs."""

    def term(lengths: NodeDistances):
        values = lengths.values[lengths.reached]
        return (values + values * values).sum().item()

    return _sum(G, weight, term) / 2


@answers
def schultz_index(G: ConvertedGraph, weight=None) -> float:
    """Return the sum over all pairs of their distance times the sum of their degrees."""
    return _sum_by_degree(G, weight, lambda distance, here, there: (distance * (here + there)).sum().item())


@answers
def gutman_index(G: ConvertedGraph, weight=None) -> float:
    """Return the sum over all pairs of their distance times the product of their degrees."""
    return _sum_by_degree(G, weight, lambda distance, here, there: (distance * here * there).sum().item())


@answers
def floyd_warshall(G: ConvertedGraph, weight="weight") -> dict:
    """Return node → node → distance, infinite where no path leads."""
    if G.signed(weight):
        rows: Iterable = (row.tolist() for row in all_distances(G, weight))
    else:
        rows = map(_with_infinity, _everywhere(G, weight))
    return {node: dict(zip(G.nodes, row, strict=True)) for node, row in zip(G.nodes, rows, strict=True)}


@answers(declines=_on_nodes())
def floyd_warshall_numpy(G: ConvertedGraph, nodelist=None, weight="weight") -> np.ndarray:
    """Return the distances of all pairs as a matrix in the order of ``nodelist``, infinite where no path leads."""
    if nodelist is None:
        return all_distances(G, weight)
    order = positions(G, nodelist)
    if not len(order) == len(G) == len(set(order)):
        raise NotANode
    return all_distances(G, weight)[np.ix_(order, order)]


def _sources_given(args) -> str | None:
    nodes, graph = args.get("sources"), args["G"]
    return not_given("sources")(args) if nodes in graph or are_nodes(graph, nodes) else None


@answers(declines=_sources_given)
def harmonic_centrality(G: ConvertedGraph, nbunch=None, distance=None, sources=None) -> dict:
    """Return node → sum of inverse distances to it."""
    if sources is not None:
        raise NotANode
    chosen = G.nodes if nbunch is None else list(dict.fromkeys([nbunch] if nbunch in G else bunch(G, nbunch)))
    columns = from_each(G, [G.index[node] for node in chosen], distance, backwards=True)
    return {node: _inverses(lengths) for node, lengths in zip(chosen, columns, strict=True)}


@answers
def efficiency(G: ConvertedGraph, u, v) -> float:
    """Return the inverse of the hops between two nodes, 0 without a path."""
    try:
        return 1 / shortest_path_length(G, u, v)
    except nx.NetworkXNoPath:
        return 0


@answers
def global_efficiency(G: ConvertedGraph) -> float:
    """Return the mean efficiency of all pairs."""
    pairs = len(G) * (len(G) - 1)
    return sum(_inverses(lengths) for lengths in _everywhere(G, None)) / pairs if pairs else 0


def _everywhere(G: ConvertedGraph, weight) -> Iterator[NodeDistances]:
    return from_each(G, range(len(G)), weight)


def _farthest(G: ConvertedGraph, positions: Sequence[int], weight) -> Iterator:
    """Yield eccentricities.

    Raises:
        NetworkXError: some node is not reached.
    """
    for lengths in from_each(G, positions, weight):
        if lengths.reached.size < len(G):
            why = "digraph is not strongly connected" if G.is_directed() else "graph is not connected"
            raise nx.NetworkXError(f"Found infinite path length because the {why}")
        yield lengths.largest()


def _where(G: ConvertedGraph, values: list, best) -> list:
    wanted = best(values)
    return [node for node, value in zip(G.nodes, values, strict=True) if value == wanted]


def _inverses(lengths: NodeDistances) -> float:
    values = lengths.values[lengths.reached]
    return (1.0 / values[values != 0]).sum().item()


def _with_infinity(lengths: NodeDistances) -> list:
    if lengths.reached.size == len(lengths.values):
        return lengths.values.tolist()
    return [value if value >= 0 else math.inf for value in lengths.values.tolist()]


def _sum_by_degree(G: ConvertedGraph, weight, term) -> float:
    """Return half the sum of ``term`` of distances, a node's degree and the degrees of the others.

    Degrees count edges, as NetworkX's functions do for every ``weight``; a loop counts twice.
    """
    degrees = np.diff(G.offsets) + np.bincount(G.sources[G.sources == G.targets], minlength=len(G))
    total: float = 0
    for k, lengths in enumerate(_everywhere(G, weight)):
        if lengths.reached.size < len(G):
            return math.inf
        total += term(lengths.values, degrees[k], degrees)
    return total / 2


def _sum(G: ConvertedGraph, weight, term):
    """Return the sum of ``term`` over the distances from every node; infinity if a node is not reached."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    total = 0
    for lengths in _everywhere(G, weight):
        if lengths.reached.size < len(G):
            return math.inf
        total += term(lengths)
    return total
