"""A column as users pass it becomes a NumPy array or one of Arrow's, before its values are judged.

Columns are arrays, lists, Series, Arrow arrays and tensors. Whatever a library raises about one becomes an error that
names the argument. Arrow's types are read through pyarrow, which is imported only for values that need it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dgraph.errors import DataError, DgraphError, UsageError, shown
from dgraph.graph.build.array_input import arrow_numbers, host_array

CURE = "ids are integers or strings, weights are real numbers; convert the column, for example with astype"
NEED = "pip install 'dgraph-analytics[tables]'"
NUMBERS = {int}, {float}, set[type]()
"""Types of a list's values that NumPy reads as they are; ints beside floats may be rounded."""


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


def column_array(values: Any, name: str) -> Any:
    """Return a NumPy array, or pyarrow's array or chunked array; None is a column without values.

    Raises:
        UsageError: anything that no library reads as a column.
        DataError: a masked value, with its row.
    """
    if values is None:
        return np.empty(0, np.int64)
    root = type(values).__module__.partition(".")[0]
    if root in ("pyarrow", "pandas", "polars") and not (hasattr(values, "dtype") or hasattr(values, "null_count")):
        raise UsageError(
            f"{name}: got {type(values).__name__}, which is not a column; pass an array, a list or a Series"
        )
    if root == "pyarrow":
        return values
    if root == "pandas":
        return _read(name, lambda: _of_pandas(values))
    if root == "polars":
        return _read(name, lambda: _of_polars(values))
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        module = pyarrow(f"{name}: {type(values).__name__}")
        make = module.chunked_array if hasattr(values, "__arrow_c_stream__") else module.array
        return _read(name, lambda: make(values))
    if isinstance(values, (list, tuple)) and set(map(type, values)) not in NUMBERS:
        return np.fromiter(values, object, len(values))
    return host_array(values, name)


def _read(name: str, make: Callable[[], Any]) -> Any:
    """Return what a library makes of a column."""
    try:
        return make()
    except (DgraphError, MemoryError):
        raise
    except Exception as wrong:
        text = " ".join(str(wrong).split())[:120]
        raise UsageError(f"{name}: the column cannot be read ({type(wrong).__name__}: {text}); {CURE}") from wrong


def _of_pandas(values: Any) -> Any:
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return values.to_numpy()
    if hasattr(dtype, "fill_value"):  # a sparse column
        return np.asarray(values)
    try:
        import pyarrow as module
    except ImportError:
        return values.to_numpy(dtype=object, na_value=None)
    try:
        return module.array(values, from_pandas=True)
    except (module.ArrowException, TypeError, ValueError, OverflowError):  # values of several kinds, or too large
        return values.to_numpy(dtype=object, na_value=None)


def _of_polars(values: Any) -> Any:
    kind = str(values.dtype)
    if kind in ("Int128", "UInt128", "Object"):
        return np.fromiter(values.to_list(), object, len(values))
    if values.dtype.is_numeric() and not kind.startswith("Decimal") and not values.null_count():
        return values.to_numpy()
    module = pyarrow("a column of polars")
    return module.chunked_array(values) if hasattr(values, "__arrow_c_stream__") else values.to_arrow()


def chunks_of(values: Any, name: str) -> list:
    """Return the chunks of an Arrow array that hold values, without dictionaries of numbers.

    Raises:
        DataError: a missing value, with its row.
    """
    before, types = 0, pyarrow(name).types
    chunks = [chunk for chunk in getattr(values, "chunks", [values]) if len(chunk)]
    for place, chunk in enumerate(chunks):
        if types.is_dictionary(chunk.type) and chunk.dictionary.null_count:
            chunk = chunk.dictionary_decode()
        if chunk.null_count:
            raise missing(name, before + int(np.argmax(chunk.is_null().to_numpy(zero_copy_only=False))))
        before += len(chunk)
        kind = chunk.type
        if types.is_dictionary(kind) and (types.is_primitive(kind.value_type) or types.is_decimal(kind.value_type)):
            chunks[place] = chunk.dictionary_decode()
    return chunks


def joined(chunks: list) -> np.ndarray:
    """Return the values of Arrow arrays of numbers."""
    if not chunks:
        return np.empty(0, np.int64)
    parts = [arrow_numbers(chunk) for chunk in chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def refuse_missing(values: np.ndarray, name: str) -> None:
    """Refuse None, NaN, NaT, pandas's NA and masked values among objects."""
    for row, value in enumerate(values.tolist()):
        if _is_missing(value):
            raise missing(name, row)


def _is_missing(value: Any) -> bool:
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)
    except Exception:  # of a foreign type
        return False


def missing(name: str, row: int) -> DataError:
    """Make the error for a missing value."""
    return DataError(
        f"{name}[{row}] is missing; every edge has two ends and, if there are weights, one; fill it in, or drop the row"
    )


def kinds_of(values: np.ndarray) -> str:
    """Return the names of the types of objects, for messages."""
    return ", ".join(sorted(kind.__name__ for kind in set(map(type, values.tolist()))))


def first_value(values: np.ndarray, name: str, wrong: Callable[[Any], bool]) -> str:
    """Return the text ``name[row] is value`` of the first value that is wrong."""
    return next(f"{name}[{row}] is {shown(value)}" for row, value in enumerate(values.tolist()) if wrong(value))
