"""Closeness and betweenness: searches from many sources at a time."""

from __future__ import annotations

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import NETWORKX, answers, not_given
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import distances, solve
from dgraph.networkx_backend.nodes_given import position, positions


@answers(declines=not_given("sp"))
def closeness_centrality(G: ConvertedGraph, u=None, distance=None, wf_improved=True, *, sp=None):
    """Return node → inverse mean distance to it, or that of one node."""
    chosen = range(len(G)) if u is None else [position(G, u)]
    n, scores = len(G), []
    if u is None and n:
        weighted = G.lengths(distance) is not None
        run = solve("closeness", G.engine(distance), wf_improved=bool(wf_improved), weighted=weighted)
        return dict(zip(G.nodes, run.columns["closeness"].tolist(), strict=True))
    for k in chosen:
        lengths = distances(G, [k], distance, backwards=True)
        total, others = lengths.total(), lengths.reached.size - 1.0
        score = others / total if total > 0.0 and n > 1 else 0.0
        scores.append(score * (others / (n - 1)) if wf_improved and n > 1 else score)
    return dict(zip(G.nodes, scores, strict=True)) if u is None else scores[0]


def _betweenness_given(args, scaled_since=(3, 5)) -> str | None:
    k = args.get("k")
    if k is not None and scaled_since > NETWORKX:
        return f"k={k} is given, and this version of NetworkX scales the values otherwise"
    return None if k is None or 1 <= k <= len(args["G"]) else f"k={k} nodes cannot be drawn"


@answers(declines=_betweenness_given)
def betweenness_centrality(G: ConvertedGraph, k=None, normalized=True, weight=None, endpoints=False, seed=None) -> dict:
    """Return node → share of the shortest paths that pass through it; the ``k`` sources are those of NetworkX."""
    if not len(G):
        return {}
    asked = _sources(G, k, seed) | {"normalized": bool(normalized), "endpoints": bool(endpoints)}
    answer = solve("bc", G.engine(weight), weighted=G.lengths(weight) is not None, **asked)
    return dict(zip(G.nodes, answer.columns["bc"].tolist(), strict=True))


def _subset_given(args) -> str | None:
    """Decline nodes that NetworkX counts several times, or not at all."""
    for name in ("sources", "targets"):
        nodes = list(args[name])
        if not nodes or len(set(nodes)) < len(nodes):
            return f"{name} is empty, or names a node twice"
    return None


@answers(declines=_subset_given)
def betweenness_centrality_subset(G: ConvertedGraph, sources, targets, normalized=False, weight=None) -> dict:
    """Return node → share of the shortest paths from ``sources`` to ``targets`` that pass through it."""
    asked = {"sources": positions(G, sources), "targets": positions(G, targets), "normalized": bool(normalized)}
    answer = solve("bc", G.engine(weight), weighted=G.lengths(weight) is not None, **asked)
    return dict(zip(G.nodes, answer.columns["bc"].tolist(), strict=True))


def _edges_given(args) -> str | None:
    if args["G"].is_multigraph():
        return "a multigraph divides values among parallel edges, which the engine merges"
    return _betweenness_given(args, scaled_since=(3, 6))


@answers(declines=_edges_given)
def edge_betweenness_centrality(G: ConvertedGraph, k=None, normalized=True, weight=None, seed=None) -> dict:
    """Return edge → share of the shortest paths that contain it; the ``k`` sources are those of NetworkX."""
    n = len(G)
    if not n:
        return {}
    asked = _sources(G, k, seed) | {"normalized": bool(normalized), "weighted": G.lengths(weight) is not None}
    answer = solve("edge_bc", G.engine(weight), **asked)
    if answer.edges is None:
        raise NotImplementedError("a service returns values of vertices, not of edges")
    source, target = G.sources, G.targets.astype(np.int64)
    if not G.is_directed():
        once = source <= target
        source, target = source[once], target[once]
    edges = answer.edges
    scores, other = np.zeros(len(source)), source != target  # a loop is on no shortest path
    scores[other] = edges.values[np.searchsorted(edges.source * n + edges.target, (source * n + target)[other])]
    pairs = zip(G.names(source), G.names(target), strict=True)
    return dict(zip(pairs, scores.tolist(), strict=True))


def _sources(G: ConvertedGraph, k: int | None, seed) -> dict:
    """Return the parameter that names the sources which NetworkX draws; none for all nodes."""
    if k is None or k >= len(G):
        return {}
    nodes = nx.utils.create_py_random_state(seed).sample(list(G.nodes), k)
    return {"sources": [G.index[node] for node in nodes]}
