"""Rows of the largest values of a column, found where the column is: on the host or on a GPU.

The column is read in pieces of growing size. Of each piece, the host receives the values above the ``k``-th largest so
far, which are few unless values ascend by row. So a column of a GPU stays there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from dgraph.result.columns import ROWS, UNREACHED, Columns

FIRST, GROWTH = 1 << 16, 16
"""Rows of the first piece, and the ratio of one piece to the one before."""


def largest_rows(columns: Mapping[str, np.ndarray], name: str, k: int, null: int | float | None = None) -> np.ndarray:
    """Return the rows of the ``k`` largest values of a column, largest first; ties by lowest row.

    Rows without a value (``null``, ``UNREACHED``, infinite, not a number) are left out, so there may be fewer than
    ``k``.

    Returns:
        int64, shape (at most k,).
    """
    find = partial(_largest, k, null)
    if isinstance(columns, Columns):
        return columns.read(name, find)
    values = columns[name]
    return find(values.__getitem__, len(values), ROWS, np.asarray)


def _largest(
    k: int, null: int | float | None,
    piece: Callable[[slice], Any], size: int, most: int, get: Callable[[Any], np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Find the rows; the arguments after ``null`` are those of :data:`~dgraph.result.columns.Reader`."""
    values, rows = np.empty(0), np.empty(0, np.int64)
    first, length = 0, FIRST
    while first < size and k > 0:
        part = piece(slice(first, first + length))
        valid = np.isfinite(part) if part.dtype.kind == "f" else part == part
        if part.dtype == np.int64:
            valid = part != UNREACHED
        if null is not None:
            valid = valid & (part != null)
        if rows.size == k:
            valid = valid & (part > values[-1])  # a later row of an equal value is not wanted
        here = np.flatnonzero(valid)
        if here.size:
            largest, place = get(part[here]), get(here).astype(np.int64) + first
            values, rows = (np.concatenate(both) for both in ((values.astype(largest.dtype), largest), (rows, place)))
            if rows.size >= k:
                values, rows = _first(values, rows, k)
        first += length
        length = min(GROWTH * length, most)
    order = np.lexsort((rows, descending(values)))
    return rows[order]


def _first(values: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` largest values and their rows, in order; rows ascend at equal values."""
    least = np.partition(values, values.size - k)[values.size - k]
    kept = np.flatnonzero(values >= least)
    order = kept[np.lexsort((rows[kept], descending(values[kept])))[:k]]
    return values[order], rows[order]


def descending(values: np.ndarray) -> np.ndarray:
    """Return a key that sorts values in descending order."""
    return ~values if np.issubdtype(values.dtype, np.integer) else -values
