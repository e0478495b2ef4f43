"""Connected components, and what follows from them or a search: trees, strong connectivity, two colours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import networkx as nx
import numpy as np

from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import components, hops, hops_both_ways, strong_components
from dgraph.networkx_backend.nodes_given import NotANode, are_nodes, position
from dgraph.networkx_backend.visit_order import leave_order

POINTLESS = "Connectivity is undefined for the null graph."


@answers
def connected_components(G: ConvertedGraph) -> Iterator[set]:
    """Return an iterator over the sets of nodes of the components, by their first nodes."""
    return iter(_sets(G, components(G))) if len(G) else iter(())


@answers
def number_connected_components(G: ConvertedGraph) -> int:
    """Return the number of components."""
    if not len(G):
        return 0
    return int(np.count_nonzero(components(G) == np.arange(len(G))))


@answers
def is_connected(G: ConvertedGraph) -> bool:
    """Return True if there is one component."""
    if not len(G):
        raise nx.NetworkXPointlessConcept(POINTLESS)
    return not components(G).any()


@answers
def node_connected_component(G: ConvertedGraph, n) -> set:
    """Return the nodes of a node's component."""
    row = position(G, n)
    labels = components(G)
    return set(G.names(np.flatnonzero(labels == labels[row])))


@answers
def weakly_connected_components(G: ConvertedGraph) -> Iterator[set]:
    """Return an iterator over the sets of nodes of the weak components, by their first nodes."""
    return connected_components(G)


@answers
def number_weakly_connected_components(G: ConvertedGraph) -> int:
    """Return the number of weak components."""
    return number_connected_components(G)


@answers
def is_weakly_connected(G: ConvertedGraph) -> bool:
    """Return True if there is one weak component."""
    return is_connected(G)


@answers
def strongly_connected_components(G: ConvertedGraph) -> Iterator[set]:
    """Return an iterator over the sets of nodes of the strong components, in NetworkX's order: sinks first."""
    return iter(_strong(G))


@answers(declines=lambda args: "source= changes the order only" if args.get("source") in args["G"] else None)
def kosaraju_strongly_connected_components(G: ConvertedGraph, source=None) -> Iterator[set]:
    """Return what :func:`strongly_connected_components` returns."""
    if source is not None:
        raise NotANode
    return iter(_strong(G))


@answers
def number_strongly_connected_components(G: ConvertedGraph) -> int:
    """Return the number of strong components."""
    if not len(G):
        return 0
    return int(np.count_nonzero(strong_components(G) == np.arange(len(G))))


@answers
def is_strongly_connected(G: ConvertedGraph) -> bool:
    """Return True if the first node reaches every node and every node reaches it."""
    if not len(G):
        raise nx.NetworkXPointlessConcept(POINTLESS)
    return all(hops(G, [0], backwards=way).reached.size == len(G) for way in (False, True))


@answers(declines=lambda args: None if args.get("scc") is None else "scc= leaves nothing to compute")
def condensation(G: ConvertedGraph, scc=None) -> nx.DiGraph:
    """Return the graph of the strong components, numbered in NetworkX's order, with its attribute ``mapping``."""
    condensed, members = nx.DiGraph(), _strong(G)
    condensed.graph["mapping"] = {node: k for k, nodes in enumerate(members) for node in nodes}
    if not members:
        return condensed
    condensed.add_nodes_from((k, {"members": nodes}) for k, nodes in enumerate(members))
    number = np.fromiter(map(condensed.graph["mapping"].__getitem__, G.nodes), np.int64, len(G))
    ends = np.stack([number[G.sources], number[G.targets]])
    condensed.add_edges_from(ends[:, ends[0] != ends[1]].T.tolist())
    return condensed


@answers
def attracting_components(G: ConvertedGraph) -> Iterator[set]:
    """Return an iterator over the strong components that no edge leaves."""
    condensed = condensation(G)
    return (condensed.nodes[k]["members"] for k in condensed if not condensed.out_degree(k))


@answers
def number_attracting_components(G: ConvertedGraph) -> int:
    """Return the number of strong components that no edge leaves."""
    return sum(1 for _ in attracting_components(G))


@answers
def is_attracting_component(G: ConvertedGraph) -> bool:
    """Return True if the graph is one strong component."""
    components = list(attracting_components(G))
    return len(components) == 1 and len(components[0]) == len(G)


@answers
def is_tree(G: ConvertedGraph) -> bool:
    """Return True if the graph is connected and has one edge less than nodes."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return is_connected(G) and len(G) - 1 == G.number_of_edges()


@answers
def is_forest(G: ConvertedGraph) -> bool:
    """Return True if every component is a tree."""
    if not len(G):
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return len(G) - number_connected_components(G) == G.number_of_edges()


@answers
def is_arborescence(G: ConvertedGraph) -> bool:
    """Return True if the graph is a tree and no node has two edges in."""
    return is_tree(G) and _enters_once(G)


@answers
def is_branching(G: ConvertedGraph) -> bool:
    """Return True if the graph is a forest and no node has two edges in."""
    return is_forest(G) and _enters_once(G)


@answers
def color(G: ConvertedGraph) -> dict:
    """Return node → 0 or 1 so that no edge joins equal ones, which levels of a search from each component give.

    Raises:
        NetworkXError: the graph is not bipartite.
    """
    if not len(G):
        return {}
    labels, degrees = components(G), np.diff(G.offsets)
    starts = np.flatnonzero(degrees)
    _, firsts = np.unique(labels[starts], return_index=True)
    level = hops_both_ways(G, starts[firsts].tolist()) if starts.size else np.full(len(G), -1)
    colors = np.where(level < 0, 0, 1 - level % 2)
    if (colors[G.sources] == colors[G.targets]).any():
        raise nx.NetworkXError("Graph is not bipartite.")
    return dict(zip(G.nodes, colors.tolist(), strict=True))


@answers
def is_bipartite(G: ConvertedGraph) -> bool:
    """Return True if the nodes can have two colours so that no edge joins equal ones."""
    try:
        color(G)
    except nx.NetworkXError:
        return False
    return True


def _sets_given(args) -> str | None:
    return "top_nodes= leaves nothing to compute" if are_nodes(args["G"], args.get("top_nodes")) else None


@answers(declines=_sets_given)
def sets(G: ConvertedGraph, top_nodes=None) -> tuple[set, set]:
    """Return the two sets of nodes of a connected bipartite graph.

    Raises:
        AmbiguousSolution: the graph is not connected.
        NetworkXError: the graph is not bipartite.
    """
    if top_nodes is not None:
        raise NotANode
    if not is_connected(G):
        raise nx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
    colors = color(G)
    return {node for node, top in colors.items() if top}, {node for node, top in colors.items() if not top}


def _sets(G: ConvertedGraph, labels: np.ndarray) -> list[set]:
    """Return the sets of nodes of equal labels, by labels."""
    order = np.argsort(labels, kind="stable")
    names, cuts = G.names(order), [0, *(np.flatnonzero(np.diff(labels[order])) + 1).tolist(), len(G)]
    return [set(names[a:b]) for a, b in pairwise(cuts)]


def _strong(G: ConvertedGraph) -> list[set]:
    """Return the sets of nodes of the strong components in NetworkX's order."""
    if not len(G):
        return []
    labels, rank = strong_components(G), np.empty(len(G), np.int64)
    left = leave_order(G.offsets, G.targets, labels)
    rank[left] = np.arange(left.size)
    return _sets(G, rank[labels])


def _enters_once(G: ConvertedGraph) -> bool:
    return bool(np.bincount(G.targets, minlength=1).max() <= 1)
