"""Columns of vertices as users pass them: integers or strings, in arrays, lists, Series, Arrow arrays or tensors.

A missing value is refused with its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph._support.arguments import INT64
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import as_ids
from dgraph.graph.inputs.column_arrays import (
    chunks_of,
    column_array,
    first_value,
    joined,
    kinds_of,
    missing,
    pyarrow,
    refuse_missing,
)

CURE = "ids are integers or strings; convert the column, for example with astype"


@dataclass(frozen=True)
class NameChunk:
    """Names of one chunk: ``values``, or ``values[indices]``.

    Attributes:
        values: array of str: NumPy's (dtype object, U or S) or pyarrow's.
        indices: positions in ``values``, or None.
    """

    values: Any
    indices: np.ndarray | None = None


@dataclass(frozen=True)
class VertexColumn:
    """One column of vertices.

    Attributes:
        name: for messages.
        size: number of values.
        ids: integers as :func:`as_ids` returns them, or None.
        words: pieces of names, or None. A column without values has neither.
    """

    name: str
    size: int
    ids: np.ndarray | None = None
    words: tuple[NameChunk, ...] | None = None

    @property
    def kind(self) -> str:
        """``"integers"``, ``"strings"``, or "" if there are no values."""
        return "integers" if self.ids is not None else "strings" if self.words is not None else ""


def vertex_column(values: Any, name: str) -> VertexColumn:
    """Return a column of vertices; None is a column without values.

    Raises:
        UsageError: not a 1-D column of integers or strings.
        DataError: a missing value, a negative id or one above 2^63 - 1, with its row.
    """
    if isinstance(values, VertexColumn):
        return values
    values = column_array(values, name)
    if isinstance(values, np.ndarray):
        return _of_numpy(values, name)
    chunks, types = chunks_of(values, name), pyarrow(name).types
    if not chunks:
        return VertexColumn(name, 0)
    kind = chunks[0].type
    of = kind.value_type if types.is_dictionary(kind) else kind
    size = sum(map(len, chunks))
    if types.is_integer(of):
        return VertexColumn(name, size, as_ids(joined(chunks), name))
    if not (types.is_string(of) or types.is_large_string(of) or types.is_string_view(of)):
        raise UsageError(f"{name}: got a column of {kind}; {CURE}")
    if types.is_dictionary(kind):
        pieces = [NameChunk(chunk.dictionary, chunk.indices.to_numpy(zero_copy_only=False)) for chunk in chunks]
    else:
        pieces = [NameChunk(chunk) for chunk in chunks]
    return VertexColumn(name, size, words=tuple(pieces))


def _of_numpy(values: np.ndarray, name: str) -> VertexColumn:
    if values.size == 0 and values.ndim == 1:
        return VertexColumn(name, 0)
    if values.ndim == 1 and values.dtype.kind == "O":
        return _of_objects(values, name)
    if values.ndim == 1 and values.dtype.kind in "SUT":
        plain = values.astype(object) if values.dtype.kind == "T" else values
        return VertexColumn(name, values.size, words=(NameChunk(plain),))
    if values.ndim == 1 and values.dtype.kind == "f":
        undefined = np.isnan(values)
        if undefined.any():
            raise missing(name, int(np.argmax(undefined)))
    return VertexColumn(name, values.size, as_ids(values, name))


def _of_objects(values: np.ndarray, name: str) -> VertexColumn:
    kinds = set(map(type, values.tolist()))
    if all(issubclass(kind, str) for kind in kinds):
        return VertexColumn(name, values.size, words=(NameChunk(values),))
    if not all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        refuse_missing(values, name)
        raise UsageError(f"{name}: got values of {kinds_of(values)}; {CURE}")
    if not all(number in INT64 for number in map(int, values.tolist())):
        text = first_value(values, name, lambda number: int(number) not in INT64)
        raise DataError(f"{text}; an id is an integer from 0 to 2^63 - 1; number the vertices from 0")
    return VertexColumn(name, values.size, as_ids(values.astype(np.int64), name))
