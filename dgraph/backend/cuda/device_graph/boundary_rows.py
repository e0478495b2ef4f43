"""Rows split into boundary and interior: edges into mirrors first, then edges into masters.

Each kind keeps its order. Overlapped pushes (``push_overlap.py``) use them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def split_rows(offsets: Any, neighbours: Any, weights: Any, masters: int, xp: Any, some: int) -> tuple[Any, Any, Any]:
    """Return copies of rows with edges into mirrors first.

    Args:
        offsets: uint32 (rows + 1,).
        neighbours: uint32 (edges,).
        weights: (edges,) or None.
        masters: number of masters; vertices from there on are mirrors.
        xp: the array module.
        some: edges at a time; bounds the scratch memory, however long a row is.

    Returns:
        neighbours, weights, and the first edge into a master of each row: uint32 (rows,).
    """
    edges, row = len(neighbours), 0
    ends = xp.asarray(np.minimum(np.arange(0, edges, some) + some, edges).astype(np.uint32))
    before = xp.zeros(len(offsets), np.uint32)  # edges into mirrors before each row
    rows_begun = xp.searchsorted(offsets, ends).tolist()  # rows that begin before each end
    for (first, _, counts), stop in zip(_counted(neighbours, masters, xp, some), rows_begun, strict=True):
        before[row:stop] = counts[offsets[row:stop] - np.uint32(first)]
        before[stop:] = counts[-1]
        row = stop
    moved, carried = xp.empty_like(neighbours), None if weights is None else xp.empty_like(weights)
    for first, mirrored, counts in _counted(neighbours, masters, xp, some):
        stop = first + len(mirrored)
        to = _places(offsets, before, mirrored, counts, xp.arange(first, stop, dtype=np.uint32), xp)
        moved[to] = neighbours[first:stop]
        if carried is not None:
            carried[to] = weights[first:stop]
    middles = before[1:] - before[:-1]
    middles += offsets[:-1]
    return moved, carried, middles


def _counted(neighbours: Any, masters: int, xp: Any, some: int) -> Iterator[tuple[int, Any, Any]]:
    """Yield by piece: its first edge, the mask of edges into mirrors, and the exclusive prefix sums of that mask."""
    before = 0
    for first in range(0, len(neighbours), some):
        mirrored = neighbours[first : first + some] >= masters
        counts = xp.full(len(mirrored) + 1, before, np.uint32)
        counts[1:] += xp.cumsum(mirrored, dtype=np.uint32)
        yield first, mirrored, counts
        before = int(counts[-1])


def _places(offsets: Any, before: Any, mirrored: Any, counts: Any, e: Any, xp: Any) -> Any:
    """Return the new places of edges ``e``: boundary edges at the front of their row, interior edges behind them."""
    row = xp.searchsorted(offsets, e, side="right")
    row -= 1
    boundary = offsets[row]
    boundary -= before[row]
    boundary += counts[:-1]
    row += 1
    e += before[row]
    e -= counts[:-1]
    return xp.where(mirrored, boundary, e)
