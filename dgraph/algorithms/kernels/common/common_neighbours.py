"""Similarity of pairs of vertices by their common neighbours, on a rank that has the rows of all vertices.

Every common neighbour contributes a share, 1 or less by its degree, and the measure scales their sum by the degrees of
the pair. Of given pairs, the entries of the shorter row are looked up in the longer one, whose entries are marked once
for all its pairs. For the most similar vertices of each vertex, shares of two-hop paths are summed in an array of a
thread; where every share is 1 they are counted (``counted_neighbours.py``). Shares are added in the order of original
ids, so the bits are equal on any number of ranks and threads.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.kernels.common import MEASURES
from dgraph.algorithms.kernels.common.counted_neighbours import count_by_blocks
from dgraph.algorithms.kernels.common.degree_blocks import degree_blocks
from dgraph.algorithms.kernels.common.similar_lists import ADAMIC_ADAR, RESOURCE_ALLOCATION, inserted, scaled
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, fetch_add
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.graph.halo import NumberedRows

CHUNK = 64
"""Pairs or vertices that a thread takes at a time."""

SEARCH = 8
"""Entries of a row that are marked in the time of one binary search."""

SMALL = 1 << 12
"""Pairs or arcs up to which one thread works."""


class CommonNeighbours(HostSolver):
    """Similarities on a team of threads, of a rank with or without a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the whole graph on a rank, of the sums of its threads, and of ten vertices for each.

        An arc takes up to 86 while rows are made; a vertex 160, 28 a thread, and 40 for each similar vertex.
        """
        return (560 + 28 * size.threads) * size.n + 86 * size.m

    def solve(self, ctx: Context, measure: str) -> CommonNeighbours:
        """Bring the rows of all vertices to this rank; collective."""
        self.rows: NumberedRows = ctx.rows("all", "id")
        self.measure, degrees = MEASURES.index(measure), np.diff(self.rows.offsets)
        self.shares = np.ones(len(degrees))
        if self.measure in (ADAMIC_ADAR, RESOURCE_ALLOCATION):
            with np.errstate(divide="ignore"):  # a neighbour of degree 1 is common to a vertex and itself alone
                self.shares = 1 / (np.log(degrees) if self.measure == ADAMIC_ADAR else degrees)
        return self

    def of_pairs(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the similarity of each pair of numbers, float64."""
        values, degrees = np.empty(len(first)), np.diff(self.rows.offsets)
        order = np.argsort(np.where(degrees[first] > degrees[second], first, second), kind="stable")
        marks = np.zeros((self.team.size, self.rows.n), np.uint8)
        self._run(_of_pairs, len(first), first, second, order, values, marks)
        return values

    def most_similar(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the up to ``k`` most similar vertices of each kept vertex, among those with a common neighbour.

        Returns:
            Numbers of the vertices, ascending; of similar ones, by falling similarity, then number; similarities.
        """
        rows, k = self.rows, min(k, max(self.rows.n - 1, 1))
        count = rows.stop - rows.first
        targets, values = np.full((count, k), -1, np.int64), np.empty((count, k))
        arcs = int(rows.offsets[rows.stop] - rows.offsets[rows.first])
        threads = self.team.size if arcs > SMALL else 1
        if self.measure < ADAMIC_ADAR:
            places = degree_blocks(rows.offsets, rows.targets, self.team, threads)
            kept = (places.order >= rows.first) & (places.order < rows.stop) & (np.diff(places.starts) > 0)
            mine = np.flatnonzero(kept)[::-1].astype(np.uint32)
            self._run(count_by_blocks, arcs, rows.first, mine, *places.arrays, targets, values,
                      *places.scratch(threads))  # fmt: skip
        else:
            sums, touched = np.zeros((threads, rows.n)), np.empty((threads, rows.n), np.uint32)
            self._run(_most_similar, arcs, rows.first, targets, values, sums, touched)
        row, place = np.nonzero(targets >= 0)
        return row + rows.first, targets[row, place], values[row, place]

    def most_similar_to(self, vertices: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what :meth:`most_similar` does, of some vertices and in their order; each as pairs at two hops."""
        offsets, targets = self.rows.offsets, self.rows.targets
        listed = [(vertices[:0], vertices[:0], np.empty(0))]
        for v in vertices.tolist():
            near = targets[offsets[v] : offsets[v + 1]].astype(np.int64)
            others = np.unique(np.concatenate([near[:0], *(targets[offsets[u] : offsets[u + 1]] for u in near)]))
            others = others[others != v].astype(np.int64)
            values = self.of_pairs(np.full(others.size, v), others)
            best = np.argsort(-values, kind="stable")[:k]
            listed.append((np.full(best.size, v), others[best], values[best]))
        one, two, values = (np.concatenate(column) for column in zip(*listed, strict=True))
        return one, two, values

    def _run(self, kernel, work: int, *arguments) -> None:
        threads = self.team.size if work > SMALL else 1
        graph = self.rows.offsets, self.rows.targets, self.shares
        self.team.run(kernel, threads, *graph, self.measure, *arguments, np.zeros(1, np.int64))


@njit(**OPTIONS)
def _of_pairs(t, threads, offsets, targets, shares, measure, first, second, order, values, marks, taken):
    """Fill ``values``; pairs of one longer row follow each other in ``order``."""
    mark = marks[t]
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= len(order):
            return
        end = min(begin + CHUNK, len(order))
        while begin < end:
            _, v = _by_degree(offsets, first, second, order[begin])
            stop, entries = begin, 0
            while stop < end:
                u, other = _by_degree(offsets, first, second, order[stop])
                if other != v:
                    break
                entries += offsets[u + 1] - offsets[u]
                stop += 1
            marked = entries * SEARCH > offsets[v + 1] - offsets[v]
            if marked:
                for j in range(offsets[v], offsets[v + 1]):
                    mark[targets[j]] = 1
            for i in range(begin, stop):
                u, _ = _by_degree(offsets, first, second, order[i])
                total, low = 0.0, offsets[v]
                for j in range(offsets[u], offsets[u + 1]):
                    w = targets[j]
                    if marked:
                        if mark[w]:
                            total += shares[w]
                        continue
                    high = offsets[v + 1]
                    while low < high:
                        middle = (low + high) >> 1
                        if targets[middle] < w:
                            low = middle + 1
                        else:
                            high = middle
                    if low == offsets[v + 1]:
                        break
                    if targets[low] == w:
                        total += shares[w]
                values[order[i]] = scaled(measure, total, offsets[u + 1] - offsets[u], offsets[v + 1] - offsets[v])
            if marked:
                for j in range(offsets[v], offsets[v + 1]):
                    mark[targets[j]] = 0
            begin = stop


@njit(**INNER)
def _by_degree(offsets, first, second, pair):
    """Return the vertices of a pair, the one with the shorter row first."""
    u, v = first[pair], second[pair]
    if offsets[u + 1] - offsets[u] > offsets[v + 1] - offsets[v]:
        return v, u
    return u, v


@njit(**OPTIONS)
def _most_similar(t, threads, offsets, targets, shares, measure, first, best, values, sums, touched, taken):
    count = len(best)
    total, listed = sums[t], touched[t]
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= count:
            return
        for row in range(begin, min(begin + CHUNK, count)):
            v, size = first + row, 0
            for i in range(offsets[v], offsets[v + 1]):
                u = np.int64(targets[i])
                for j in range(offsets[u], offsets[u + 1]):
                    w = targets[j]
                    if w == v:
                        continue
                    if total[w] == 0.0:
                        listed[size] = w
                        size += 1
                    total[w] += shares[u]
            filled, degree = 0, offsets[v + 1] - offsets[v]
            for i in range(size):
                w = np.int64(listed[i])
                value = scaled(measure, total[w], degree, offsets[w + 1] - offsets[w])
                total[w] = 0.0
                filled = inserted(best, values, row, filled, w, value)
