"""Core numbers and the subgraphs that they define."""

from __future__ import annotations

import math
from collections.abc import Mapping

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import answers, not_given
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import solve

MOST = 2**31
"""Number of triangles of an edge that the engine does not count to."""

LOOPS = (
    "Input graph has self loops which is not permitted; "
    "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
)  # fmt: skip


def _cores_given(args) -> str | None:
    return not_given("core_number")(args) or ("parallel edges" if args["G"].is_multigraph() else None)


@answers
def core_number(G: ConvertedGraph) -> dict:
    """Return node → core number; edges in both directions of a directed graph count each."""
    return dict(zip(G.nodes, _cores(G).tolist(), strict=True))


@answers(declines=_cores_given)
def k_core(G: ConvertedGraph, k=None, core_number: Mapping | None = None) -> nx.Graph:
    """Return the subgraph of nodes with core number ``k`` or more."""
    cores = _cores(G)
    return _subgraph(G, cores >= _level(cores, k))


@answers(declines=_cores_given)
def k_shell(G: ConvertedGraph, k=None, core_number: Mapping | None = None) -> nx.Graph:
    """Return the subgraph of nodes with core number ``k``."""
    cores = _cores(G)
    return _subgraph(G, cores == _level(cores, k))


@answers(declines=_cores_given)
def k_crust(G: ConvertedGraph, k=None, core_number: Mapping | None = None) -> nx.Graph:
    """Return the subgraph of nodes with core number ``k`` or less."""
    cores = _cores(G)
    return _subgraph(G, cores <= (_level(cores, None) - 1 if k is None else k))


@answers(declines=_cores_given)
def k_corona(G: ConvertedGraph, k, core_number: Mapping | None = None) -> nx.Graph:
    """Return the subgraph of nodes with core number ``k`` and exactly ``k`` neighbours in the k-core."""
    cores = _cores(G)
    inside = np.bincount(G.sources[cores[G.targets] >= k], minlength=len(G))
    return _subgraph(G, (cores == k) & (inside == k))


def _undirected_simple(args) -> str | None:
    if not isinstance(args["k"], (int, float)) or not args["k"] < MOST:
        return "k= is not a number that the engine compares with numbers of triangles"
    return None


@answers(declines=_undirected_simple)
def k_truss(G: ConvertedGraph, k) -> nx.Graph:
    """Return the graph of the edges that lie in ``k`` - 2 triangles of it, and their nodes."""
    if G.loops:
        raise nx.NetworkXNotImplemented(LOOPS)
    truss = G.as_networkx().copy()
    if len(G):
        edges, source, n = solve("ktruss", G.engine(), k=max(math.ceil(k), 2)).edges, G.sources, len(G)
        if edges is None:
            raise NotImplementedError("a service returns values of vertices, not of edges")
        low, high = np.minimum(source, G.targets), np.maximum(source, G.targets)
        gone = np.flatnonzero((source == low) & ~np.isin(low * n + high, edges.source * n + edges.target))
        truss.remove_edges_from(zip(G.names(source[gone]), G.names(G.targets[gone]), strict=True))
        truss.remove_nodes_from(list(nx.isolates(truss)))
    return truss


def _cores(G: ConvertedGraph) -> np.ndarray:
    if G.loops:
        raise nx.NetworkXNotImplemented(LOOPS)
    if not len(G):
        return np.zeros(0, np.int64)
    return solve("kcore", G.engine(), count="arcs").columns["core_number"]


def _level(cores: np.ndarray, k) -> int:
    return max(cores.tolist()) if k is None else k


def _subgraph(G: ConvertedGraph, chosen: np.ndarray) -> nx.Graph:
    return G.as_networkx().subgraph(G.names(np.flatnonzero(chosen))).copy()
