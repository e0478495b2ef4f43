"""Triangles, clustering coefficients, and maximal independent sets."""

from __future__ import annotations

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve
from dgraph.networkx_backend.nodes_given import NotANode, are_nodes, bunch, position
from dgraph.networkx_backend.scipy_calls import matrix

WEDGES = 1 << 24
"""Paths of two edges from the nodes whose common neighbours are counted at once."""


def _closed_given(args) -> str | None:
    if args["G"].is_directed() or args["G"].is_multigraph():
        return "the engine counts triangles of undirected graphs without parallel edges"
    return None


def _multigraph(args) -> str | None:
    if args["G"].is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")
    return None


@answers(declines=_closed_given)
def triangles(G: ConvertedGraph, nodes=None) -> dict | int:
    """Return node → number of triangles, or the number of one node."""
    return _of(G, nodes, _counted(G).tolist())


@answers(declines=_multigraph)
def clustering(G: ConvertedGraph, nodes=None, weight=None) -> dict | float:
    """Return node → share of the pairs of its neighbours that are joined, by directions and weights; or of one node."""
    weights = G.lengths(weight)
    if weights is not None or G.is_directed():
        return _of(G, nodes, (_by_weight(G, weight, weights) if len(G) else np.zeros(0)).tolist())
    counts, pairs = _counted(G), _pairs(G)
    shares = [2 * t / p if t else 0 for t, p in zip(counts.tolist(), pairs.tolist(), strict=True)]
    return _of(G, nodes, shares)


@answers(declines=_multigraph)
def average_clustering(G: ConvertedGraph, nodes=None, weight=None, count_zeros: bool = True) -> float:
    """Return the mean of the coefficients, with or without those that are 0."""
    coefficients = clustering(G, nodes, weight).values()
    kept = list(coefficients) if count_zeros else [coefficient for coefficient in coefficients if coefficient > 0]
    return sum(kept) / len(kept)


@answers(declines=_closed_given)
def transitivity(G: ConvertedGraph) -> float:
    """Return the share of all pairs of edges at one node whose other ends are joined."""
    closed = 2 * int(_counted(G).sum())
    return closed / int(_pairs(G).sum()) if closed else 0


def _squares_given(args) -> str | None:
    return "squares of directed graphs" if args["G"].is_directed() else None


@answers(declines=_squares_given)
def square_clustering(G: ConvertedGraph, nodes=None) -> dict | float:
    """Return node → share of the squares through it and two of its neighbours that exist; or of one node."""
    if not len(G):
        return _of(G, nodes, [])
    if NETWORKX < (3, 6) and G.loops:
        raise NotImplementedError("NetworkX before 3.6 counts loops as neighbours; the engine ignores them")
    arcs = np.unique(G.sources * len(G) + G.targets)
    sources, targets = arcs // len(G), arcs % len(G)
    apart = sources != targets
    joined = matrix(sources[apart], targets[apart], np.ones(int(apart.sum()), np.int64), (len(G), len(G)))
    degree = np.diff(joined.indptr).astype(np.int64)
    squares = np.zeros(len(G), np.int64)
    wedges = np.cumsum(joined @ degree)
    for part in np.split(np.arange(len(G)), np.flatnonzero(np.diff(wedges // WEDGES)) + 1):
        shared = joined[part] @ joined
        pairs = (shared.power(2) - shared).sum(axis=1) // 2
        squares[part] = pairs - degree[part] * (degree[part] - 1) // 2
    potential = (degree - 1) * (joined @ degree - degree) - 2 * _counted(G) - squares
    shares = [s / p if p > 0 else 0 for s, p in zip(squares.tolist(), potential.tolist(), strict=True)]
    return _of(G, nodes, shares)


def _set_given(args) -> str | None:
    if args.get("nodes") and are_nodes(args["G"], args["nodes"]):
        return "nodes= are given, which the engine's set need not contain"
    graph = args["G"]
    if graph.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    return None if len(graph) else "the graph has no node to begin with"


@answers(declines=_set_given)
def maximal_independent_set(G: ConvertedGraph, nodes=None, seed=None) -> set | list:
    """Return the nodes of a maximal independent set: the same one for every seed.

    NetworkX answers graphs with loops itself: it refuses a set that begins with a looped node, and takes one later.
    """
    if nodes or (G.sources == G.targets).any():
        raise NotANode
    chosen = G.names(np.flatnonzero(solve("mis", G.engine()).columns["in_set"] == 1))
    return chosen if NETWORKX < (3, 7) else set(chosen)


def _counted(G: ConvertedGraph) -> np.ndarray:
    if not len(G):
        return np.zeros(0, np.int64)
    return solve("triangles", G.engine()).columns["triangles"]


def _by_weight(G: ConvertedGraph, weight: str | None, weights: np.ndarray | None) -> np.ndarray:
    """Return the coefficients by directions and weights; NetworkX divides by the largest weight, of loops too."""
    shares = solve("clustering", G.engine(weight), weighted=weights is not None).columns["clustering"]
    if weights is None or not weights.size:
        return shares
    if not weights.max() > 0:
        raise NotANode
    return shares * float(weights[G.sources != G.targets].max(initial=0) / weights.max())


def _pairs(G: ConvertedGraph) -> np.ndarray:
    """Return the ordered pairs of neighbours of every node, without loops."""
    degree = np.bincount(G.sources[G.sources != G.targets], minlength=len(G))
    return degree * (degree - 1)


def _of(G: ConvertedGraph, nodes, values: list):
    """Return node → value for ``nodes`` as NetworkX reads them (None: all), or the value of a single node."""
    if nodes is None:
        return dict(zip(G.nodes, values, strict=True))
    if nodes in G:
        return values[position(G, nodes)]
    return {node: values[G.index[node]] for node in bunch(G, nodes)}
