"""Positions of the nodes that a function was given, or NetworkX's exception for a node that the graph lacks."""

from __future__ import annotations

from collections.abc import Hashable

import networkx as nx

from dgraph.networkx_backend.converted_graph import ConvertedGraph


def position(graph: ConvertedGraph, node: Hashable, text: str, error: type[Exception] = nx.NodeNotFound) -> int:
    """Return a node's position.

    Args:
        graph: where to look.
        node: a node of the NetworkX graph.
        text: NetworkX's message, with ``{}`` for the node.
        error: NetworkX's exception.

    Raises:
        TypeError: the node is not hashable.
    """
    found = graph.index.get(node)
    if found is None:
        raise error(text.format(node))
    return found
