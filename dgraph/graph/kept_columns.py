"""Columns of values kept with a graph's vertices: each rank holds the values of its rows.

:func:`read_column` brings values from where a user has them to the ranks of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dgraph._support import arguments
from dgraph.comm.base import Comm
from dgraph.comm.owner_directed import fetch, scatter, swap
from dgraph.errors import FORMER_COLUMNS, DgraphError, UsageError, shown, unknown
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.array_input import host_array, missing_values
from dgraph.graph.build.attribute_columns import TEXT, CodedText, common_type, in_type, refuse_rounded, without_values
from dgraph.graph.inputs.attribute_values import attribute_array
from dgraph.graph.names import ENCODING, Names, decode_names
from dgraph.graph.subgraph import row_owner, row_starts

CHUNK = 1 << 16
"""Values that a rank sends at a time, and words that it looks up."""


class VertexColumns(Mapping[str, np.ndarray]):
    """This rank's columns by name, read-only, each of shape (rows,) in the order of gids.

    Text is str (dtype object) or None.
    """

    def __init__(self, stored: Mapping[str, np.ndarray]):
        self.stored = dict(stored)
        self._decoded: dict[str, np.ndarray] = {}

    def __getitem__(self, name: str) -> np.ndarray:
        values = self.stored[name]
        if values.dtype.kind == "S":
            if name not in self._decoded:
                self._decoded[name] = decode_names(values)
            values = self._decoded[name]
        shown = values.view()
        shown.flags.writeable = False
        return shown

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} ({kind})" for name, kind in self.kinds().items())
        return f"<columns of this rank's vertices: {listed or 'none'}>"

    def kinds(self) -> dict[str, np.dtype]:
        """Return the dtype of every column."""
        return {
            name: np.dtype(object) if values.dtype.kind == "S" else values.dtype for name, values in self.stored.items()
        }

    def moved(self, kept: np.ndarray | slice, gids: np.ndarray, block: EdgeBlock, comm: Comm) -> VertexColumns:
        """Return the columns of another graph's rows; collective.

        Args:
            kept: the rows here that go on.
            gids: their gids in the other graph; every vertex of it is one of them.
            block: this rank's rows of the other graph.
            comm: communicator of the ranks.
        """
        if not self.stored:
            return self
        starts, columns = row_starts(block, comm), {}
        for name, values in self.stored.items():
            columns[name] = np.empty(block.rows, values.dtype)
            for rows, piece in _sent(gids, values[kept], starts, comm):
                columns[name][rows] = piece
        return VertexColumns(columns)


def read_column(name: str, source: Any, block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return the values of this rank's rows; collective, each rank passes any share.

    Args:
        name: the column's name; of a ``Result`` it selects the column, else the first is taken.
        source: an array with one value for each vertex by ascending original id, rank 0's share first; a pair
            (vertices, values); a dict vertex → value; a pandas Series, or a DataFrame with a column of that name,
            whose index has the vertices; or a ``Result``.
        block: the graph.
        comm: communicator of the ranks.

    Returns:
        bool, integers, floats, times, or text as bytes (dtype S). Vertices without a value have NaN, and the column is
        float64; or NaT, or empty text.

    Raises:
        UsageError: not one value a vertex, values of other types, a vertex that the graph does not have.
    """
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        raise UsageError(f"{name} is a LazyFrame of Polars; give {name}.collect()")
    if isinstance(getattr(source, "columns", None), Mapping):
        source = _pair(name, source)
    with comm.together():
        try:
            vertices, values = _parts(name, source)
            values = _plain(name, values)
        except DgraphError:
            raise
        except Exception as refusal:  # of pandas, Polars, Arrow, NumPy or SciPy
            why = f"{type(refusal).__name__}: {refusal}"
            raise UsageError(f"{name} = {shown(source)} cannot be made a column: {why}; convert it") from refusal
        if vertices is not None and vertices.shape != values.shape:
            raise UsageError(f"{name} has {values.size} values for {vertices.size} vertices; give one for each")
    values = _alike(name, values, comm)
    listed = comm.allreduce(np.array([vertices is not None, values.size], np.int64))
    if listed[0] not in (0, comm.size):
        raise UsageError(f"{name} comes with vertices on some ranks only; give the same kind of values on all")
    if vertices is None:
        if listed[1] != block.n:
            raise UsageError(
                f"{name} has {listed[1]:,} values, and the graph has {block.n:,} vertices; give one for each by "
                "ascending id (each rank its share, rank 0 the first), or a pair (vertices, values)"
            )
        before = comm.before(values.size)
        gids = np.arange(before, before + values.size)
        if not block.ids.ascending:
            gids = block.ids.to_gid(block.ids.base.to_original(gids, comm), comm)  # type: ignore[attr-defined]
    else:
        gids = gids_of(name, vertices, block, comm)
    return placed(name, gids, values, block, comm)


def vertex_array(what: str, vertices: Any) -> np.ndarray:
    """Return a vertex, or several, as an array for :func:`gids_of`.

    Raises:
        UsageError: other values than ids and names.
    """
    if isinstance(vertices, np.ndarray):
        return np.atleast_1d(host_array(vertices, what))
    listed = arguments.vertices(what, vertices, weights=False)
    return np.array(listed, object if any(isinstance(vertex, str) for vertex in listed) else np.int64)


def gids_of(what: str, vertices: np.ndarray, block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return the gids of vertices given by original id (integers) or name (text, or bytes); collective.

    Raises:
        UsageError: vertices of another type, or one that the graph does not have.
    """
    gids = gids_if_there(what, vertices, block, comm)
    with comm.together():
        wrong = np.flatnonzero(gids < 0)
        if wrong.size:
            vertex = vertices[wrong[0]]
            text = vertex.decode(*ENCODING) if isinstance(vertex, bytes) else str(vertex)
            mend = "graph.has(vertices) tells which it has"
            if wrong.size > 1:
                mend = f"{wrong.size - 1:,} more are none; graph.has(vertices) tells which to leave out"
            raise UsageError(
                f"{what}: {text} is not a vertex of the graph {block.facts.name} of {block.n:,} vertices; {mend}"
            )
    return gids


def gids_if_there(what: str, vertices: np.ndarray, block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return the gids as :func:`gids_of`, -1 for vertices that the graph does not have; collective."""
    names = block.ids.names
    with comm.together():
        if vertices.ndim != 1:
            raise UsageError(f"{what}: got vertices of shape {vertices.shape}; give a list, or an array of shape (k,)")
        if vertices.size and vertices.dtype.kind not in ("iu" if names is None else "OUS"):
            kind = "integers" if names is None else "names, which are text"
            raise UsageError(f"{what}: got vertices of dtype {vertices.dtype}; this graph's are {kind}; give these")
        words = _encoded(what, vertices) if names is not None else np.zeros(0, "S1")
        numbers = vertices.astype(np.int64) if names is None else np.zeros(0, np.int64)
    if names is not None:
        numbers = name_numbers(names, words, comm)
    return np.array(block.ids.to_gid(numbers, comm))


def _parts(name: str, source: Any) -> tuple[np.ndarray | None, Any]:
    """Return vertices as an array, or None, and the column of values."""
    if isinstance(source, tuple) and len(source) == 2:
        return host_array(source[0], f"vertices of {name}"), source[1]
    if isinstance(source, Mapping):
        return host_array(list(source), f"vertices of {name}"), list(source.values())
    if hasattr(source, "index") and hasattr(source, "columns"):  # a DataFrame
        if name not in source.columns:
            raise unknown("column of the data frame", name, map(str, source.columns))
        source = source[name]
    index = source.index.to_numpy() if hasattr(source, "index") and hasattr(source, "hasnans") else None
    return index, source


def _pair(name: str, result: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices and one column of a ``Result``, names as bytes, missing numbers as NaN; collective."""
    if name not in result.columns and FORMER_COLUMNS.get(name) in result.columns:
        raise unknown("column of the result", name, result.columns)
    value = name if name in result.columns else next(key for key in result.columns if key != "vertex")
    return result.kept_column(value)


def _plain(name: str, column: Any) -> np.ndarray:
    """Return a column as numbers, bool, times, or text as bytes."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "S" and column.ndim == 1:
        return column
    values = attribute_array(column, name)
    if isinstance(values, CodedText):
        return _encoded(name, np.append(values.texts, np.array([None], object)))[values.codes]
    return _encoded(name, values) if values.dtype.kind == "O" else values


def _encoded(name: str, values: np.ndarray) -> np.ndarray:
    """Return text as bytes (dtype S); None and NaN are empty."""
    if values.dtype.kind == "S":
        return values
    pieces = []
    for begin in range(0, values.size, CHUNK):
        piece = values[begin : begin + CHUNK]
        if piece.dtype.kind == "O":
            piece = np.where(missing_values(piece), "", piece)
            if not all(issubclass(kind, str) for kind in set(map(type, piece.tolist()))):
                raise UsageError(f"{name} has values of several types; a column has numbers, bool or text; convert it")
        try:
            pieces.append(np.char.encode(piece.astype(str), *ENCODING))
        except UnicodeEncodeError as wrong:
            raise UsageError(f"{name} has text without bytes in UTF-8: {shown(wrong.object)}; correct it") from None
    return np.concatenate(pieces) if pieces else np.zeros(0, "S1")


def _alike(name: str, values: np.ndarray, comm: Comm) -> np.ndarray:
    """Return values in the dtype that all ranks' have in common; collective."""
    text = values.dtype.kind == "S"
    empty = bool((values == b"").all()) if text else without_values(values)
    kind = common_type(TEXT if text else values.dtype, values.size, empty, name, comm)
    if kind == TEXT:
        values = values if text else np.zeros(values.size, "S1")
        return values.astype(f"S{comm.largest(max(values.itemsize, 1))}", copy=False)
    with comm.together():
        if kind.kind == "f" and not text and not empty:
            refuse_rounded(values, name)
    return in_type(np.full(values.size, None) if text else values, kind, empty)


def placed(name: str, gids: np.ndarray, values: np.ndarray, block: EdgeBlock, comm: Comm) -> np.ndarray:
    """Return the values of this rank's rows, from values of any gids; collective."""
    starts = row_starts(block, comm)
    column, times = np.zeros(block.rows, values.dtype), np.zeros(block.rows, np.int64)
    for rows, piece in _sent(gids, values, starts, comm):
        column[rows] = piece
        np.add.at(times, rows, 1)
    twice = np.flatnonzero(times > 1)[:1] + block.first
    twice = np.concatenate(comm.allgatherv(twice))[:1]
    if twice.size:
        number = block.ids.to_original(twice, comm)
        vertex = number[0] if block.ids.names is None else block.ids.names.of(number, comm)[0]
        raise UsageError(f"{name} has more than one value for vertex {vertex}; give one for each")
    if comm.total(int(np.count_nonzero(times == 0))):
        if column.dtype.kind == "b":
            raise UsageError(f"{name} is bool and lacks a value for some vertices; give one for each")
        if column.dtype.kind in "iuf":
            with comm.together():
                refuse_rounded(column, name)
            column = column.astype(np.float64)
            column[times == 0] = np.nan
        elif column.dtype.kind in "Mm":
            column[times == 0] = "NaT"
    return column


def _sent(
    gids: np.ndarray, values: np.ndarray, starts: np.ndarray, comm: Comm
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Send values to the ranks of their gids; yield rows and values as they come; collective, a chunk at a time."""
    for step in range(comm.largest(-(-gids.size // CHUNK))):
        part = slice(step * CHUNK, (step + 1) * CHUNK)
        wanted = gids[part].astype(np.int64, copy=False)
        came, piece = scatter(comm, row_owner(starts, wanted), wanted, values[part])
        yield came - starts[comm.rank], piece


def name_numbers(names: Names, words: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the numbers of names given as bytes, -1 for names of no vertex: int64; collective."""
    width = comm.largest(max(words.itemsize, names.here.itemsize))
    words = words.astype(f"S{width}", copy=False)
    firsts = swap(comm, [names.here[:1]] * comm.size)
    holders = np.array([rank for rank, first in enumerate(firsts) if first.size], np.int64)
    lowest = np.concatenate(firsts)
    numbers_of_words = np.empty(words.size, np.int64)

    def numbers(wanted: np.ndarray) -> tuple[np.ndarray]:
        positions = np.minimum(np.searchsorted(names.here, wanted), max(names.here.size - 1, 0))
        same = names.here[positions] == wanted if names.here.size else np.zeros(wanted.size, bool)
        return (np.where(same, names.starts[comm.rank] + positions, -1),)

    for step in range(comm.largest(-(-words.size // CHUNK))):
        part = slice(step * CHUNK, (step + 1) * CHUNK)
        owner = holders[np.maximum(np.searchsorted(lowest, words[part], side="right") - 1, 0)]
        (numbers_of_words[part],) = fetch(comm, owner, words[part], numbers)
    return numbers_of_words
