"""Grids, and road networks derived from them. A point's vertex is ``row * columns + column``.

Edges are numbered row by row, so that a slice of the edges touches a slice of the vertices.
"""

from __future__ import annotations

import math

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.generators.counter import draw, fraction, key
from dgraph.graph.generators.recipe import Formula, Recipe, empty_ends

_DROP, _JITTER = 1, 2
SPREAD = 0.3
"""Largest offset of a road's crossing from its grid point along each axis; the grid's spacing is 1."""
SCALE = 620.0
"""A road's weight is 620 × its length × its slowness, a factor in [0.1, 1)."""


def grid(size: tuple[int, int], *, torus: bool, directed: bool) -> Recipe:
    """Make a 4-neighbour grid; ``torus`` joins the far sides (of 3 or more); directed arcs point right and down."""
    rows, columns = size
    across = columns if torus and columns > 2 else columns - 1
    down = rows if torus and rows > 2 else rows - 1

    def edges(first, last):
        src, dst = empty_ends(rows * columns, last - first)
        _fill_grid(first, rows, columns, across, src, dst)
        return src, dst, None

    shape = "torus" if torus else "grid"
    items, formula = rows * across + columns * down, Formula("grid", (rows, columns, across))
    note = f"{shape} of {rows} x {columns}"
    return Recipe(rows * columns, items, directed, edges, note, formula=formula, span=columns)


def road(size: tuple[int, int], *, drop: float, seed: int) -> Recipe:
    """Make a grid with jittered points and a share ``drop`` of its edges missing; weights as on a road map."""
    columns = size[1]
    whole = grid(size, torus=False, directed=False)
    drop_key, jitter_key = key(seed, _DROP), key(seed, _JITTER)

    def edges(first, last):
        src, dst, _ = whole.edges(first, last)
        weights = np.empty(last - first, np.int32)
        kept = _thin_and_weigh(first, columns, drop, drop_key, jitter_key, src, dst, weights)
        return src[:kept], dst[:kept], weights[:kept]

    shortest, longest = 1 - 2 * SPREAD, math.hypot(1 + 2 * SPREAD, 2 * SPREAD)
    low, high = int(0.1 * SCALE * shortest), int(SCALE * longest)
    note = f"road: {whole.note}, {100 * drop:g} % of its edges dropped, weights {low}..{high}"
    formula = Formula("road", (columns, int(drop_key), int(jitter_key)), (drop, SPREAD, SCALE), weighted=True)
    return Recipe(whole.n, whole.items, False, edges, note, formula=formula, span=columns)


@njit(cache=True, nogil=True)
def _fill_grid(first, rows, columns, across, src, dst):
    row, position = divmod(first, across + columns)
    for i in range(src.size):
        if position < across:
            u, v = row * columns + position, row * columns + (position + 1) % columns
        else:
            u = row * columns + position - across
            v = (u + columns) % (rows * columns)
        src[i], dst[i] = u, v
        position += 1
        if position == across + columns:
            row, position = row + 1, 0


@njit(cache=True, nogil=True)
def _thin_and_weigh(first, columns, drop, drop_key, jitter_key, src, dst, weights):
    kept = 0
    for i in range(src.size):
        if fraction(draw(drop_key, first + i, 0)) < drop:
            continue
        u, v = np.int64(src[i]), np.int64(dst[i])
        (ux, uy), (vx, vy) = point(u, columns, jitter_key), point(v, columns, jitter_key)
        slowness = 0.1 + 0.9 * fraction(draw(drop_key, first + i, 1))
        length = np.sqrt((ux - vx) ** 2 + (uy - vy) ** 2)
        src[kept], dst[kept] = src[i], dst[i]
        weights[kept] = np.int32(SCALE * slowness * length)
        kept += 1
    return kept


@njit(no_cpython_wrapper=True, forceinline=True)
def point(vertex, columns, jitter_key):
    """Return the jittered coordinates of a vertex, in units of the grid's spacing."""
    x = vertex % columns + SPREAD * (2 * fraction(draw(jitter_key, vertex, 0)) - 1)
    y = vertex // columns + SPREAD * (2 * fraction(draw(jitter_key, vertex, 1)) - 1)
    return x, y
