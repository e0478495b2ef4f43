"""Graphs that the peers' GPU figures were measured on, generated on a GPU with equal edges on every machine.

CuPy's generator draws R-MAT and grid edges in a fixed order, so that counts and checksums can be compared with those of
the graphs that Gunrock and cuGraph ran on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dgraph
from dgraph.tools.benchmarking import Gpu

GOLDEN = 0x9E3779B97F4A7C15
DRAWN = 1 << 26
"""Edges generated at a time; part of a graph's definition."""


@dataclass(frozen=True)
class Recipe:
    """Definition of one graph.

    Attributes:
        kind: "rmat", "uniform" or "road".
        numbers: rmat: scale, edges, seed, a, b, c; uniform: scale, edges, seed; road: rows, columns, kept, seed.
        symmetric: both arcs of every edge, merged, without loops.
        heaviest: largest weight.
        arcs, checksum: those of the graph that the peers were measured on; 0: they ran on no such graph.
    """

    kind: str
    numbers: tuple
    symmetric: bool
    heaviest: int
    arcs: int
    checksum: int


RECIPES = {
    "rmat25": Recipe("rmat", (25, 16 << 25, 1, 0.57, 0.19, 0.19), False, 255, 536870912, 16692945216046053875),
    "rmat26": Recipe("rmat", (26, 16 << 26, 6, 0.57, 0.19, 0.19), False, 255, 1073741824, 10457989085911819486),
    "rmat25alb": Recipe("rmat", (25, 16 << 25, 8, 0.61, 0.334, 0.045), False, 255, 536870912, 11492809384583803357),
    "rmat22sym": Recipe("rmat", (22, 16 << 22, 5, 0.57, 0.19, 0.19), True, 255, 128308874, 662756861219410686),
    "rmat24sym": Recipe("rmat", (24, 16 << 24, 2, 0.57, 0.19, 0.19), True, 255, 520766446, 12573225248487791249),
    "rmat25sym": Recipe("rmat", (25, 16 << 25, 9, 0.57, 0.19, 0.19), True, 255, 1047210064, 9375420516527043155),
    "rmat20gt": Recipe("rmat", (20, 8_260_000, 10, 0.45, 0.192, 0.192), False, 255, 8260000, 18110211697826309268),
    "er20": Recipe("uniform", (20, 4_190_000, 11), False, 255, 4190000, 9183485354231641385),
    "road24M": Recipe("road", (4900, 4900, 0.60, 3), True, 1000, 57607576, 14683912395443914319),
}
"""Name → recipe. rmat25alb: one vertex has 23 % of all edges. road24M: a grid that keeps 60 % of its edges."""


@dataclass(frozen=True)
class Drawn:
    """A graph in the memory of a GPU. ``rows``: CuPy's int64 offsets (n + 1,), int32 targets and weights (arcs,)."""

    rows: tuple[Any, Any, Any]
    directed: bool

    @property
    def n(self) -> int:
        return self.rows[0].size - 1

    @property
    def arcs(self) -> int:
        return int(self.rows[1].size)


def graph(name: str) -> Drawn:
    """Return the graph of a name.

    Raises:
        SystemExit: its edges differ from those that the peers were measured on.
    """
    recipe = RECIPES[name]
    built = drawn(recipe)
    if recipe.checksum and (built.arcs, _checksum(*built.rows[1:])) != (recipe.arcs, recipe.checksum):
        raise SystemExit(f"{name}: other edges than the peers ran on; nothing was measured")
    return built


def sized(recipe: Recipe, scale: int) -> Recipe:
    """Return the recipe of a graph of 2^scale vertices and as many edges a vertex, which no peer ran on."""
    first, second, *others = recipe.numbers
    if recipe.kind == "road":
        numbers = 1 << scale // 2, 1 << scale - scale // 2, *others
    else:
        numbers = scale, round(second * 2.0 ** (scale - first)), *others
    return replace(recipe, numbers=numbers, arcs=0, checksum=0)


def drawn(recipe: Recipe) -> Drawn:
    """Return the graph of any recipe."""
    n, src, dst = _DRAW[recipe.kind](*recipe.numbers)
    return Drawn(_sort_rows(n, src, dst, recipe), directed=not recipe.symmetric)


def shared(name: str, count: int, gpu: Gpu, comm: dgraph.Comm) -> tuple[dgraph.Graph, list[int]]:
    """Return the graph on all ranks, and sources: each rank's GPU generates all of it, and the rank keeps its rows."""
    import cupy as cp

    gpu.free_unused()  # of the graph before
    built = graph(name)
    chosen, (offsets, targets, weights) = sources(built, count), built.rows
    cuts = cp.searchsorted(offsets, cp.arange(1, comm.size) * (built.arcs / comm.size)).tolist()
    first, last = [0, *cuts, built.n][comm.rank : comm.rank + 2]
    low, high = int(offsets[first]), int(offsets[last])
    mine = [(offsets[first : last + 1] - low).get(), targets[low:high].get(), weights[low:high].get()]
    directed = built.directed
    del built, offsets, targets, weights
    gpu.free_unused()
    return dgraph.Graph.from_csr(*mine, directed=directed, comm=comm, keep_loops=True, keep_parallel=True), chosen


def sources(graph: Drawn, count: int) -> list[int]:
    """Return the vertex of most edges, followed by random vertices with edges."""
    degrees = graph.rows[0][1:] - graph.rows[0][:-1]
    draw = np.random.RandomState(7)
    chosen = [int(degrees.argmax())]
    while len(chosen) < count:
        v = int(draw.randint(0, degrees.size))
        if int(degrees[v]):
            chosen.append(v)
    return chosen


def _rmat(scale, edges, seed, a, b, c):
    import cupy as cp

    cp.random.seed(seed)
    labels = cp.random.permutation(1 << scale).astype(np.int32)
    pieces = []
    for first in range(0, edges, DRAWN):
        size = min(DRAWN, edges - first)
        row, column = cp.zeros(size, np.int32), cp.zeros(size, np.int32)
        for _ in range(scale):
            x = cp.random.random(size, dtype=np.float32)
            right = ((x >= a) & (x < a + b)) | (x >= a + b + c)
            row, column = (row << 1) | (x >= a + b), (column << 1) | right
        pieces.append((labels[row], labels[column]))
    return 1 << scale, *(cp.concatenate(side) for side in zip(*pieces, strict=True))


def _uniform(scale, edges, seed):
    import cupy as cp

    cp.random.seed(seed)
    n = 1 << scale
    return n, cp.random.randint(0, n, edges, dtype=np.int32), cp.random.randint(0, n, edges, dtype=np.int32)


def _road(rows, columns, kept, seed):
    import cupy as cp

    cp.random.seed(seed)
    ids = cp.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    src = cp.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    dst = cp.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    stays = cp.random.random(src.size, dtype=np.float32) < kept
    return rows * columns, src[stays], dst[stays]


_DRAW = {"rmat": _rmat, "uniform": _uniform, "road": _road}


def _sort_rows(n: int, src, dst, recipe: Recipe):
    """Return sorted rows (offsets, targets, weights).

    Symmetric: both arcs of every edge, without loops or parallel arcs. Weights: a hash of the two ends.
    """
    import cupy as cp

    bits = int(n - 1).bit_length()
    mask = (1 << bits) - 1
    key = (src.astype(np.int64) << bits) | dst
    if recipe.symmetric:
        key = cp.concatenate([key, (dst.astype(np.int64) << bits) | src])
    del src, dst
    key.sort()
    if recipe.symmetric:
        new = cp.ones(key.size, bool)
        new[1:] = key[1:] != key[:-1]
        key = key[new & (key >> bits != key & mask)]
    rows, targets = (key >> bits).astype(np.int32), (key & mask).astype(np.int32)
    del key
    low, high = cp.minimum(rows, targets).astype(np.uint64), cp.maximum(rows, targets).astype(np.uint64)
    mixed = low * np.uint64(GOLDEN) + high * np.uint64(14029467366897019727)
    del low, high
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(GOLDEN)
    mixed ^= mixed >> np.uint64(29)
    weights = (mixed % np.uint64(recipe.heaviest) + np.uint64(1)).astype(np.int32)
    del mixed
    offsets = cp.zeros(n + 1, np.int64)
    offsets[1:] = cp.cumsum(cp.bincount(rows, minlength=n))
    return offsets, targets, weights


def _checksum(targets, weights) -> int:
    """Return a checksum of targets and weights in their order."""
    import cupy as cp

    total = 0
    for first in range(0, targets.size, 1 << 27):
        part = slice(first, first + (1 << 27))
        t, w = targets[part].astype(np.uint64), weights[part].astype(np.uint64)
        place = cp.arange(first, first + t.size, dtype=np.uint64) % np.uint64(8191) + np.uint64(1)
        total += int(((t * np.uint64(1021) + w) * place).sum())
    return total % 2**64
