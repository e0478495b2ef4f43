"""Random graphs with independently drawn edges: R-MAT, Graph500's Kronecker graphs, uniform and bipartite ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.errors import UsageError
from dgraph.graph.generators.counter import draw, fraction, key, scramble, scramble_keys
from dgraph.graph.generators.recipe import Formula, Recipe, empty_ends

_ENDS, _IDS, _NOISE = 1, 2, 3


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
    noise: float = 0.0,
    parallel: bool = False,
) -> Recipe:
    """Make an R-MAT graph. a, b, c and the rest d are the quadrants (source bit, target bit) = 00, 01, 10, 11.

    Chakrabarti, Zhan, Faloutsos: R-MAT, SDM 2004. With noise, each of the four is multiplied, edge by edge and level by
    level, by a factor within 1 ± noise; without it the degree distribution oscillates. Seshadhri, Pinar, Kolda: An
    in-depth analysis of stochastic Kronecker graphs, JACM 2013.
    """
    if a + b + c > 1 + 1e-9:
        raise UsageError(f"a + b + c is {a + b + c:g}: they are shares, d is the rest; choose them so that d is ≥ 0")
    n, items = 1 << scale, int(edge_factor * (1 << scale))
    start, ids, shaken = key(seed, _ENDS), scramble_keys(seed, _IDS), key(seed, _NOISE)

    def edges(first, last):
        src, dst = empty_ends(n, last - first)
        if noise:
            _fill_noisy(first, scale, a, b, c, noise, start, shaken, permute, ids, src, dst)
        else:
            _fill_rmat(first, scale, a, a + b, a + b + c, start, permute, ids, src, dst)
        return src, dst, None

    words = (scale, int(start), int(permute), *map(int, ids))
    if noise:
        formula = Formula("noisy", (*words, int(shaken)), (a, b, c, noise))
    else:
        formula = Formula("rmat", (*words, *map(_bound, (a, a + b, a + b + c))))
    ones = (1 - a - b, 1 - a - c) if permute else None
    return Recipe(n, items, not symmetric, edges, _note("R-MAT", n, items, symmetric), formula, parallel, ones)


def _bound(share: float) -> int:
    """Return the least 53-bit value of ``fraction`` not below ``share``: exact, as is a product with 2**53."""
    return math.ceil(share * (1 << 53))


def kron(scale: int, *, edge_factor: float, seed: int, noise: float) -> Recipe:
    """Make Graph500's Kronecker graph: R-MAT with its parameters, undirected, ids permuted."""
    options: dict[str, Any] = {"edge_factor": edge_factor, "seed": seed, "noise": noise}
    return rmat(scale, a=0.57, b=0.19, c=0.19, symmetric=True, permute=True, **options)


def rmat_alb(scale: int, *, edge_factor: float, seed: int, permute: bool) -> Recipe:
    """Make the R-MAT of the papers on adaptive load balancing: its hub has almost a quarter of all edges.

    The shares are fitted to the largest out- and in-degrees reported at scales 25 to 27. Parallel edges are kept.
    """
    options: dict[str, Any] = {"edge_factor": edge_factor, "seed": seed}
    return rmat(scale, a=0.61, b=0.334, c=0.045, symmetric=False, permute=permute, parallel=True, **options)


def gtgraph(scale: int, *, edge_factor: float, seed: int, noise: float, symmetric: bool) -> Recipe:
    """Make an R-MAT graph with the shares of GTgraph.

    Bader, Madduri: GTgraph, a synthetic graph generator suite, 2006. Its code lets the shares drift from level to
    level; noise replaces that drift here.
    """
    options: dict[str, Any] = {"edge_factor": edge_factor, "seed": seed, "noise": noise}
    return rmat(scale, a=0.45, b=0.15, c=0.15, symmetric=symmetric, permute=True, **options)


def bipartite(size: tuple[int, int], *, edge_factor: float, seed: int) -> Recipe:
    """Make a bipartite graph: left vertices 0 .. LEFT-1, then right ones; both ends of an edge are drawn uniformly."""
    left, right = size
    items = int(edge_factor * (left + right))
    start = key(seed, _ENDS)

    def edges(first, last):
        src, dst = empty_ends(left + right, last - first)
        _fill_bipartite(first, np.uint64(left), np.uint64(right), start, src, dst)
        return src, dst, None

    note = f"bipartite: {items} edges drawn between {left} and {right} vertices"
    formula = Formula("bipartite", (left, right, int(start)))
    return Recipe(left + right, items, False, edges, note, formula=formula)


def uniform(scale: int, *, edge_factor: float, seed: int, symmetric: bool) -> Recipe:
    """Make an Erdős–Rényi graph G(n, m), its m edges drawn with replacement."""
    n, items = 1 << scale, int(edge_factor * (1 << scale))
    start = key(seed, _ENDS)

    def edges(first, last):
        src, dst = empty_ends(n, last - first)
        _fill_uniform(first, np.uint64(n - 1), start, src, dst)
        return src, dst, None

    formula = Formula("uniform", (n - 1, int(start)))
    return Recipe(n, items, not symmetric, edges, _note("uniform", n, items, symmetric), formula=formula)


def _note(kind, n, items, symmetric):
    direction = "undirected" if symmetric else "directed unless `symmetric` is given"
    return f"{kind}: {items} edges drawn over {n} vertices, {direction}"


def _fill_few_rmat(first, scale, a, ab, abc, start, permute, ids, src, dst):
    numbers = np.arange(first, first + src.size)
    u, v = np.zeros((2, src.size), np.uint64)
    for level in range(scale):
        share = plain(fraction)(plain(draw)(start, numbers, level))
        u = (u << np.uint64(1)) | (share >= ab)
        v = (v << np.uint64(1)) | (((share >= a) & (share < ab)) | (share >= abc))
    src[:], dst[:] = (plain(scramble)(x, scale, ids) if permute else x for x in (u, v))


@njit(cache=True, nogil=True, few=_fill_few_rmat)
def _fill_rmat(first, scale, a, ab, abc, start, permute, ids, src, dst):
    for i in range(src.size):
        u, v = np.uint64(0), np.uint64(0)
        for level in range(scale):
            share = fraction(draw(start, first + i, level))
            lower = share >= ab
            right = ((share >= a) & (share < ab)) | (share >= abc)
            u = (u << np.uint64(1)) | np.uint64(lower)
            v = (v << np.uint64(1)) | np.uint64(right)
        if permute:
            u, v = scramble(u, scale, ids), scramble(v, scale, ids)
        src[i], dst[i] = u, v


@njit(cache=True, nogil=True)
def _fill_uniform(first, mask, start, src, dst):
    for i in range(src.size):
        src[i] = draw(start, first + i, 0) & mask
        dst[i] = draw(start, first + i, 1) & mask


@njit(cache=True, nogil=True)
def _fill_noisy(first, scale, a, b, c, noise, start, shaken, permute, ids, src, dst):
    d = 1.0 - a - b - c
    sixteenth = 2.0 * noise / 65535.0
    for i in range(src.size):
        u, v = np.uint64(0), np.uint64(0)
        for level in range(scale):
            bits = draw(shaken, first + i, level)
            na = a * (1.0 - noise + sixteenth * np.float64(bits & np.uint64(65535)))
            nb = b * (1.0 - noise + sixteenth * np.float64((bits >> np.uint64(16)) & np.uint64(65535)))
            nc = c * (1.0 - noise + sixteenth * np.float64((bits >> np.uint64(32)) & np.uint64(65535)))
            nd = d * (1.0 - noise + sixteenth * np.float64(bits >> np.uint64(48)))
            share = fraction(draw(start, first + i, level)) * (na + nb + nc + nd)
            lower = share >= na + nb
            right = ((share >= na) & (share < na + nb)) | (share >= na + nb + nc)
            u = (u << np.uint64(1)) | np.uint64(lower)
            v = (v << np.uint64(1)) | np.uint64(right)
        if permute:
            u, v = scramble(u, scale, ids), scramble(v, scale, ids)
        src[i], dst[i] = u, v


@njit(cache=True, nogil=True)
def _fill_bipartite(first, left, right, start, src, dst):
    for i in range(src.size):
        src[i] = draw(start, first + i, 0) % left
        dst[i] = left + draw(start, first + i, 1) % right
