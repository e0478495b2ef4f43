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
        edges = self.lightest(local)
        count = edges[0].size
        ids, chosen, places = local.original, np.full(local.size, -1, np.int64), np.arange(count)
        ends, parent = (edges[0].copy(), edges[1].copy()), np.arange(local.size, dtype=np.uint32)
        best, roots = np.empty(local.size, np.int64), np.empty(local.size, np.uint32)
        while count:
            count, trees = _hook(*ends, places, ids, parent, best, chosen, count, roots)
            number += 1
            boundary(ctx, CANCELLED, number, trees)
        here = np.flatnonzero(chosen >= 0)
        a, b, w = (column[chosen[here]] for column in edges)
        columns = empty_columns(local.size, w.dtype)
        fill(columns, here, ids[a], ids[b], w)
        return columns, exact_sum(w, SerialComm()), here.size

    def _edges(self, local: LocalGraph, parent: np.ndarray, low: Any, high: Any) -> Edges:
        """List the edges of a range of weights (low, high], None for no bound, that join two trees."""
        rows = local.out
        weights = np.ones(rows.arcs, np.uint8) if rows.weights is None else rows.weights
        wide = np.float64 if weights.dtype.kind == "f" else np.int64
        room = [np.empty(rows.arcs + 1, kind) for kind in (np.uint32, np.uint32, wide)]
        limits = low is None, high is None, wide(low or 0), wide(high or 0)
        count = _collect(rows.offsets, rows.neighbours.view(np.uint32), weights, local.original, parent, *limits, *room)
        a, b, w = (column[:count] for column in room)
        return a, b, w


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
def _collect(offsets, neighbours, weights, ids, parent, lowest, highest, low, high, a, b, w):
    """List the edges of a range of weights that join two trees, of which ``parent`` is the root; return their number.

    Every arc is written and only those that are listed are counted: a branch would be mispredicted at half of them.
    """
    count = 0
    for u in range(len(offsets) - 1):
        tree, number = parent[u], ids[u]
        for e in range(offsets[u], offsets[u + 1]):
            v, weight = neighbours[e], weights[e]
            a[count], b[count], w[count] = u, v, weight
            listed = (number < ids[v]) & (tree != parent[v])
            count += listed & (lowest | (weight > low)) & (highest | (weight <= high))
    return count


@plain_first
@njit(cache=True, nogil=True)
def _take(order, a, b, parent, taken):
    """Join two trees by each edge in turn that does; such edges are ``taken``, and ``parent`` is a root at the end."""
    for i in range(len(order)):
        one, other = _root(parent, a[order[i]]), _root(parent, b[order[i]])
        if one != other:
            parent[max(one, other)] = min(one, other)
            taken[i] = True
    for v in range(len(parent)):
        parent[v] = _root(parent, parent[v])


@plain_first
@njit(cache=True, nogil=True)
def _hook(a, b, places, ids, parent, best, chosen, count, roots):
    """Let every tree choose its first edge and join the tree at the other end; return edges left, and trees that chose.

    Of two trees that choose the same edge, the one whose root has the smaller id stays. The first ``count`` edges, in
    order, are those of a forest: their ends were roots before the last round, whose parents are roots now. ``best`` and
    ``roots`` are scratch.
    """
    kept = seen = 0
    for i in range(count):
        one, other = parent[a[i]], parent[b[i]]
        a[kept], b[kept], places[kept] = one, other, places[i]
        kept += one != other
    for e in range(kept - 1, -1, -1):
        best[a[e]] = best[b[e]] = e
    for e in range(kept):
        for root, other in ((a[e], b[e]), (b[e], a[e])):
            if best[root] == e:
                roots[seen] = root
                seen += 1
                if best[other] != e or ids[other] < ids[root]:
                    parent[root], chosen[root] = other, places[e]
    for i in range(seen):
        parent[roots[i]] = _root(parent, roots[i])
    return kept, seen
