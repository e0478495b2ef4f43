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
        return columns.find(name, find)
    values = columns[name]
    return find(values.__getitem__, len(values), ROWS, np.asarray)


def _largest(
    k: int, null: int | float | None,
    piece: Callable[[slice], Any], size: int, most: int, get: Callable[[Any], np.ndarray],
    ids: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Find the rows; the arguments after ``null`` are those of :data:`~dgraph.result.columns.Reader`.

    ``ids``: rows of equal values are taken in ascending order of these; None: of the rows.
    """
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
            valid &= part > values[-1] if ids is None else part >= values[-1]  # no later row of an equal value, or id
        here = np.flatnonzero(valid)
        if here.size:
            largest, place = get(part[here]), get(here).astype(np.int64) + first
            values, rows = (np.concatenate(both) for both in ((values.astype(largest.dtype), largest), (rows, place)))
            if rows.size >= k:
                values, rows = _first(values, rows, k, ids)
        first += length
        length = min(GROWTH * length, most)
    return _first(values, rows, values.size, ids)[1]


def _first(values: np.ndarray, rows: np.ndarray, k: int, ids: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``k`` largest values and their rows, in order; ids, or rows, ascend at equal values."""
    if k < values.size:
        kept = values >= np.partition(values, values.size - k)[values.size - k]
        values, rows = values[kept], rows[kept]
    order = np.lexsort((rows if ids is None else ids[rows], descending(values)))[:k]
    return values[order], rows[order]


def descending(values: np.ndarray) -> np.ndarray:
    """Return a key that sorts values in descending order."""
    return ~values if np.issubdtype(values.dtype, np.integer) else -values
