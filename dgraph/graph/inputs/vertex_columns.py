"""Columns of vertices and weights as users pass them: arrays, lists, Series, Arrow arrays, tensors.

:func:`vertex_column` accepts integers and strings, :func:`weight_column` real numbers. A missing value is refused with
its row. Arrow's types are read through pyarrow, which is imported only for values that need it.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from dgraph.errors import DataError, UsageError
from dgraph.graph.build.array_input import as_ids, host_array

CURE = "ids are integers or strings; convert the column, for example with astype"
NEED = "pip install 'dgraph-analytics[tables]'"


@dataclass(frozen=True)
class Piece:
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
    words: tuple[Piece, ...] | None = None

    @property
    def kind(self) -> str:
        """``"integers"``, ``"strings"``, or "" if there are no values."""
        return "integers" if self.ids is not None else "strings" if self.words is not None else ""


def pyarrow(what: str) -> ModuleType:
    """Import pyarrow.

    Raises:
        UsageError: it is not installed; ``what`` needs it.
    """
    try:
        import pyarrow as module
        import pyarrow.compute
    except ImportError:
        raise UsageError(f"{what} needs pyarrow: {NEED}") from None
    return module


def vertex_column(values: Any, name: str) -> VertexColumn:
    """Return a column of vertices; None is a column without values.

    Raises:
        UsageError: not a 1-D column of integers or strings.
        DataError: a missing value, a negative id or one above 2^63 - 1, with its row.
    """
    if isinstance(values, VertexColumn):
        return values
    values = _arrays(values)
    if isinstance(values, np.ndarray):
        return _of_numpy(values, name)
    module = pyarrow(f"{name}: {type(values).__name__}")
    chunks = [chunk for chunk in _chunks(values) if len(chunk)]
    _refuse_nulls(chunks, name)
    if not chunks:
        return VertexColumn(name, 0)
    kind, types = chunks[0].type, module.types
    of = kind.value_type if types.is_dictionary(kind) else kind
    size = sum(map(len, chunks))
    if types.is_integer(of):
        plain = [chunk.dictionary_decode() if types.is_dictionary(kind) else chunk for chunk in chunks]
        return VertexColumn(name, size, as_ids(_joined(plain), name))
    if not (types.is_string(of) or types.is_large_string(of) or types.is_string_view(of)):
        raise UsageError(f"{name}: got a column of {kind}; {CURE}")
    if types.is_dictionary(kind):
        pieces = [Piece(chunk.dictionary, chunk.indices.to_numpy(zero_copy_only=False)) for chunk in chunks]
    else:
        pieces = [Piece(chunk) for chunk in chunks]
    return VertexColumn(name, size, words=tuple(pieces))


def weight_column(values: Any, name: str) -> np.ndarray | None:
    """Return weights as a NumPy array, to be converted by ``as_weights``.

    Raises:
        UsageError: not numbers.
        DataError: a missing value, with its row.
    """
    if values is None:
        return None
    values = _arrays(values)
    if not isinstance(values, np.ndarray):
        chunks = _chunks(values)
        _refuse_nulls(chunks, name)
        values = _joined(chunks)
    if values.dtype.kind == "O":
        missing = values == np.array(None)
        if missing.any():
            raise _missing(name, int(np.argmax(missing)))
        try:
            values = np.array(values.tolist())
        except (ValueError, OverflowError):
            raise UsageError(f"{name}: weights are real numbers; convert the column") from None
    return values


def _arrays(values: Any) -> Any:
    """Return a NumPy array, or pyarrow's array or chunked array."""
    if values is None:
        return np.empty(0, np.int64)
    root = type(values).__module__.partition(".")[0]
    if root == "pyarrow":
        return values
    if root == "pandas":
        dtype = values.dtype
        if isinstance(dtype, np.dtype) and dtype.kind != "O":
            return values.to_numpy()
        try:
            import pyarrow as module
        except ImportError:
            return values.to_numpy(dtype=object, na_value=None)
        return _converted(lambda: module.array(values, from_pandas=True))
    if root == "polars" and values.dtype.is_numeric() and not values.null_count():
        return values.to_numpy()
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        module = pyarrow(type(values).__name__)
        return (module.chunked_array if hasattr(values, "__arrow_c_stream__") else module.array)(values)
    if isinstance(values, (list, tuple)) and any(isinstance(each, str) for each in values[:1]):
        array = np.empty(len(values), object)
        array[:] = values
        return array
    return host_array(values)


def _of_numpy(values: np.ndarray, name: str) -> VertexColumn:
    if values.size == 0 and values.ndim == 1:
        return VertexColumn(name, 0)
    if values.ndim == 1 and values.dtype.kind == "O":
        missing = values == np.array(None)
        if not missing.any():
            kinds = set(map(type, values.tolist()))
            if kinds == {str}:
                return VertexColumn(name, values.size, words=(Piece(values),))
            if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
                try:
                    return VertexColumn(name, values.size, as_ids(values.astype(np.int64), name))
                except OverflowError:
                    raise DataError(f"{name}: an id is above 2^63 - 1; number the vertices from 0") from None
            missing = np.array([each is None or each != each for each in values])  # NaN, as older pandas has it
        if missing.any():
            raise _missing(name, int(np.argmax(missing)))
        found = ", ".join(sorted(kind.__name__ for kind in set(map(type, values.tolist()))))
        raise UsageError(f"{name}: got values of {found}; {CURE}")
    if values.ndim == 1 and values.dtype.kind in "SUT":
        plain = values.astype(object) if values.dtype.kind == "T" else values
        return VertexColumn(name, values.size, words=(Piece(plain),))
    if values.ndim == 1 and values.dtype.kind == "f":
        missing = np.isnan(values)
        if missing.any():
            raise _missing(name, int(np.argmax(missing)))
    return VertexColumn(name, values.size, as_ids(values, name))


def _converted(make: Any) -> Any:
    import pyarrow as module

    try:
        return make()
    except (module.ArrowException, TypeError) as wrong:
        raise UsageError(f"pyarrow cannot read a column ({str(wrong)[:120]}); {CURE}") from wrong


def _chunks(values: Any) -> list:
    return values.chunks if hasattr(values, "chunks") else [values]


def _joined(chunks: list) -> np.ndarray:
    if not chunks:
        return np.empty(0, np.int64)
    parts = [chunk.to_numpy(zero_copy_only=False) for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _refuse_nulls(chunks: list, name: str) -> None:
    before = 0
    for chunk in chunks:
        if chunk.null_count:
            raise _missing(name, before + int(np.argmax(chunk.is_null().to_numpy(zero_copy_only=False))))
        before += len(chunk)


def _missing(name: str, row: int) -> DataError:
    return DataError(f"{name}[{row}] is missing; every edge has two ends and, if there are weights, one; fill it in")
