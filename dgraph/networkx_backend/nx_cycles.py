"""Cycles of directed graphs, as strong components and levels of a search show them."""

from __future__ import annotations

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import NETWORKX, answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import hops, strong_components
from dgraph.networkx_backend.nx_components import condensation, is_strongly_connected


@answers
def is_directed_acyclic_graph(G: ConvertedGraph) -> bool:
    """Return True if the graph is directed and has no cycle."""
    return G.is_directed() and not has_cycle(G)


@answers
def has_cycle(G: ConvertedGraph) -> bool:
    """Return True if a strong component has several nodes, or a node a loop."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    return bool(len(G)) and bool((strong_components(G) != np.arange(len(G))).any() or G.loops)


@answers
def is_aperiodic(G: ConvertedGraph) -> bool:
    """Return True if no integer above 1 divides the length of every cycle [Jarvis & Shier 1996]."""
    if not G.is_directed():
        raise nx.NetworkXError("is_aperiodic not defined for undirected graphs")
    if not len(G):
        raise nx.NetworkXPointlessConcept("Graph has no nodes.")
    if not is_strongly_connected(G):
        if NETWORKX < (3, 5):
            raise NotImplementedError("the graph is not strongly connected, for which NetworkX 3.4 has an answer")
        raise nx.NetworkXError("Graph is not strongly connected.")
    level = hops(G, [0]).values
    return bool(np.gcd.reduce(level[G.sources] - level[G.targets] + 1) == 1) if G.targets.size else False


@answers
def is_semiconnected(G: ConvertedGraph) -> bool:
    """Return True if of each two nodes one reaches the other: an edge joins each component to the next one."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    condensed = condensation(G)
    return all(condensed.has_edge(k, k - 1) for k in range(1, len(condensed)))


@answers
def flow_hierarchy(G: ConvertedGraph, weight=None) -> float:
    """Return the share of the edges that are in no cycle [Luo & Magee 2011]."""
    if not G.targets.size:
        raise nx.NetworkXError("flow_hierarchy not applicable to empty graphs")
    if not G.is_directed():
        raise nx.NetworkXError("G must be a digraph in flow_hierarchy")
    labels, weights = strong_components(G), G.weights(weight)
    inside = labels[G.sources] == labels[G.targets]
    if weights is None:
        return 1 - int(np.count_nonzero(inside)) / inside.size
    return 1 - weights[inside].sum().item() / weights.sum().item()
