"""GPU memory for counting triangles: oriented rows, a bitmap of arcs between hubs, and arrays of vertices."""

from __future__ import annotations

from math import isqrt

from dgraph.backend.row_solver import RowSize

MOST_HUBS = 1 << 18
"""Most vertices of the bitmap, whose words have 32-bit numbers."""


def hubs_of(vertices: int, arcs: int) -> int:
    """Return the number of vertices of the bitmap.

    It takes as many bytes as the neighbours of all rows. Its vertices are in more than nine tenths of the wedges
    of R-MAT up to scale 22; other wedges take a binary search.
    """
    return min(vertices, 8 * isqrt(arcs), MOST_HUBS)


def bitmap_words(hubs: int) -> int:
    """Return the words before the row of vertex ``hubs``, as ``hub_word`` counts them."""
    return (hubs // 32 + 1) * (hubs - hubs // 32 * 16)


def bytes_to_count(size: RowSize) -> int:
    """Return the bytes to count the triangles of a graph that is whole on one GPU.

    A vertex takes 28: starts of oriented rows (8), distinct neighbours (4), counts and shares (8 each). An arc takes 2,
    half of a target. The bitmap has 4 a word.
    """
    return 28 * size.vertices + 2 * size.arcs + 4 * bitmap_words(hubs_of(size.vertices, size.arcs))
