"""Star, path, complete graph, tree, and Watts and Strogatz's small worlds. All are undirected."""

from __future__ import annotations

import math

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import UsageError
from dgraph.graph.block import gid_type
from dgraph.graph.generators.counter import draw, fraction, key
from dgraph.graph.generators.recipe import Formula, Recipe, empty_ends

_REWIRE = 1


def star(n: int) -> Recipe:
    """Make a star: vertex 0 is joined to all others."""

    def edges(first, last):
        dst = np.arange(first + 1, last + 1, dtype=gid_type(n))
        return np.zeros_like(dst), dst, None

    return Recipe(n, n - 1, False, edges, f"star of {n} vertices, hub 0", formula=Formula("star"))


def path(n: int) -> Recipe:
    """Make a path: each vertex is joined to the next."""

    def edges(first, last):
        src = np.arange(first, last, dtype=gid_type(n))
        return src, src + src.dtype.type(1), None

    return Recipe(n, n - 1, False, edges, f"path of {n} vertices", formula=Formula("path"), span=1)


def complete(n: int) -> Recipe:
    """Make a complete graph; edges are numbered by source, the smaller end."""
    items = n * (n - 1) // 2

    def edges(first, last):
        src, dst = empty_ends(n, last - first)
        if src.size:
            # Counted from the last edge, source n - 2 - k begins after k (k + 1) / 2 edges.
            k = (math.isqrt(8 * (items - 1 - first) + 1) - 1) // 2
            u = n - 2 - k
            _fill_complete(n, u, u + 1 + first - u * (2 * n - u - 1) // 2, src, dst)
        return src, dst, None

    formula = Formula("complete", (n, items))
    return Recipe(n, items, False, edges, f"complete graph of {n} vertices", formula=formula)


def tree(n: int, *, arity: int) -> Recipe:
    """Make a tree filled level by level: the parent of vertex v > 0 is ``(v - 1) // arity``; the root is 0."""
    children = max(1, min(arity, n - 1))

    def edges(first, last):
        dst = np.arange(first + 1, last + 1, dtype=gid_type(n))
        return (dst - dst.dtype.type(1)) // dst.dtype.type(children), dst, None

    note = f"tree of {n} vertices, {arity} children each"
    return Recipe(n, n - 1, False, edges, note, formula=Formula("tree", (children,)))


def smallworld(n: int, *, k: int, p: float, seed: int) -> Recipe:
    """Make a ring with k nearest neighbours; each edge's far end is rewired with probability p.

    The new end is any other vertex, uniformly. Watts, Strogatz: Collective dynamics of small-world networks, Nature
    393, 1998.
    """
    if k % 2 or k >= n:
        raise UsageError(f"k={k} of {n} vertices: k counts neighbours on both sides; give an even k below {n}")
    start = key(seed, _REWIRE)

    def edges(first, last):
        src, dst = empty_ends(n, last - first)
        _fill_smallworld(first, n, k // 2, p, start, src, dst)
        return src, dst, None

    note = f"small world: ring of {n} vertices, {k} neighbours, {p:g} rewired"
    return Recipe(n, n * k // 2, False, edges, note, formula=Formula("smallworld", (n, k // 2, int(start)), (p,)))


@njit(cache=True, nogil=True)
def _fill_complete(n, u, v, src, dst):
    for i in range(src.size):
        src[i], dst[i] = u, v
        v += 1
        if v == n:
            u += 1
            v = u + 1


@njit(cache=True, nogil=True)
def _fill_smallworld(first, n, side, p, start, src, dst):
    for i in range(src.size):
        u, near = divmod(first + i, side)
        away = near + 1
        if fraction(draw(start, first + i, 0)) < p:
            away = 1 + np.int64(draw(start, first + i, 1) % np.uint64(n - 1))
        src[i], dst[i] = u, (u + away) % n
