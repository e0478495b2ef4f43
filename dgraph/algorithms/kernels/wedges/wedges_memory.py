"""GPU memory for counting triangles: oriented rows, a bitmap of arcs between hubs, and arrays of vertices."""

from __future__ import annotations

from math import isqrt

from dgraph.backend.kernel_register import RowMemory

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


class WedgeMemory(RowMemory):
    """Memory of one GPU, with the bitmap."""

    def of(self, vertices: int, arcs: int, masters: int, n: int) -> int:
        """Return the bytes beside a graph of this size."""
        return super().of(vertices, arcs, masters, n) + 4 * bitmap_words(hubs_of(vertices, arcs))
