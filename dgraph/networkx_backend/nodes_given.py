"""Positions of the nodes that a call names; a call with another node is NetworkX's to answer, see :class:`NotANode`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from dgraph.networkx_backend.converted_graph import ConvertedGraph


class NotANode(Exception):
    """What NetworkX's function answers itself, such as a node that the graph lacks: it raises its own exception."""


def position(graph: ConvertedGraph, node: Hashable) -> int:
    """Return a node's position.

    Raises:
        NotANode: the graph lacks it, or it is not hashable.
    """
    if node not in graph:
        raise NotANode
    return graph.index[node]


def bunch(graph: ConvertedGraph, nodes: Iterable[Hashable]) -> list:
    """Return the nodes among ``nodes``, as NetworkX reads ``nbunch``: it leaves out what the graph lacks.

    Raises:
        NotANode: ``nodes`` is not iterable, or one of them is not hashable.
    """
    try:
        return [node for node in nodes if node in graph.index]
    except TypeError:
        raise NotANode from None


def positions(graph: ConvertedGraph, nodes: Iterable[Hashable]) -> list[int]:
    """Return the positions of several nodes.

    Raises:
        NotANode: ``nodes`` is not iterable, or :func:`position` refuses one.
    """
    if not isinstance(nodes, Iterable):
        raise NotANode
    return [position(graph, node) for node in nodes]


def are_nodes(graph: ConvertedGraph, nodes: object) -> bool:
    """Return True if the graph has all of these nodes."""
    return isinstance(nodes, Iterable) and all(node in graph for node in nodes)
