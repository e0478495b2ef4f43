"""GraphLevel: a weighted graph whose vertices stand for groups of vertices of the level below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import first_plain, fold_rows, pack_rows
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, fetch_add, prefetch
from dgraph.backend.cpu.threads.team import Team

CHUNK = 256
"""Vertices that a thread takes at a time."""

LEAST_CHUNK, SHARES = 16, 8
"""Vertices at least of a chunk of a sub-round, and chunks for each thread where that leaves more."""

AHEAD = 8
"""Vertices of a sub-round by which their rows are prefetched."""

SMALL = 1 << 15
"""Arcs and vertices up to which one thread works."""

SMALL_ROUND = 1 << 17
"""The same for a round, whose sub-rounds have barriers."""


@dataclass(frozen=True)
class GraphLevel:
    """Rows without loops of a level.

    Attributes:
        offsets: int64 (n + 1,).
        targets: int32 (arcs,).
        weights: int32 or int64 (arcs,), above 0; see :meth:`Units.kind`.
        loops: weight within each vertex, counted twice, int64 (n,).
        mass: mass of each vertex, int64 (n,); see ``units.py``.
        counts: vertices of the graph in each vertex, int64 (n,).
    """

    offsets: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    loops: np.ndarray
    mass: np.ndarray
    counts: np.ndarray

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.mass)

    @property
    def rows(self) -> tuple[np.ndarray, ...]:
        """Arrays that kernels read."""
        return self.offsets, self.targets, self.weights, self.mass, self.counts

    def threads(self, team: Team) -> int:
        """Return the threads that pay."""
        return team.size if len(self.targets) + self.n > SMALL else 1

    def round_threads(self, rows: int, team: Team) -> int:
        """Return the threads that pay in a round of this number of rows."""
        return team.size if rows * (len(self.targets) + self.n) > SMALL_ROUND * self.n else 1

    def tables(self, threads: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a sum of weights for each label, 0, and room for the labels of a row, by thread."""
        return np.zeros((threads, labels), self.weights.dtype), np.empty((threads, labels + 1), np.int32)

    def coarse(self, labels: np.ndarray, team: Team) -> tuple[GraphLevel, np.ndarray]:
        """Return the level with a vertex for each label, in the order of their smallest vertices.

        Args:
            labels: below n, int32 (n,).
            team: threads of this rank.

        Returns:
            The level; vertex of it for each vertex, int32 (n,).
        """
        groups, count = numbered(labels)
        starts, order = grouped(groups, count)
        degrees = np.diff(self.offsets)
        firsts = starts_of(sums_by(groups, degrees, count))
        targets, weights = np.empty_like(self.targets), np.empty_like(self.weights)
        lengths, inside = np.empty(count, np.int64), np.empty(count, np.int64)
        threads = self.threads(team)
        sums, touched = self.tables(threads, count)
        team.run(
            _fold, threads, np.zeros(1, np.int64), starts, order, firsts, *self.rows[:3], groups, targets, weights,
            lengths, inside, sums, touched,
        )  # fmt: skip
        offsets = starts_of(lengths)
        packed = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], weights.dtype)
        team.run(_pack, threads, np.zeros(1, np.int64), firsts, offsets, targets, weights, *packed)
        loops, mass, counts = (sums_by(groups, column, count) for column in (self.loops, self.mass, self.counts))
        return GraphLevel(offsets, *packed, loops + inside, mass, counts), groups


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """Return the start of each of adjacent ranges, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)])


@njit(**INLINE)
def chunk_of(rows, threads):
    """Return the vertices that a thread takes at a time of a sub-round, so that threads end together."""
    return min(CHUNK, max(rows // (SHARES * threads), LEAST_CHUNK))


@njit(**INLINE)
def prefetch_row(order, k, end, rows):
    """Prefetch the row of a vertex that this thread takes soon, of those before ``end``."""
    if k + AHEAD < end:
        first = rows[0][order[k + AHEAD]]
        prefetch(rows[1], first)
        prefetch(rows[2], first)


@first_plain(rounds=fold_rows)
@njit(**OPTIONS)
def _fold(
    t, threads, taken, starts, order, firsts, offsets, targets, weights, groups, out_targets, out_weights, lengths,
    inside, all_sums, all_touched,
):  # fmt: skip
    """Write the row of each group, with one arc for each neighbouring group."""
    sums, touched = all_sums[t], all_touched[t]
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= len(lengths):
            return
        for group in range(first, min(first + CHUNK, len(lengths))):
            count = 0
            for k in range(starts[group], starts[group + 1]):
                v = order[k]
                prefetch_row(order, k, len(order), (offsets, targets, weights))
                for i in range(offsets[v], offsets[v + 1]):
                    other = groups[targets[i]]
                    touched[count] = other
                    count += sums[other] == 0
                    sums[other] += weights[i]
            inside[group] = sums[group]
            place = firsts[group]
            for k in range(count):
                other = touched[k]
                out_targets[place] = other
                out_weights[place] = sums[other]
                sums[other] = 0
                place += other != group
            lengths[group] = place - firsts[group]


@first_plain(rounds=pack_rows)
@njit(**OPTIONS)
def _pack(t, threads, taken, firsts, offsets, targets, weights, out_targets, out_weights):
    """Move rows together."""
    n = len(offsets) - 1
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= n:
            return
        for group in range(first, min(first + CHUNK, n)):
            shift = firsts[group] - offsets[group]
            for i in range(offsets[group], offsets[group + 1]):
                out_targets[i] = targets[i + shift]
                out_weights[i] = weights[i + shift]


@first_plain
@njit(**OPTIONS)
def add_degrees(offsets, targets, weights, degrees, loops):
    """Set the weight of each row, with loops twice, and that of its loops twice; return the number of other arcs.

    Arcs of weight 0 do not count.
    """
    count = 0
    for v in range(len(degrees)):
        total = loop = 0
        for i in range(offsets[v], offsets[v + 1]):
            weight = weights[i]
            total += weight
            if targets[i] == v:
                loop += weight
            elif weight > 0:
                count += 1
        degrees[v], loops[v] = total + loop, 2 * loop
    return count


def sums_by(labels: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Return the sum of int64 values for each label below ``count``."""
    sums = np.zeros(count, np.int64)
    np.add.at(sums, labels, values)  # many times as fast as bincount, which adds floats
    return sums


@first_plain
@njit(**OPTIONS)
def _number(labels, numbers, groups):
    count = 0
    for v in range(len(labels)):
        if numbers[labels[v]] < 0:
            numbers[labels[v]] = count
            count += 1
        groups[v] = numbers[labels[v]]
    return count


def numbered(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """Return labels below n as 0, 1, … in the order of their smallest vertices, and their number."""
    groups = np.empty_like(labels)
    return groups, _number(labels, np.full(len(labels), -1, np.int32), groups)


@first_plain
@njit(**OPTIONS)
def _group(groups, places, order):
    for v in range(len(groups)):
        order[places[groups[v]]] = v
        places[groups[v]] += 1


def grouped(groups: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the start of each group, and vertices by group, ascending."""
    starts = starts_of(np.bincount(groups, minlength=count))
    order = np.empty(len(groups), np.int32)
    _group(groups, starts[:-1].copy(), order)
    return starts, order
