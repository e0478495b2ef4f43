"""Attributes as users pass them: columns of numbers, booleans, times or text, of any library.

:func:`kept_columns` is the entry for edges, :func:`attribute_array` for a column of vertices. Each rank passes its
rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.build.array_input import ROUNDED, missing_values
from dgraph.graph.build.attribute_columns import CURE, CodedText, attributes_of, of_arrow, refuse_rounded
from dgraph.graph.edge_attributes import EdgeAttribute
from dgraph.graph.inputs.column_arrays import column_array, kinds_of
from dgraph.graph.inputs.weight_values import is_number, number_array
from dgraph.graph.names import ENCODING


def kept_columns(
    columns: Mapping[str, Any], rules: Mapping[str, str], size: int, comm: Comm
) -> dict[str, EdgeAttribute]:
    """Return the columns of all ranks as attributes; collective.

    Args:
        columns: name → column, on this rank; none on a rank without rows.
        rules: name → value of merged parallel edges, equal on all ranks: see :class:`EdgeAttribute`.
        size: rows on this rank.
        comm: communicator of the ranks.

    Raises:
        UsageError: a column of another type, or of another length, or a rule that its values do not have.
        DataError: a boolean that is missing, with its row.
    """
    with comm.together():
        arrays = {name: attribute_array(columns.get(name), f"keep {name}") for name in rules}
    return attributes_of(arrays, rules, size, comm)


def attribute_array(column: Any, what: str) -> np.ndarray | CodedText:
    """Return a column as an array of bool, numbers or times, or as text (also str and None, dtype object).

    Objects that are all missing, of no declared type, are NaN.

    Raises:
        UsageError: a column of another type or shape.
        DataError: a boolean that is missing, with its row.
    """
    values = column_array(column, what)
    if not isinstance(values, np.ndarray):
        return of_arrow(values, what)
    if values.ndim != 1:
        raise UsageError(f"{what} has shape {values.shape}; give shape (rows,)")
    if values.dtype.kind == "O":
        return _of_objects(values, what)
    if values.dtype.kind in "US":
        return values.astype(object) if values.dtype.kind == "U" else np.char.decode(values, *ENCODING).astype(object)
    if values.dtype.kind not in "biufMm" or values.dtype.itemsize > 8:
        raise UsageError(f"{what}: got values of {values.dtype}; {CURE}")
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def _of_objects(values: np.ndarray, what: str) -> np.ndarray:
    """Return Python's objects as numbers, times or text."""
    missing = missing_values(values)
    kinds = set(map(type, values[~missing].tolist()))
    if all(issubclass(kind, str) for kind in kinds):
        return np.where(missing, np.array(None), values) if kinds or not missing.any() else np.full(values.size, np.nan)
    if kinds <= {bool, np.bool_} and not missing.any():
        return values.astype(bool)
    if all(map(is_number, kinds)) and not kinds & {bool, np.bool_}:
        numbers, note = number_array(values[~missing], what)
        if note == ROUNDED:
            raise UsageError(f"{what}: an integer beyond 2^53 would become a float; convert the column to text")
        if not missing.any():
            return numbers
        filled = np.zeros(values.size, numbers.dtype)
        filled[~missing] = numbers
        refuse_rounded(filled, what)
        return np.where(missing, np.nan, filled)
    if all(issubclass(kind, (date, np.datetime64)) for kind in kinds):
        if any(getattr(value, "tzinfo", None) is not None for value in values.tolist()):
            raise UsageError(
                f"{what}: got times with a time zone in a list; make them UTC without a zone, or pass a Series"
            )
        return np.where(missing, np.datetime64("NaT"), values).astype("datetime64[us]")
    raise UsageError(f"{what}: got values of {kinds_of(values)}; {CURE}")
