"""Columns of edges on all ranks become ``RawEdges``: one kind of ids, one dtype, names numbered over all ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dgraph._support.arguments import flag, integer
from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.array_input import check_range, host_array
from dgraph.graph.build.collective_checks import count_vertices, refuse_too_many, unify_weights
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.inputs.vertex_columns import VertexColumn, vertex_column
from dgraph.graph.inputs.weight_values import shared_notes, weight_values
from dgraph.graph.inputs.word_codes import code_words
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import number_names

NAMES = ("src", "dst", "weights", "vertices")


def ends_of(edges: Any, what: str) -> np.ndarray:
    """Return sources and targets of pairs of vertices, shape (2, k).

    Args:
        edges: array of shape (k, 2), or pairs in a list, a set or an iterator.
        what: name of the argument, for messages.

    Raises:
        UsageError: another shape.
    """
    pairs = host_array(edges, what)
    if isinstance(edges, Iterable) and not hasattr(edges, "ndim") and not pairs.ndim:
        edges = list(edges)
        pairs = host_array(edges, what)
    if pairs.ndim == 2 and pairs.dtype.kind == "U" and isinstance(edges, (list, tuple)):
        pairs = np.array([list(pair) for pair in edges], object)  # NumPy makes text of the integers among names
    if not pairs.size:
        pairs = np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        mend = "give pairs of source and target, shape (k, 2), or a table"
        if isinstance(edges, np.ndarray) and pairs.shape[:1] == (2,):
            mend += "; rows of sources and targets are two arguments, from_edges(*edges)"
        elif pairs.ndim == 2 and pairs.shape[1] == 3:
            mend += "; weights are an argument of their own, weights=; from_networkx takes attributes of edges"
        raise UsageError(f"{what} has shape {pairs.shape}; {mend}")
    return pairs.T


def edges_of(
    src: Any,
    dst: Any,
    weights: Any,
    vertices: Any,
    *,
    n: int | None,
    directed: bool,
    sparse_ids: bool,
    comm: Comm,
    names: tuple[str, str, str, str] = NAMES,
    mirrored: bool = False,
) -> RawEdges:
    """Return the raw edges of all ranks' columns; collective.

    Args:
        src: as of :meth:`Graph.from_edges`, None on a rank without edges.
        dst: as ``src``.
        weights: as of :meth:`Graph.from_edges`.
        vertices: as of :meth:`Graph.from_edges`.
        n: vertices, if ids are 0 .. n-1.
        directed: False if edges go both ways.
        sparse_ids: True if the ids that occur are the vertices.
        comm: communicator of the ranks.
        names: of the four columns, in messages.
        mirrored: True if both arcs of every edge are listed.

    Raises:
        UsageError: columns of different lengths or kinds.
        DataError: a value that is missing or wrong, with its row.
    """
    with comm.together():
        n = None if n is None else integer("n", n)
        directed, sparse_ids = flag("directed", directed), flag("sparse_ids", sparse_ids)
        ends = {names[0]: src, names[1]: dst, names[3]: vertices}
        columns = [vertex_column(values, name) for name, values in ends.items()]
        weights, note = weight_values(weights, names[2])
        size = columns[0].size
        for name, count in ((names[1], columns[1].size), (names[2], size if weights is None else weights.size)):
            if count != size:
                raise UsageError(f"{name} has {count} values, {names[0]} {size}; pass one value an edge in each")
    strings = _agree_on_kind(columns, comm) == "strings"
    facts = LoadFacts("edges", notes=shared_notes(note, comm))
    weights = unify_weights(weights, size, comm)
    if strings:
        if n is not None:
            raise UsageError("n is for integer ids; the names that occur are the vertices; add others with vertices=")
        return _named(columns, weights, directed, mirrored, facts, comm)
    ids = [np.empty(0, np.uint32) if column.ids is None else column.ids for column in columns]
    wide = np.dtype(np.int64 if comm.largest(max(column.itemsize for column in ids)) == 8 else np.uint32)
    numbers = [column.astype(wide, copy=False) for column in ids]
    if sparse_ids:
        n = None
        if not comm.total(sum(column.size for column in numbers)):
            raise UsageError("no edge and no vertex on any rank; a graph has at least one vertex")
    else:
        n = count_vertices(n, numbers, comm)
        refuse_too_many(n, comm)
        with comm.together():
            check_range(numbers[2], 0, n - 1, names[3])
    extra = numbers[2] if sparse_ids else None
    return RawEdges(
        numbers[0], numbers[1], weights, directed, n,
        extra=extra, mirrored=mirrored, ends=(names[0], names[1]), facts=facts,
    )  # fmt: skip


def _agree_on_kind(columns: list[VertexColumn], comm: Comm) -> str:
    """Return "integers" or "strings", whichever all columns of all ranks hold; collective."""
    holders: dict[str, str] = {}
    for rank, kinds in enumerate(comm.allgather_json([[column.name, column.kind] for column in columns])):
        for name, kind in kinds:
            if kind:
                holders.setdefault(kind, name if comm.size == 1 else f"{name} on rank {rank}")
    if len(holders) > 1:
        one, other = holders.items()
        raise UsageError(f"{one[1]} holds {one[0]}, {other[1]} {other[0]}; a vertex has one kind of id; convert one")
    return next(iter(holders), "integers")


def _named(
    columns: list[VertexColumn],
    weights: np.ndarray | None,
    directed: bool,
    mirrored: bool,
    facts: LoadFacts,
    comm: Comm,
) -> RawEdges:
    with comm.together():
        codes, words = code_words(columns)
    table, numbers = number_names(words, comm)
    n = int(table.starts[-1])
    if comm.size > 1:  # on one rank a code is the number
        codes = [numbers.astype(np.uint32 if n <= 1 << 32 else np.int64)[codes_of_end] for codes_of_end in codes[:2]]
    return RawEdges(codes[0], codes[1], weights, directed, n, ids=NamedIds(table), mirrored=mirrored, facts=facts)
