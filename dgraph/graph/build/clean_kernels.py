"""Kernels that clean edges: the rank of each arc's row, self-loops, and rows that an arc enters."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.rows import places

PIECE = 1 << 16
"""Targets that NumPy takes at a time."""
MANY = 1 << 24
"""Arcs of a graph beyond which :func:`clear` and :func:`count_loops` are compiled, also for the pieces of threads."""


def _clear_few(targets, first, empty):
    for begin in range(0, targets.size, PIECE):  # NumPy's indices are copies of eight bytes
        empty[targets[begin : begin + PIECE] - targets.dtype.type(first)] = False


@njit(cache=True, nogil=True, few=_clear_few, most=MANY)
def clear(targets, first, empty):
    """Set ``empty`` to False for the rows of ``targets``."""
    for i in range(targets.size):
        row = np.uintp(np.int64(targets[i]) - first)
        if empty[row]:  # a write would take the line from the caches of other cores
            empty[row] = False


def by_row(src: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many arcs go to each rank, and the arcs' positions grouped by that rank."""
    owner = np.searchsorted(cuts[1:-1], src, side="right")
    counts, order = np.bincount(owner, minlength=cuts.size - 1), np.empty(src.size, np.int64)
    order[places(owner, np.cumsum(counts) - counts)] = np.arange(src.size)
    return counts, order


def _count_few_loops(offsets, targets, first):
    rows = np.repeat(np.arange(first, first + offsets.size - 1), np.diff(offsets))
    return int(np.count_nonzero(rows == targets[offsets[0] : offsets[-1]]))


@njit(cache=True, nogil=True, few=_count_few_loops, most=MANY)
def count_loops(offsets, targets, first):
    """Return the number of self-loop entries in sorted rows."""
    loops = 0
    for row in range(offsets.size - 1):
        low, high = offsets[row], offsets[row + 1]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if np.int64(targets[middle]) < row + first:
                low = middle + 1
            else:
                high = middle
        while low < end and np.int64(targets[low]) == row + first:
            loops += 1
            low += 1
    return loops
