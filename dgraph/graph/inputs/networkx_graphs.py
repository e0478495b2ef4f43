"""Edges of a NetworkX graph: its adjacency is read once, without a Python loop over edges."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.inputs.vertex_columns import Piece, VertexColumn

CURE = "networkx.convert_node_labels_to_integers(G, label_attribute='node') numbers nodes"


class ListedGraph(NamedTuple):
    """A NetworkX graph as arrays; an undirected one lists both arcs of every edge.

    Attributes:
        src, dst: ids or names of the ends of arcs.
        weights: int64 or float64, or None if no edge has the attribute.
        vertices: ids or names of all nodes.
        directed, parallel: the graph's own: directed, and with parallel edges.
    """

    src: Any
    dst: Any
    weights: np.ndarray | None
    vertices: Any
    directed: bool
    parallel: bool


def is_networkx(value: object) -> bool:
    """Return True if ``value`` is a NetworkX graph."""
    return all(hasattr(value, name) for name in ("is_directed", "is_multigraph", "adjacency", "nodes"))


def list_graph(graph: Any, weight: str | None) -> ListedGraph:
    """Return the arcs of a graph and its nodes. An edge without the attribute ``weight`` weighs 1, as in NetworkX.

    Raises:
        UsageError: nodes that are neither all integers nor all strings, or weights that are not numbers.
    """
    if not is_networkx(graph):
        raise UsageError(f"got {type(graph).__name__}; from_networkx takes a networkx Graph, DiGraph or a multigraph")
    if hasattr(graph, "as_networkx"):  # converted for the NetworkX backend
        graph = graph.as_networkx()
    nodes = list(graph)
    kinds = set(map(type, nodes))
    strings = kinds == {str}
    if not strings and not all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UsageError(f"nodes are of type {found}; ids are all integers or all strings: {CURE}")
    parallel = graph.is_multigraph()
    rows = list(map(graph._adj.__getitem__, nodes))
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    pairs = int(degrees.sum())
    ends: Iterator = chain.from_iterable(rows)
    if strings:
        ends = map(dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__, ends)
    try:
        numbers = np.arange(len(nodes)) if strings else np.fromiter(nodes, np.int64, len(nodes))
        sources, targets = np.repeat(numbers, degrees), np.fromiter(ends, np.int64, pairs)
    except OverflowError:
        raise UsageError(f"a node is beyond 64 bits; {CURE}") from None
    attributes: Iterator = chain.from_iterable(map(methodcaller("values"), rows))
    if parallel:
        keyed = list(attributes)
        counts = np.fromiter(map(len, keyed), np.int64, pairs)
        sources, targets = np.repeat(sources, counts), np.repeat(targets, counts)
        attributes = chain.from_iterable(map(methodcaller("values"), keyed))
    weights = None if weight is None else _weights(attributes, weight, sources.size)
    columns: list = [sources, targets, numbers]
    if strings:
        names = np.array(nodes, object)
        columns = [VertexColumn("nodes", each.size, words=(Piece(names, each),)) for each in columns]
    return ListedGraph(columns[0], columns[1], weights, columns[2], graph.is_directed(), parallel)


def _weights(attributes: Any, weight: str, size: int) -> np.ndarray | None:
    values = np.fromiter(map(methodcaller("get", weight), attributes), object, size)
    kinds = set(map(type, values.tolist()))
    if kinds <= {type(None)}:
        return None
    if type(None) in kinds:
        values[values == np.array(None)] = 1
    whole = all(issubclass(kind, (int, np.integer)) for kind in kinds - {type(None)})
    try:
        return values.astype(np.int64 if whole else np.float64)
    except OverflowError:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UsageError(f"weight={weight!r}: edges have values of {found}; weights are numbers") from None
