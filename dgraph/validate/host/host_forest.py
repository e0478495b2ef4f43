"""Forest of an answer on every CPU rank, for the certificate of minimum spanning forests.

The edges are joined by weight into trees of parents, the smaller tree under the larger one, of depth log2 n at most;
and the latest edge on the way between two vertices is the heaviest on their path. It takes 44 bytes a vertex.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.validate.host.host_rows import HostRows, violated


class HostForest:
    """Edges of the whole forest, by ascending weight and gids; methods are collective.

    Attributes:
        low, high: gids of their ends; ``weight``: their weights.
    """

    def __init__(self, comm: Any, n: int, low: np.ndarray, high: np.ndarray, weight: np.ndarray):
        rows = np.minimum(low, high), np.maximum(low, high), weight
        low, high, weight = (np.concatenate(comm.allgatherv(np.ascontiguousarray(column))) for column in rows)
        order = np.lexsort((high, low, weight))
        self.low, self.high, self.weight, self._comm = low[order], high[order], weight[order], comm
        self._parent, self._joined = np.arange(n), np.full(n, len(order), np.int64)
        self._circle = _link(self.low, self.high, self._parent, self._joined, np.ones(n, np.int64))

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.low)

    def circle(self) -> tuple[int, Any]:
        """Return 1 and the first edge whose ends lighter ones join, on rank 0."""
        return self._first(np.array([self._circle] if self._circle < len(self.low) else [], np.int64))

    def check(self, rows: HostRows) -> dict[str, tuple[int, Any]]:
        """Check all arcs against the heaviest edges between their ends, and that all edges are arcs."""
        block, seen = rows.block, np.zeros(len(self.low), np.bool_)
        weights = np.ones(1, np.int64) if block.weights is None else block.weights
        violations = rows.count(
            ("apart", "light"),
            lambda low, high, counts: _check(
                low, high, counts, block.offsets, block.targets, weights, block.first, self.low, self.high, self.weight,
                self._parent, self._joined, seen,
            ),
        )  # fmt: skip
        present = self._comm.allreduce(seen.astype(np.int64), "max") > 0
        violations["missing"] = self._first(np.flatnonzero(~present))
        return violations

    def _first(self, edges: np.ndarray) -> tuple[int, Any]:
        if self._comm.rank or not edges.size:  # every rank has the same forest
            return 0, -1
        first = edges[np.lexsort((self.high[edges], self.low[edges]))[0]]
        return edges.size, (int(self.low[first]), int(self.high[first]))

    def heaviest(self, u: int | None, v: int | None) -> np.generic:
        """Return the weight of the heaviest edge between two vertices; 0 where there are none, or none is asked."""
        no = np.zeros(0, np.int64) if u is None else np.array([u])
        latest = _latest(no, no if v is None else np.array([v]), self._parent, self._joined)
        return np.append(np.append(self.weight, self.weight.dtype.type(0))[latest], self.weight.dtype.type(0))[0]

    def weight_of(self, u: int | None, v: int | None) -> np.generic:
        """Return the weight of the edge between two vertices; 0 if none is asked."""
        named = np.zeros(len(self.low), np.bool_) if u is None else (self.low == u) & (self.high == v)
        return np.append(self.weight[named], self.weight.dtype.type(0))[0]


@njit(cache=True, nogil=True)
def _link(low, high, parent, joined, size):
    """Join vertices by the forest's edges in turn; return the first edge within a tree, or the number of edges."""
    for e in range(low.size):
        u, v = low[e], high[e]
        while parent[u] != u:
            u = parent[u]
        while parent[v] != v:
            v = parent[v]
        if u == v:
            return e
        if size[u] > size[v]:
            u, v = v, u
        parent[u], joined[u] = v, e
        size[v] += size[u]
    return low.size


@njit(inline="always")
def _last(u, v, parent, joined):
    """Return the edge that connected two vertices at the latest; the number of edges if none did, -1 if equal."""
    latest = -1
    while u != v:
        if joined[u] > joined[v]:
            u, v = v, u
        latest = joined[u]
        if parent[u] == u:
            break
        u = parent[u]
    return latest


@njit(cache=True, nogil=True)
def _latest(us, vs, parent, joined):
    """Return the edge that connected each pair of vertices, at the latest; the number of edges if none did."""
    latest = np.empty(us.size, np.int64)
    for i in range(us.size):
        latest[i] = _last(us[i], vs[i], parent, joined)
    return latest


@njit(cache=True, nogil=True)
def _check(rows_low, rows_high, violations, offsets, targets, weights, first, low, high, weight, parent, joined, seen):
    """Check each arc to a larger gid of a range of rows, and mark the edges of the forest that are arcs."""
    for row in range(rows_low, rows_high):
        u = row + first
        for i in range(offsets[row], offsets[row + 1]):
            v = np.int64(targets[i])
            if v <= u:
                continue
            e = _last(u, v, parent, joined)
            w = weights[i] if weights.size > 1 else weights[0]
            if e == low.size:
                violated(violations, 0, row, v)
            elif w < weight[e]:
                violated(violations, 1, row, v)
            elif w == weight[e] and low[e] == u and high[e] == v:
                seen[e] = True
