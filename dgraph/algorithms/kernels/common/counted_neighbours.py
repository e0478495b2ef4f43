"""Most similar vertices by the number of common neighbours, on a rank's threads.

The common neighbours of a vertex and all others are counted in an array of a thread, whose places are the vertices by
rising degree. Rows have places in ascending order, so a row is one pass over the counters. They are then read in blocks
from the degree of the vertex on, upwards and downwards: the fewest common neighbours with which a vertex enters the
list grow with its degree, so those of a block's first degree bound the others, and several counters are compared with
them in one addition of a word. Vertices of few two-hop paths list the counters that they touch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.algorithms.kernels.common.similar_lists import inserted, quotient, scaled
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, fetch_add
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.graph.rows import edges_of

CHUNK = 16
"""Vertices that a thread takes at a time."""

BLOCK = 64
"""Counters that are compared with one number."""

MOST_SHORT = 1 << 15
"""Degree from which on counters have 32 bits in place of 16."""

SPARSE = 16
"""Counters that are read in the time of one that is listed."""

CELLS = 1 << 20
"""Two-hop paths, and counters, of the rows that are counted together by NumPy; one row may have more paths."""

PART = 16
"""Counters of a row whose maximum NumPy takes first."""


@dataclass(frozen=True)
class PlacesByDegree:
    """Vertices by rising degree, and rows of their places.

    Attributes:
        order: vertex at each place; ``place``: of each vertex; uint32 (vertices,).
        starts: of the rows by place, int64 (vertices + 1,).
        rows: places of neighbours, ascending in each row, uint32 (arcs,).
    """

    order: np.ndarray
    place: np.ndarray
    starts: np.ndarray
    rows: np.ndarray

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All arrays, as kernels take them."""
        return self.order, self.place, self.starts, self.rows

    def counters(self, threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros, (threads, whole blocks), whose bits but one hold every degree, and their words, uint64."""
        largest = int(np.diff(self.starts[-2:])[0]) if len(self.order) else 0
        kind = np.uint16 if largest < MOST_SHORT else np.uint32
        zeros = np.zeros((threads, max(-(-len(self.order) // BLOCK), 1) * BLOCK), kind)
        return zeros, zeros.view(np.uint64)


def degree_order(offsets: np.ndarray, targets: np.ndarray) -> PlacesByDegree:
    """Return the order by degree of a graph that has both arcs of every edge, without loops."""
    degrees = np.diff(offsets)
    order = np.argsort(degrees, kind="stable").astype(np.uint32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.uint32)
    starts = np.concatenate([[0], np.cumsum(degrees[order])])
    rows = np.empty(len(targets), np.uint32)
    _fill_rows(offsets, targets, order, place, starts[:-1].copy(), rows)
    return PlacesByDegree(order, place, starts, rows)


@plain_first
@njit(**OPTIONS)
def _fill_rows(offsets, targets, order, place, cursors, rows):
    for p in range(len(order)):
        v = order[p]
        for i in range(offsets[v], offsets[v + 1]):
            u = place[targets[i]]
            rows[cursors[u]] = p
            cursors[u] += 1


def array_counts(
    offsets, targets, shares, measure, first, order, place, starts, rows, best, values, counters, words, touched, taken
):
    """Fill the lists: the common neighbours of some vertices and all others are a matrix.

    The k largest of the maxima of parts of a row bound its list from below.
    """
    n, k, degrees = len(order), best.shape[1], np.diff(offsets)
    width = -(-n // PART)
    paths = np.concatenate([[0], np.cumsum(degrees[targets])])[offsets[first : first + len(best) + 1]]
    begin = 0
    while begin < len(best):
        end = min(np.searchsorted(paths, paths[begin] + CELLS), begin + max(CELLS // n, 1), len(best))
        end = max(end, begin + 1)
        v = np.arange(first + begin, first + end)
        row, e = edges_of(offsets, v)
        path, e = edges_of(offsets, targets[e])
        common = np.bincount(row[path] * n + targets[e], minlength=len(v) * n).reshape(len(v), n)
        common[np.arange(len(v)), v] = 0
        row, w = np.nonzero(common)
        similar = np.zeros((len(v), width * PART))
        similar[row, w] = plain(quotient)(measure, 1.0 * common[row, w], degrees[v[row]], degrees[w])
        largest = similar.reshape(len(v), PART, width).max(axis=1)
        least = np.partition(largest, width - k, axis=1)[:, width - k] if k <= width else np.zeros(len(v))
        row, w = np.nonzero((similar > 0) & (similar >= least[:, None]))
        chosen = np.lexsort((w, -similar[row, w], row))
        row, w = row[chosen], w[chosen]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        row, w, rank = row[rank < k], w[rank < k], rank[rank < k]
        best[begin + row, rank], values[begin + row, rank] = w, similar[row, w]
        begin = end
        yield


@plain_first(most=1 << 20, rounds=array_counts)
@njit(**OPTIONS)
def count_by_degree(
    t, threads, offsets, targets, shares, measure, first, order, place, starts, rows, best, values, counters, words,
    touched, taken,
):  # fmt: skip
    """Fill the lists ``best`` and ``values`` of the vertices from ``first`` on."""
    count = len(best)
    n, hits, listed = len(order), counters[t], touched[t]
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= count:
            return
        for row in range(begin, min(begin + CHUNK, count)):
            v = first + row
            edges, degree, here = offsets[v], offsets[v + 1] - offsets[v], np.int64(place[v])
            paths = 0
            for i in range(edges, edges + degree):
                u = np.int64(place[targets[i]])
                paths += starts[u + 1] - starts[u] - 1
            if paths * SPARSE < n:
                size = 0
                for i in range(edges, edges + degree):
                    u = np.int64(place[targets[i]])
                    for j in range(starts[u], starts[u + 1]):
                        w = np.int64(rows[j])
                        if w != here:
                            if hits[w] == 0:
                                listed[size] = w
                                size += 1
                            hits[w] += 1
                filled = 0
                for i in range(size):
                    w = np.int64(listed[i])
                    value = scaled(measure, np.float64(hits[w]), degree, starts[w + 1] - starts[w])
                    hits[w] = 0
                    filled = inserted(best, values, row, filled, np.int64(order[w]), value)
                continue
            for i in range(edges, edges + degree):
                u = np.int64(place[targets[i]])
                for j in range(starts[u], starts[u + 1]):
                    hits[rows[j]] += 1
            hits[here] = 0
            _listed(hits, words[t], here, measure, degree, starts, order, best, values, row)


@njit(**INNER)
def _listed(hits, words, here, measure, degree, starts, order, best, values, row):
    """Put the vertices that were counted into a row's list, and clear their counters."""
    k, n, filled, need = best.shape[1], len(order), 0, np.int64(1)
    lanes = len(hits) // len(words)
    bits, steps, first = 64 // lanes, BLOCK // lanes, here // BLOCK
    ones = np.uint64(0x0001000100010001) if lanes == 4 else np.uint64(0x0000000100000001)
    half = np.int64(1) << (bits - 1)
    blocks, number = len(hits) // BLOCK, -1
    while number + 1 < blocks:
        number += 1
        block = first + number if first + number < blocks else blocks - 1 - number
        begin = block * BLOCK
        if filled == k:
            width, least = starts[begin + 1] - starts[begin], values[row, k - 1]
            while need > 1 and scaled(measure, np.float64(need - 1), degree, width) >= least:
                need -= 1
            while need <= degree and scaled(measure, np.float64(need), degree, width) < least:
                need += 1
            if need > degree and block >= first:
                number = max(number, blocks - 1 - first)  # all degrees above are larger
                continue
        addend, reached = ones * np.uint64(half - need), np.uint64(0)
        for i in range(block * steps, (block + 1) * steps):
            reached |= words[i] + addend
        if reached & (ones * np.uint64(half)):
            for w in range(begin, min(begin + BLOCK, n)):
                if hits[w] >= need:
                    value = scaled(measure, np.float64(hits[w]), degree, starts[w + 1] - starts[w])
                    filled = inserted(best, values, row, filled, np.int64(order[w]), value)
    for i in range(len(words)):
        words[i] = 0
