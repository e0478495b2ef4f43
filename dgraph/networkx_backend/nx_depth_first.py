"""Depth-first search, topological order, bridges, biconnected components, greedy colours and label propagation.

One thread searches the arrays of the converted graph (``visit_order.py``); no distributed graph is made.
"""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from typing import Any

import networkx as nx
import numpy as np

from dgraph.networkx_backend import calls
from dgraph.networkx_backend.answers import answers
from dgraph.networkx_backend.converted_graph import ConvertedGraph
from dgraph.networkx_backend.engine_runs import components, strong_components
from dgraph.networkx_backend.nodes_given import NotANode, position
from dgraph.networkx_backend.visit_order import biconnected, depth_first, first_fit, spread_labels, topological_order
from dgraph.networkx_backend.visit_order import bridges as bridge_ends


def _searched(kernel, G: ConvertedGraph, *arguments) -> Any:
    """Search the rows of a graph, and count the search."""
    calls["depth_first"] += 1
    return kernel(G.offsets, G.targets, *arguments)


@answers
def topological_generations(G: ConvertedGraph) -> Iterator[list]:
    """Return an iterator over the lists of nodes whose predecessors are all in lists before."""
    return _generations(G)


@answers
def topological_sort(G: ConvertedGraph) -> Iterator:
    """Return an iterator over the nodes, each after its predecessors."""
    return (node for generation in _generations(G) for node in generation)


def _generations(G: ConvertedGraph) -> Iterator[list]:
    if not G.is_directed():
        calls["depth_first"] += 1
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    order, starts = _searched(topological_order, G)
    for generation in np.split(order, starts[1:-1]) if len(order) else ():
        yield G.names(generation)
    if len(order) < len(G):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def _unlimited(args) -> str | None:
    if args.get("sort_neighbors") is not None:
        return "sort_neighbors= is a function"
    limit = args["depth_limit"]
    return None if limit is None or isinstance(limit, int) else "depth_limit= is not an integer"


@answers(declines=_unlimited)
def dfs_edges(G: ConvertedGraph, source=None, depth_limit=None, *, sort_neighbors=None) -> Iterator:
    """Return an iterator over the edges of the search tree."""
    nodes, parents, _ = _tree(G, source, depth_limit)
    below = nodes != parents
    return zip(G.names(parents[below]), G.names(nodes[below]), strict=True)


@answers(declines=_unlimited)
def dfs_tree(G: ConvertedGraph, source=None, depth_limit=None, *, sort_neighbors=None) -> nx.DiGraph:
    """Return the search tree."""
    edges, tree = dfs_edges(G, source, depth_limit), nx.DiGraph()
    tree.add_nodes_from(G.nodes if source is None else [source])
    tree.add_edges_from(edges)
    return tree


@answers(declines=_unlimited)
def dfs_preorder_nodes(G: ConvertedGraph, source=None, depth_limit=None, *, sort_neighbors=None) -> Iterator:
    """Return an iterator over the nodes in the order of discovery."""
    return iter(G.names(_tree(G, source, depth_limit)[0]))


@answers(declines=_unlimited)
def dfs_postorder_nodes(G: ConvertedGraph, source=None, depth_limit=None, *, sort_neighbors=None) -> Iterator:
    """Return an iterator over the nodes in the order in which the search leaves them."""
    return iter(G.names(_tree(G, source, depth_limit)[2]))


@answers(declines=_unlimited)
def dfs_predecessors(G: ConvertedGraph, source=None, depth_limit=None, *, sort_neighbors=None) -> dict:
    """Return node → its predecessor in the search tree."""
    return {child: parent for parent, child in dfs_edges(G, source, depth_limit)}


@answers(declines=_unlimited)
def dfs_successors(G: ConvertedGraph, source=None, depth_limit=None, *, sort_neighbors=None) -> dict:
    """Return node → the list of its successors in the search tree."""
    below: dict = {}
    for parent, child in dfs_edges(G, source, depth_limit):
        below.setdefault(parent, []).append(child)
    return below


def _tree(G: ConvertedGraph, source, depth_limit: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    roots = np.arange(len(G)) if source is None else np.array([position(G, source)])
    return _searched(depth_first, G, roots, len(G) if depth_limit is None else min(depth_limit, len(G)))


@answers
def articulation_points(G: ConvertedGraph) -> Iterator:
    """Return an iterator over the nodes without which their component falls apart."""
    return iter(dict.fromkeys(G.names(_searched(biconnected, G)[2])))


@answers
def biconnected_components(G: ConvertedGraph) -> Iterator[set]:
    """Return an iterator over the sets of nodes that stay connected without any one of them."""
    return (set(G.names(nodes)) for nodes in _components(G))


@answers
def is_biconnected(G: ConvertedGraph) -> bool:
    """Return True if the graph is connected, and stays so without any one node."""
    sizes = [len(np.unique(nodes)) for nodes in _components(G)]
    return sizes == [len(G)] and len(G) > 0


def _components(G: ConvertedGraph) -> list[np.ndarray]:
    """Return the positions of the ends of each component's edges."""
    edges, starts, _ = _searched(biconnected, G)
    return [part.ravel() for part in np.split(edges, starts[1:-1])] if len(starts) > 1 else []


def _whole_and_simple(args) -> str | None:
    if args["G"].is_multigraph():
        return "parallel edges, which NetworkX lists in the order of another graph"
    return None if args["root"] is None else "root= chooses one component"


@answers(declines=_whole_and_simple)
def bridges(G: ConvertedGraph, root=None) -> Iterator:
    """Return an iterator over the edges without which their component falls apart."""
    source, target = _searched(bridge_ends, G)
    return zip(G.names(source), G.names(target), strict=True)


@answers(declines=_whole_and_simple)
def has_bridges(G: ConvertedGraph, root=None) -> bool:
    """Return True if an edge is a bridge."""
    return _searched(bridge_ends, G).size > 0


def _other_order(args) -> str | None:
    if args["strategy"] != "largest_first" or args["interchange"]:
        return "strategies other than largest_first, and interchange="
    return None


def _with_directions(args) -> str | None:
    if args["G"].is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    return None


@answers(declines=_other_order)
def greedy_color(G: ConvertedGraph, strategy="largest_first", interchange=False) -> dict:
    """Return node → the smallest colour that no neighbour had, of nodes by falling degree."""
    if not len(G):
        raise NotANode
    order, colors = _colored(G)
    return dict(zip(G.names(order), colors[order].tolist(), strict=True))


@answers(declines=_with_directions)
def label_propagation_communities(G: ConvertedGraph) -> ValuesView[set]:
    """Return the communities as sets of nodes, by their first nodes: labels spread by colours until none changes."""
    groups: dict[int, set] = {}
    if len(G):
        order, colors = _colored(G)
        labels = _searched(spread_labels, G, order[np.argsort(colors[order], kind="stable")])
        for node, label in zip(G.nodes, labels.tolist(), strict=True):
            groups.setdefault(label, set()).add(node)
    return groups.values()


def _colored(G: ConvertedGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes by falling degree, and their colours by position."""
    degrees = np.diff(G.offsets) + np.bincount(G.sources[G.sources == G.targets], minlength=len(G))
    if G.is_directed():
        degrees = np.diff(G.offsets) + np.bincount(G.targets, minlength=len(G))
    order = np.argsort(-degrees, kind="stable")
    return order, _searched(first_fit, G, order)


@answers
def find_cycle(G: ConvertedGraph, source=None, orientation=None) -> list:
    """Return the edges of a cycle: the engine decides if there is one, and NetworkX then finds it, or from a source.

    Raises:
        nx.NetworkXNoCycle: the graph has no cycle.
    """
    if source is not None or orientation == "ignore":
        raise NotANode
    n = len(G)
    if G.is_directed():
        cyclic = n > 0 and (len(np.unique(strong_components(G))) < n or G.loops > 0)
    else:
        cyclic = n > 0 and G.number_of_edges() > n - len(np.unique(components(G)))
    if cyclic:
        raise NotANode
    raise nx.exception.NetworkXNoCycle("No cycle found.")
