"""Edges of a NetworkX graph: its adjacency is read once, without a Python loop over edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, repeat
from operator import itemgetter, methodcaller
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dgraph.errors import DataError, UsageError, shown
from dgraph.graph.inputs.vertex_columns import NameChunk, VertexColumn
from dgraph.graph.inputs.weight_values import is_beyond, is_number, number_array

ABSENT = type("Absent", (), {})()
"""Weight of an edge without the attribute."""
CURE = "networkx.convert_node_labels_to_integers(G, label_attribute='node') numbers nodes"


class ListedGraph(NamedTuple):
    """A NetworkX graph as arrays; an undirected one lists both arcs of every edge.

    Attributes:
        src, dst: ids or names of the ends of arcs.
        weights: int64 or float64, or None if no edge has the attribute.
        vertices: ids or names of all nodes.
        directed, parallel: the graph's own: directed, and with parallel edges.
        note: on weights that reading rounds, else "".
        kept: name → values of an edge attribute (dtype object), None where an edge has none.
    """

    src: Any
    dst: Any
    weights: np.ndarray | None
    vertices: Any
    directed: bool
    parallel: bool
    note: str = ""
    kept: Mapping[str, np.ndarray] = MappingProxyType({})


def is_networkx(value: object) -> bool:
    """Return True if ``value`` is a NetworkX graph."""
    return all(hasattr(value, name) for name in ("is_directed", "is_multigraph", "adjacency", "nodes"))


def list_graph(graph: Any, weight: str | None, keep: Sequence[str] = ()) -> ListedGraph:
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
        types = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UsageError(f"nodes are of type {types}; ids are all integers or all strings: {CURE}")
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
    if int(numbers.min(initial=0)) < 0:
        raise UsageError(f"a node is {numbers.min()}; ids are integers from 0, or strings: {CURE}")
    if parallel:
        counts = np.fromiter(map(len, chain.from_iterable(map(methodcaller("values"), rows))), np.int64, pairs)
        sources, targets = np.repeat(sources, counts), np.repeat(targets, counts)
    weights, note = (None, "") if weight is None else _weights(rows, weight, nodes, parallel, sources.size)
    columns: list = [sources, targets, numbers]
    if strings:
        names = np.array(nodes, object)
        columns = [VertexColumn("nodes", codes.size, words=(NameChunk(names, codes),)) for codes in columns]
    kept = {
        name: np.fromiter(map(methodcaller("get", name), _attributes(rows, parallel)), object, sources.size)
        for name in keep
    }
    missing = next(
        (name for name, column in kept.items() if column.size and all(value is None for value in column)), None
    )
    if missing is not None:
        raise UsageError(f"keep = {missing!r}: no edge has this attribute; name one that edges have")
    return ListedGraph(columns[0], columns[1], weights, columns[2], graph.is_directed(), parallel, note, kept)


def _weights(rows: list, weight: str, nodes: list, parallel: bool, size: int) -> tuple[np.ndarray | None, str]:
    """Return the weights of all arcs, or None if no edge has the attribute; and a note if reading rounds them."""
    if not any(_attributes(rows, parallel)):
        return None, ""
    try:
        values = np.fromiter(map(itemgetter(weight), _attributes(rows, parallel)), object, size)
    except KeyError:  # some edges have no weight
        values = np.fromiter(map(methodcaller("get", weight, ABSENT), _attributes(rows, parallel)), object, size)
    kinds = set(map(type, values.tolist()))
    if kinds <= {type(ABSENT)}:
        return None, ""
    if type(ABSENT) in kinds:
        values[[value is ABSENT for value in values.tolist()]] = 1
    wrong = {kind for kind in kinds - {type(ABSENT)} if not is_number(kind)}
    if not wrong:
        with suppress(DataError):
            numbers, note = number_array(values, weight)
            if numbers.dtype.kind != "f" or not np.isnan(numbers).any():
                return numbers, note
    for (u, v), value in zip(_ends(rows, nodes, parallel), values.tolist(), strict=True):
        if type(value) in wrong or is_beyond(value) or value != value:
            raise UsageError(
                f"weight={weight!r}: edge {shown(u)} → {shown(v)} has {shown(value)} ({type(value).__name__}); "
                "a weight is a real number within float64: convert it, leave the attribute out (the edge then weighs "
                "1), or say weight=None"
            )
    raise AssertionError("a weight is wrong, and no edge has it")


def _attributes(rows: list, parallel: bool) -> Iterator[dict]:
    """Return the attributes of all arcs, in the order of the rows."""
    attributes = chain.from_iterable(map(methodcaller("values"), rows))
    return chain.from_iterable(map(methodcaller("values"), attributes)) if parallel else attributes


def _ends(rows: list, nodes: list, parallel: bool) -> Iterator[tuple]:
    """Return the ends of all arcs, in the order of :func:`_attributes`."""
    for u, row in zip(nodes, rows, strict=True):
        for v, attributes in row.items():
            yield from repeat((u, v), len(attributes) if parallel else 1)
