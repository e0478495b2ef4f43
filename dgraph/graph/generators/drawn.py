"""Graphs of 2**scale vertices whose edges are drawn one by one: R-MAT, Graph500's Kronecker graphs, uniform ones."""

from __future__ import annotations

import numpy as np
from numba import njit

from dgraph.errors import UsageError
from dgraph.graph.generators.counter import draw, fraction, key, scramble, scramble_keys
from dgraph.graph.generators.recipe import Recipe, empty_ends

_ENDS, _IDS = 1, 2


def rmat(
    scale: int,
    *,
    edge_factor: float,
    seed: int,
    a: float,
    b: float,
    c: float,
    symmetric: bool,
    permute: bool,
) -> Recipe:
    """Chakrabarti, Zhan, Faloutsos: R-MAT, SDM 2004. a, b, c and the rest d are the quadrants (source bit, target
    bit) = 00, 01, 10, 11."""
    if a + b + c > 1 + 1e-9:
        raise UsageError(f"a + b + c is {a + b + c:g}: they are shares, d is the rest; choose them so that d is ≥ 0")
    n, items = 1 << scale, int(edge_factor * (1 << scale))
    start, ids = key(seed, _ENDS), scramble_keys(seed, _IDS)

    def edges(first, last):
        src, dst = empty_ends(n, last - first)
        _fill_rmat(first, scale, a, a + b, a + b + c, start, permute, ids, src, dst)
        return src, dst, None

    return Recipe(n, items, not symmetric, edges, _note("R-MAT", n, items, symmetric))


def kron(scale: int, *, edge_factor: float, seed: int) -> Recipe:
    """Graph500's generator: R-MAT with its parameters, undirected, ids permuted."""
    return rmat(scale, edge_factor=edge_factor, seed=seed, a=0.57, b=0.19, c=0.19, symmetric=True, permute=True)


def uniform(scale: int, *, edge_factor: float, seed: int, symmetric: bool) -> Recipe:
    """Erdős–Rényi G(n, m), the m edges drawn with replacement."""
    n, items = 1 << scale, int(edge_factor * (1 << scale))
    start = key(seed, _ENDS)

    def edges(first, last):
        src, dst = empty_ends(n, last - first)
        _fill_uniform(first, np.uint64(n - 1), start, src, dst)
        return src, dst, None

    return Recipe(n, items, not symmetric, edges, _note("uniform", n, items, symmetric))


def _note(kind, n, items, symmetric):
    direction = "undirected" if symmetric else "directed unless `symmetric` is given"
    return f"{kind}: {items} edges drawn over {n} vertices, {direction}"


@njit(cache=True)
def _fill_rmat(first, scale, a, ab, abc, start, permute, ids, src, dst):
    for i in range(src.size):
        u, v = np.uint64(0), np.uint64(0)
        for level in range(scale):
            at = fraction(draw(start, first + i, level))
            lower = at >= ab
            right = ((at >= a) & (at < ab)) | (at >= abc)
            u = (u << np.uint64(1)) | np.uint64(lower)
            v = (v << np.uint64(1)) | np.uint64(right)
        if permute:
            u, v = scramble(u, scale, ids), scramble(v, scale, ids)
        src[i], dst[i] = u, v


@njit(cache=True)
def _fill_uniform(first, mask, start, src, dst):
    for i in range(src.size):
        src[i] = draw(start, first + i, 0) & mask
        dst[i] = draw(start, first + i, 1) & mask
