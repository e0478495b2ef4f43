"""GraphLevel: a weighted graph whose vertices stand for groups of vertices of the level below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import first_plain, fold_rows, pack_rows
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, add_into, fetch_add, load, pointers, prefetch, store
from dgraph.backend.cpu.threads.team import Team

CHUNK = 256
"""Vertices that a thread takes at a time."""

LEAST_CHUNK, SHARES = 16, 8
"""Vertices at least of a chunk of a sub-round, and chunks for each thread where that leaves more."""

AHEAD = 8
"""Vertices of a sub-round by which their rows are prefetched."""

SMALL = 1 << 15
"""Arcs or vertices that are read, up to which one thread works."""

SMALL_ROUND = 1 << 18
"""The same for a round: below it threads wait for each other's cache lines as long as they spare."""


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
        groups, order = np.empty_like(labels), np.empty_like(labels)
        starts, firsts = np.zeros((2, self.n + 2), np.int64)
        count = _group(labels, self.offsets, np.full(self.n, -1, np.int32), groups, order, starts, firsts)
        targets, weights = np.empty_like(self.targets), np.empty_like(self.weights)
        lengths, loops, mass, counts = np.empty((4, count), np.int64)
        threads = threads_for(len(targets), team)
        sums, touched = self.tables(threads, count)
        team.run(
            _fold, threads, np.zeros(1, np.int64), starts, order, firsts, self.rows, self.loops, groups, targets,
            weights, lengths, loops, mass, counts, sums, touched,
        )  # fmt: skip
        offsets = starts_of(lengths)
        packed = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], weights.dtype)
        threads, taken = threads_for(offsets[-1], team), np.zeros(1, np.int64)
        team.run(_pack, threads, taken, firsts, offsets, targets, weights, *packed)
        return GraphLevel(offsets, *packed, loops, mass, counts), groups


def threads_for(entries: int, team: Team) -> int:
    """Return the threads that pay where this number of entries is read."""
    return team.size if entries > SMALL else 1


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
        first = rows[0][max(order[k + AHEAD], 0)]
        prefetch(rows[1], first)
        prefetch(rows[2], first)


@njit(**INLINE)
def tally(label, weight, sums, touched, count):
    """Add a weight > 0 to the sum of a label, which is 0 where it is new; return the number of touched labels."""
    before = sums[label]
    touched[count] = label
    sums[label] = before + weight
    return count + (before == 0)  # no branch, which would be mispredicted often


@first_plain(rounds=fold_rows)
@njit(**OPTIONS)
def _fold(
    t, threads, taken, starts, order, firsts, rows, loops, groups, out_targets, out_weights, lengths, loops_of, mass_of,
    counts_of, all_sums, all_touched,
):  # fmt: skip
    """Write the row of each group, with one arc for each neighbouring group, and the totals of its vertices."""
    n, last = len(order), len(lengths)
    rows, (sums, touched) = pointers(rows), pointers((all_sums[t], all_touched[t]))
    starts, order, firsts, loops, groups, out_targets, out_weights, lengths, loops_of, mass_of, counts_of = pointers(
        (starts, order, firsts, loops, groups, out_targets, out_weights, lengths, loops_of, mass_of, counts_of)
    )
    offsets, targets, weights, mass, counts = rows
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= last:
            return
        for group in range(first, min(first + CHUNK, last)):
            count = loop = total = inner = np.int64(0)
            for k in range(starts[group], starts[group + 1]):
                v = order[k]
                prefetch_row(order, k, n, rows)
                loop, total, inner = loop + loops[v], total + mass[v], inner + counts[v]
                for i in range(offsets[v], offsets[v + 1]):
                    count = tally(groups[targets[i]], weights[i], sums, touched, count)
            loops_of[group], mass_of[group], counts_of[group] = loop + sums[group], total, inner
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
                store(out_targets, i, load(targets, i + shift))
                store(out_weights, i, load(weights, i + shift))


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


@first_plain
@njit(**OPTIONS)
def _group(labels, offsets, numbers, groups, order, starts, firsts):
    """List vertices by label, ascending; return the number of labels, which are numbered by their smallest vertices.

    Args:
        labels: below n.
        offsets: of rows.
        numbers: of labels; -1 before.
        groups: gets the number of each vertex's label.
        order: gets the vertices.
        starts: gets the start of each group in ``order``; 0 before, (n + 2,).
        firsts: gets the number of arcs of all groups before each; 0 before, (n + 2,).
    """
    n, count = len(labels), 0
    for v in range(n):
        label = load(labels, v)
        if load(numbers, label) < 0:
            store(numbers, label, count)
            count += 1
        group = load(numbers, label)
        store(groups, v, group)
        add_into(starts, group + 2, 1, True)
        add_into(firsts, group + 1, load(offsets, v + 1) - load(offsets, v), True)
    for group in range(count):
        starts[group + 2] += starts[group + 1]
        firsts[group + 1] += firsts[group]
    for v in range(n):  # starts of a group are one entry late, until all of its vertices are listed
        store(order, add_into(starts, load(groups, v) + 1, 1, True), v)
    return count
