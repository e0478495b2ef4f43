"""Columns as Arrow arrays, and Arrow tables as DataFrames.

:func:`arrow_table` takes numeric columns without a copy. Names, which are bytes of one width (dtype S), become UTF-8
strings in C. Missing values become null: see :func:`missing`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from dgraph._support.extras import extra
from dgraph.errors import DataError
from dgraph.result.columns import UNREACHED

CHUNK_BYTES = 1 << 22
"""Bytes of fixed width that one Arrow array of names is made from: more than a cache holds takes twice as long."""


SIGNED = ("distance",)
"""Nullable columns whose negative integers are values: distances, where weights are negative."""


def missing(name: str, values: np.ndarray, nullable: Collection[str]) -> np.ndarray | None:
    """Return a mask of the values of a column that a table shows as null; None where there are none.

    Names are missing if empty. In a column for which ``nullable`` maps to a number, this number is missing, and NaN. In
    other ``nullable`` columns, floats are missing if infinite or not a number, integers if ``UNREACHED``, or negative
    in a column other than ``SIGNED``.
    """
    null = null_of(name, nullable)
    if values.dtype.kind == "S":
        mask = values == b""
    elif name not in nullable:
        return None
    elif null is not None:
        mask = (values == null) | (values != values)
    elif values.dtype.kind == "f":
        mask = ~np.isfinite(values)
    elif values.dtype.kind == "i":
        mask = values == UNREACHED
        if name not in SIGNED:
            mask |= values < 0
    else:
        return None
    return mask if mask.any() else None


def null_of(name: str, nullable: Collection[str]) -> int | float | None:
    """Return the value that stands for none in a column, where ``nullable`` has one for it."""
    return nullable.get(name) if isinstance(nullable, Mapping) else None


def arrow_arrays(name: str, values: np.ndarray, nullable: Collection[str]) -> Iterator[Any]:
    """Yield a column as Arrow arrays: one, or several of names.

    Raises:
        UsageError: pyarrow is not installed.
        DataError: a name is not UTF-8.
    """
    pyarrow = extra("pyarrow", "an Arrow table")
    rows = values.size if values.dtype.kind != "S" else max(1, CHUNK_BYTES // values.itemsize)
    for begin in range(0, max(values.size, 1), max(rows, 1)):
        part = np.ascontiguousarray(values[begin : begin + rows])
        mask = missing(name, part, nullable)
        if values.dtype.kind in "iuf":  # pyarrow.array imports pandas, .3 s
            bits = mask if mask is None else pyarrow.py_buffer(np.packbits(~mask, bitorder="little"))
            yield pyarrow.Array.from_buffers(arrow_type(part.dtype), part.size, [bits, pyarrow.py_buffer(part)])
        else:
            array = pyarrow.array(part, mask=mask)
            yield array if values.dtype.kind != "S" else _strings(pyarrow, array)


def _strings(pyarrow: Any, words: Any) -> Any:
    try:
        return words.cast(pyarrow.string())
    except pyarrow.ArrowInvalid as wrong:
        name = next(word for word in words.to_pylist() if word and word.decode(errors="ignore").encode() != word)
        raise DataError(
            f"the vertex {name!r} has a name that is not UTF-8, and tables hold UTF-8 only; recode the input (iconv "
            "-t UTF-8), or take gather(), .txt or .csv, which keep its bytes"
        ) from wrong


def arrow_type(dtype: np.dtype) -> Any:
    """Return the Arrow type of a column."""
    pyarrow = extra("pyarrow", "an Arrow table")
    return pyarrow.string() if dtype.kind == "S" else pyarrow.from_numpy_dtype(dtype)


def arrow_schema(columns: Mapping[str, np.ndarray], nullable: Collection[str]) -> Any:
    """Return the ``pyarrow.Schema`` of columns.

    A field says whether its column may have nulls. The metadata are pandas' own, so that pandas reads integers with
    nulls as ``Int64``, not as rounded floats.
    """
    pyarrow = extra("pyarrow", "an Arrow table")
    schema = pyarrow.schema(
        pyarrow.field(name, arrow_type(values.dtype), nullable=name in nullable or values.dtype.kind in "SMm")
        for name, values in columns.items()
    )
    described = [
        {"name": name, "field_name": name, "pandas_type": str(values.dtype), "metadata": None,
         "numpy_type": str(values.dtype).replace("i", "I").replace("u", "U")}
        for name, values in columns.items() if name in nullable and values.dtype.kind in "iu"
    ]  # fmt: skip
    if not described:
        return schema
    return schema.with_metadata({"pandas": json.dumps({"index_columns": [], "columns": described})})


def arrow_table(columns: Mapping[str, np.ndarray], nullable: Collection[str]) -> Any:
    """Return a ``pyarrow.Table``; raises the errors of :func:`arrow_arrays`.

    Args:
        columns: arrays of one length; names as bytes.
        nullable: columns in which :func:`missing` values are null.
    """
    pyarrow = extra("pyarrow", "an Arrow table")
    arrays = {
        name: pyarrow.chunked_array(list(arrow_arrays(name, values, nullable)), arrow_type(values.dtype))
        for name, values in columns.items()
    }
    return pyarrow.table(arrays, schema=arrow_schema(columns, nullable))


def pandas_frame(columns: Mapping[str, np.ndarray], nullable: Collection[str]) -> Any:
    """Return a ``pandas.DataFrame``; its memory is its own.

    Nullable integers are pandas' ``Int64``, nullable floats float64 with NaN, names pandas' string dtype.

    Args:
        columns: arrays of one length; names as bytes.
        nullable: columns in which :func:`missing` values are null.

    Raises:
        UsageError: pandas, or for names pyarrow, is not installed.
    """
    pandas = extra("pandas", "a DataFrame")
    return pandas.DataFrame(
        {name: _pandas_column(pandas, name, values, nullable) for name, values in columns.items()}, copy=False
    )


def _pandas_column(pandas: Any, name: str, values: np.ndarray, nullable: Collection[str]) -> Any:
    if values.dtype.kind == "S":
        pyarrow = extra("pyarrow", "a DataFrame with names of vertices")
        strings = pyarrow.chunked_array(list(arrow_arrays(name, values, nullable)), pyarrow.string())
        kind = pandas.Series([""]).dtype
        return (kind if hasattr(kind, "__from_arrow__") else pandas.StringDtype("pyarrow")).__from_arrow__(strings)
    values, mask = values.copy(), missing(name, values, nullable)
    if name in nullable and values.dtype.kind in "iu":
        return pandas.arrays.IntegerArray(values, np.zeros(values.size, bool) if mask is None else mask)
    if mask is not None:
        values[mask] = np.nan
    return values


def polars_frame(columns: Mapping[str, np.ndarray], nullable: Collection[str]) -> Any:
    """Return a ``polars.DataFrame``; raises the errors of :func:`arrow_table`."""
    polars = extra("polars", "a polars.DataFrame")
    return polars.from_arrow(arrow_table(columns, nullable))
