"""Road networks: sparse, connected, of large diameter, like the graphs of DIMACS's 9th challenge.

Vertices are the points of a jittered grid. Each has three candidate edges: to its left, above, and diagonally above on
a random side. One of them, drawn at random, always exists: these form a spanning tree. The other two exist with a small
probability. The mean degree is about 2 + 4 extra (2.4, as in the road map of the USA), a fifth of the vertices are dead
ends, and the diameter is about 2 sqrt(n).
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.generators.counter import draw, fraction, key
from dgraph.graph.generators.lattice import SCALE, SPREAD, point
from dgraph.graph.generators.recipe import Formula, Recipe, empty_ends

_JOINS, _JITTER = 1, 2


def roadnet(size: tuple[int, int], *, extra: float, seed: int) -> Recipe:
    """Make a road network. Items 3 v, 3 v + 1 and 3 v + 2 are vertex v's candidate edges; most do not exist."""
    rows, columns = size
    joins, jitter = key(seed, _JOINS), key(seed, _JITTER)

    def edges(first, last):
        src, dst = empty_ends(rows * columns, last - first)
        weights = np.empty(last - first, np.int32)
        kept = _fill(first, last, columns, extra, joins, jitter, src, dst, weights)
        return src[:kept], dst[:kept], weights[:kept]

    note = f"road network of {rows} x {columns} points, a tree and {100 * extra:g} % of the joins beside it"
    formula = Formula("roadnet", (columns, int(joins), int(jitter)), (extra, SPREAD, SCALE), weighted=True)
    return Recipe(rows * columns, 3 * rows * columns, False, edges, note, formula=formula, span=columns + 1)


@njit(cache=True, nogil=True)
def _fill(first, last, columns, extra, joins, jitter, src, dst, weights):
    kept = 0
    for number in range(first, last):
        v, kind = divmod(number, 3)
        row, column = divmod(v, columns)
        bits = draw(joins, v, 0)
        side = 1 if bits & np.uint64(1) else -1
        may = (column > 0, row > 0, row > 0 and 0 <= column + side < columns)
        if not may[kind]:
            continue
        # The tree edge is the k-th of the candidates that lie within the grid.
        k = np.int64((bits >> np.uint64(1)) % np.uint64(may[0] + may[1] + may[2]))
        rank = np.int64(0)
        for other in range(kind):
            rank += may[other]
        if rank != k and fraction(draw(joins, v, 1 + kind)) >= extra:
            continue
        u = v - 1 if kind == 0 else v - columns if kind == 1 else v - columns + side
        (ux, uy), (vx, vy) = point(u, columns, jitter), point(v, columns, jitter)
        slowness = 0.1 + 0.9 * fraction(draw(joins, v, 4 + kind))
        src[kept], dst[kept] = u, v
        weights[kept] = np.int32(1 + SCALE * slowness * np.sqrt((ux - vx) ** 2 + (uy - vy) ** 2))
        kept += 1
    return kept
