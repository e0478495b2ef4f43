"""Minimum spanning forest of the edges on one rank: Kruskal's algorithm, then Borůvka's rounds, which name the trees.

Edges are ordered by weight, then by the original ids of their ends, so the forest is unique. Where there are many edges
for each vertex, the lightest go first: most of the others then lie inside a tree [filter step of Osipov, Sanders,
Singler: The filter-Kruskal minimum spanning tree algorithm, ALENEX 2009].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.kernels.forest.forest_between_hosts import CANCELLED, Trees
from dgraph.algorithms.kernels.forest.forest_columns import empty_columns, exact_sum, fill
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.local import LocalGraph

MANY = 6
"""Edges for each vertex from which the lightest are looked at first."""

FIRST = 2
"""Edges for each vertex that are looked at first, about."""

SAMPLE = 1 << 12
"""Weights that are sampled to find the lightest edges."""


Edges = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Ends, uint32 lids with the smaller original id first, and weights, int64 or float64; 1 without weights."""

Answers = tuple[dict[str, Any], int | float, int]
"""Columns of a forest, the sum of its weights, and the number of its edges."""


class Forest(RowSolver):
    """Finder of light edges; it runs on one thread."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of listed edges and of trees.

        An arc takes 24, half of an edge: its ends and weight (16), its place in the order (8), and as much while it is
        sorted. A vertex takes 120: parent, best edge, chosen edge, and between ranks the names and homes of trees and
        the rows that are sent; a master 48 more in the three columns of the answer and the result.
        """
        return 120 * size.vertices + 24 * size.arcs + 48 * size.masters

    def solve(self, ctx: Context) -> Answers:
        """Return the columns of the forest, the sum of the weights, and the number of edges; collective."""
        with ctx.record("compute"):
            if ctx.comm.size == 1:
                return self.whole(ctx)
            columns = Trees(ctx).joined(*self.lightest(ctx.local))
            here = columns["source"] >= 0
            return columns, exact_sum(columns["weight"][here], ctx.comm), ctx.total(int(here.sum()))

    def lightest(self, local: LocalGraph) -> Edges:
        """Return the edges of the local minimum spanning forest, in order: no other is in a forest of the graph."""
        parent, parts = np.arange(local.size, dtype=np.uint32), []
        ordered = local.by_id and bool(np.all(local.original[1:] > local.original[:-1]))
        for low, high in _ranges(local.out.weights, local.size):
            a, b, w = self._edges(local, parent, low, high)
            order = (
                _narrow(w).argsort(kind="stable") if ordered else np.lexsort((local.original[b], local.original[a], w))
            )
            taken = np.zeros(order.size, np.bool_)
            _take(order, a, b, parent, taken)
            kept = order[taken]
            parts.append((a[kept], b[kept], w[kept]))
        a, b, w = (np.concatenate(column) for column in zip(*parts, strict=True))
        return a, b, w

    def whole(self, ctx: Context) -> Answers:
        """Join trees along the lightest edges of a whole graph, as over ranks.

        Returns:
            columns, see :mod:`~dgraph.algorithms.kernels.forest.forest_columns`; sum of the weights; number of edges.
        """
        local, number = ctx.local, 0
        edges = self._edges(local) if len(_ranges(local.out.weights, local.size)) == 1 else self.lightest(local)
        ids, chosen = local.original, np.full(local.size, -1, np.int64)
        parent, best = np.arange(local.size, dtype=np.uint32), np.full(local.size, -1, np.int64)
        roots, alive, count = np.empty((2, local.size), np.uint32), np.arange(edges[0].size), edges[0].size
        while count:
            count, trees = _hook(*edges, ids, parent, best, chosen, alive, count, *roots)
            number += 1
            boundary(ctx, CANCELLED, number, trees)
        here = np.flatnonzero(chosen >= 0)
        a, b, w = (column[chosen[here]] for column in edges)
        columns = empty_columns(local.size, w.dtype)
        fill(columns, here, ids[a], ids[b], w)
        return columns, exact_sum(w, SerialComm()), here.size

    def _edges(self, local: LocalGraph, parent: np.ndarray | None = None, low: Any = None, high: Any = None) -> Edges:
        """List the edges of a range of weights (low, high], None for no bound, that join two trees."""
        rows = local.out
        weights = np.ones(rows.arcs, np.uint8) if rows.weights is None else rows.weights
        wide = np.float64 if weights.dtype.kind == "f" else np.int64
        parent = np.zeros(0, np.uint32) if parent is None else parent
        limits = low is not None, high is not None, wide(low or 0), wide(high or 0)
        arguments = rows.offsets, rows.neighbours.view(np.uint32), weights, local.original, parent, *limits
        edges = _room(_collect(*arguments, *_room(0, wide)), wide)
        _collect(*arguments, *edges)
        return edges


def _room(count: int, wide: type) -> Edges:
    return np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(count, wide)


def _narrow(weights: np.ndarray) -> np.ndarray:
    """Return integers of a small range in 16 bits, less the least: they are sorted by radix."""
    if weights.dtype.kind == "f" or not weights.size or int(weights.max()) - int(weights.min()) > 0xFFFF:
        return weights
    return (weights - weights.min()).astype(np.uint16)


def _ranges(weights: np.ndarray | None, vertices: int) -> list[tuple]:
    """Return half-open ranges of weights (low, high], None for no bound, to be looked at one after the other."""
    if weights is None or weights.size <= 2 * MANY * vertices:
        return [(None, None)]
    sample = np.sort(weights[:: max(weights.size // SAMPLE, 1)])
    high = sample[min(sample.size * 2 * FIRST * vertices // weights.size, sample.size - 1)]
    return [(None, high), (high, None)] if sample[0] < sample[-1] else [(None, None)]


@njit(cache=True, nogil=True)
def _root(parent, v):
    """Return the root of a vertex, and halve its path."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@plain_first
@njit(cache=True, nogil=True)
def _collect(offsets, neighbours, weights, ids, parent, above, below, low, high, a, b, w):
    """List the edges of a range of weights that join two trees; only count them if there is no room."""
    count = 0
    for u in range(len(offsets) - 1):
        for e in range(offsets[u], offsets[u + 1]):
            v = neighbours[e]
            if ids[u] >= ids[v] or (above and weights[e] <= low) or (below and weights[e] > high):
                continue
            if above and _root(parent, np.uint32(u)) == _root(parent, v):
                continue
            if len(a):
                a[count], b[count], w[count] = u, v, weights[e]
            count += 1
    return count


@njit(cache=True, nogil=True)
def _before(e, f, a, b, w, ids):
    """Return True if edge e precedes edge f."""
    if w[e] != w[f]:
        return w[e] < w[f]
    if a[e] != a[f]:
        return ids[a[e]] < ids[a[f]]
    return ids[b[e]] < ids[b[f]]


@njit(cache=True, nogil=True)
def _choose(a, b, w, ids, parent, best, alive, count, roots):
    """Find the first edge of each tree among ``count`` edges; return how many edges join two trees, and the trees."""
    kept, seen = 0, 0
    for i in range(count):
        e = alive[i]
        one, other = _root(parent, a[e]), _root(parent, b[e])
        if one == other:
            continue
        alive[kept] = e
        kept += 1
        for root in (one, other):
            if best[root] < 0:
                roots[seen] = root
                seen += 1
                best[root] = e
            elif _before(e, best[root], a, b, w, ids):
                best[root] = e
    return kept, seen


@plain_first
@njit(cache=True, nogil=True)
def _take(order, a, b, parent, taken):
    """Join two trees by each edge in turn that does; such edges are ``taken``."""
    for i in range(len(order)):
        one, other = _root(parent, a[order[i]]), _root(parent, b[order[i]])
        if one != other:
            parent[max(one, other)] = min(one, other)
            taken[i] = True


@plain_first
@njit(cache=True, nogil=True)
def _hook(a, b, w, ids, parent, best, chosen, alive, count, roots, to):
    """Let every tree choose its first edge and join the tree at the other end; return edges left, and trees that chose.

    Of two trees that choose the same edge, the one whose root has the smaller id stays. The first ``count`` numbers of
    ``alive`` are those of edges; ``roots`` and ``to`` are scratch.
    """
    count, seen = _choose(a, b, w, ids, parent, best, alive, count, roots)
    for i in range(seen):
        root, e = roots[i], best[roots[i]]
        one, other = _root(parent, a[e]), _root(parent, b[e])
        to[i] = other if one == root else one
        if best[to[i]] == e and ids[root] < ids[to[i]]:
            to[i] = root
        else:
            chosen[root] = e
    for i in range(seen):
        parent[roots[i]] = to[i]
        best[roots[i]] = -1
    return count, seen
