"""Random walks on a rank's threads.

Draw i of walk w is number i of a SplitMix64 sequence that starts at a hash of w and the seed, so a walk is a function
of its number alone. A step takes two draws: one returns to the source, the other takes an edge. Of a row of d edges
taken alike, it takes the one at ⌊d · draw / 2⁶⁴⌋; by weights, the first whose running sum exceeds draw · total.

On one rank a thread makes all steps of ``GROUP`` walks side by side, and prefetches rows of some while it reads those
of others: the walks wait for memory together. On several ranks a walk stays where it began, and each step requests the
next vertices of all walks from the ranks that keep the rows. First runs on small graphs do so on one rank, too, since
these steps have array rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.algorithms.kernels.walks.walk_request import ENDED, Walked, WalkRequest
from dgraph.algorithms.kernels.walks.walk_rows import WalkRows, walk_rows
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, fetch_add, prefetch
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.cpu.threads.plain_kernels import does_without, plain_first
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.generators.counter import fraction, mix

GROUP = 32
"""Walks that a thread makes side by side."""

SMALL = 1 << 10
"""Walks up to which one thread makes them."""

MOST = 1 << 22
"""Arcs, and vertices of walks, of a rank up to which array rounds make steps."""

PART = 1 << 24
"""Steps between two looks for an interrupt, and two shows of progress."""

END, BACK = -1, -2
"""Steps that cross no edge: the walk ends, or returns to its source."""

CANCELLED = "the run was cancelled before its walks were complete"

QUERY = np.dtype([("number", np.uint32), ("walk", np.int64)])
"""Request for the next vertex of a walk."""


class HostWalks(HostSolver):
    """Walks on a team of threads, of a rank with or without a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of a rank's rows while they are sent, beside which the walks lie: 64 an arc, 56 a vertex."""
        return 56 * size.n + 64 * size.arcs

    def solve(self, ctx: Context, request: WalkRequest) -> Walked:
        """Make the walks; collective.

        Raises:
            UsageError: a source is not a vertex.
            DataError: as :func:`walk_rows`.
            OutOfMemory: the walks do not fit.
        """
        with ctx.record("prepare"):
            rows = walk_rows(ctx, request, self.team)
            starts = request.starts(rows.ids)
            mine = request.share(len(starts), ctx)
            count = mine.stop - mine.start
            walks = np.empty((count, request.length + 1), np.uint32)
            walks[:, 0] = starts[np.arange(mine.start, mine.stop) // request.per_source]
            weights = np.full((count, request.length), np.nan) if request.weights else np.zeros((0, 0))
        with ctx.record("compute"):
            if ctx.comm.size > 1 or does_without(_walk, walks.size):
                crossed = self._step_by_step(ctx, rows, request, mine.start, walks, weights)
            else:
                crossed = self._whole(ctx, rows, request, walks, weights)
        visits = self._visits(ctx, rows, walks)
        return Walked(
            mine.start, len(starts) * request.per_source, crossed, lambda: named(rows.ids, walks),
            (lambda: weights) if request.weights else None, visits,
        )  # fmt: skip

    def _whole(self, ctx: Context, rows: WalkRows, request: WalkRequest, walks: np.ndarray, weights: np.ndarray) -> int:
        """Make all steps of all walks; return the edges that they cross."""
        threads = self._threads(walks)
        places, counts = np.empty((threads, GROUP), np.int64), np.zeros((threads, 8), np.int64)
        step = max(PART // max(request.length, 1), GROUP)
        for number, first in enumerate(range(0, len(walks), step), 1):
            ctx.comm.watchdog.begin(0)
            part = slice(first, first + step)
            self.team.run(
                _walk, threads, rows.offsets, rows.targets, rows.totals, rows.weights, request.key, request.returns,
                first, walks[part], weights[part] if len(weights) else weights, places, counts, np.zeros(1, np.int64),
            )  # fmt: skip
            boundary(ctx, CANCELLED, number, len(walks[part]))
        return int(counts[:, 0].sum())

    def _step_by_step(
        self, ctx: Context, rows: WalkRows, request: WalkRequest, first: int, walks: np.ndarray, weights: np.ndarray
    ) -> int:
        """Make one step of all walks at a time; return the edges that those of this rank cross; collective.

        Each walk requests its next vertex from the keeper of its row.
        """
        bounds, kept = (np.zeros(0), 0) if rows.numbered is None else (rows.numbered.bounds[1:-1], rows.numbered.first)
        crossed, stays = 0, np.empty(len(walks), np.bool_)
        for step in range(request.length):
            ctx.comm.watchdog.begin(step + 1)
            self.team.run(_settle, self._threads(walks), walks, step, request.key, request.returns, first, stays)
            asking = np.flatnonzero(stays)
            queries = np.empty(len(asking), QUERY)
            queries["number"], queries["walk"] = walks[asking, step], asking + first
            owners = np.searchsorted(bounds, queries["number"], side="right")

            def look_up(queries: np.ndarray, step: int = step) -> tuple[np.ndarray, ...]:
                numbers, passed = np.empty(len(queries), np.uint32), np.empty(len(queries) if request.weights else 0)
                self.team.run(
                    _next, self._threads(queries), rows.offsets, rows.targets, rows.totals, rows.weights, request.key,
                    step, queries["number"].astype(np.int64) - kept, queries["walk"].copy(), numbers, passed,
                )  # fmt: skip
                return (numbers, passed) if request.weights else (numbers,)

            following, *passed = ctx.fetch(owners, queries, look_up)
            if passed:
                weights[asking, step] = passed[0]
            goes_on = following != ENDED
            crossed += int(goes_on.sum())
            if request.returns:
                following = np.where(goes_on, following, walks[asking, 0])
            walks[asking, step + 1] = following
            ctx.rounds += ctx.comm.size > 1
            boundary(ctx, CANCELLED, step + 1, len(asking))
        return crossed

    def _threads(self, walks: np.ndarray) -> int:
        """Return the number of threads that make steps of walks."""
        return self.team.size if len(walks) > SMALL else 1

    def _visits(self, ctx: Context, rows: WalkRows, walks: np.ndarray):
        """Return the times that walks were at each master; counted at once on several ranks, else when it is read."""
        numbered = rows.numbered

        def counted() -> np.ndarray:
            counts = np.zeros(len(rows.ids) + 1, np.int64)
            for first in range(0, len(walks), step := max((1 << 22) // max(walks.shape[1], 1), 1)):
                part = walks[first : first + step].ravel()
                counts += np.bincount(np.minimum(part, len(rows.ids)), minlength=len(counts))
            return counts[:-1] if numbered is None else numbered.returned(counts[:-1])

        return counted if ctx.comm.size == 1 else counted()


def named(ids: np.ndarray, walks: np.ndarray) -> np.ndarray:
    """Return the original ids of walks of numbers, int64, -1 after the end of a walk."""
    vertices = walks.astype(np.int64)
    ended = walks == ENDED
    if len(ids) and not (ids[0] == 0 and ids[-1] == len(ids) - 1):
        vertices = ids[np.where(ended, 0, vertices)]
    vertices[ended] = -1
    return vertices


@njit(**INLINE)
def _draw(start, number):
    """Return draw ``number`` of the sequence of a walk."""
    return mix(start + (np.uint64(number) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


@njit(**INLINE)
def _sequence(key, walk):
    """Return the start of the sequence of a walk."""
    return _draw(key, walk)


@njit(**INLINE)
def _alike(bits, low, last):
    """Return the arc of a row, ``low`` … ``last``, that 64 random bits take, each with the same probability."""
    count = np.uint64(last - low)
    upper = (bits >> np.uint64(32)) * count
    lower = (bits & np.uint64(0xFFFFFFFF)) * count
    return np.int64(low) + np.int64((upper + (lower >> np.uint64(32))) >> np.uint64(32))


@njit(**INLINE)
def _place(bits, low, last, totals):
    """Return the arc of a row, ``low`` … ``last``, that 64 random bits take; END if it has none."""
    if low == last or (len(totals) > 0 and totals[last - 1] == 0.0):
        return np.int64(END)
    if len(totals) == 0:
        return _alike(bits, low, last)
    total = totals[last - 1]
    sought = fraction(bits) * total
    first, end = np.int64(low), np.int64(last - 1)
    while first < end:
        middle = (first + end) >> 1
        if totals[middle] <= sought and totals[middle] < total:  # the latter where rounding gave the total
            first = middle + 1
        else:
            end = middle
    return first


@njit(**OPTIONS)
def _walk(t, threads, offsets, targets, totals, weights, key, returns, first, walks, passed, places, counts, taken):
    count, length, crossed = walks.shape[0], walks.shape[1] - 1, 0
    place = places[t]
    while True:
        begin = fetch_add(taken, 0, GROUP)
        if begin >= count:
            counts[t, 0] += crossed
            return
        size = min(GROUP, count - begin)
        for step in range(length):
            for i in range(size):
                v = np.int64(walks[begin + i, step])
                if v == ENDED:
                    place[i] = END
                    continue
                start = _sequence(key, first + begin + i)
                if _draw(start, 2 * step + 1) < returns:
                    place[i] = BACK
                    continue
                place[i] = _place(_draw(start, 2 * step), offsets[v], offsets[v + 1], totals)
                if place[i] >= 0:
                    prefetch(targets, place[i])
                elif returns > np.uint64(0):
                    place[i] = BACK
            for i in range(size):
                w = begin + i
                if place[i] >= 0:
                    v = targets[place[i]]
                    walks[w, step + 1] = v
                    prefetch(offsets, np.int64(v))
                    crossed += 1
                    if len(weights) > 0:
                        passed[w, step] = weights[place[i]]
                else:
                    walks[w, step + 1] = walks[w, 0] if place[i] == BACK else np.uint32(ENDED)


def _draws(key, walks, number) -> np.ndarray:
    """Return draw ``number`` of each walk."""
    return plain(_draw)(plain(_sequence)(key, walks), np.array([number]))


def array_settle(walks, step, key, returns, first, stays) -> Iterator[None]:
    """Make the steps of walks that have ended or return to their source."""
    here = walks[:, step] != ENDED
    back = here & (_draws(key, first + np.arange(len(walks)), 2 * step + 1) < returns)
    walks[:, step + 1] = np.where(back, walks[:, 0], ENDED)
    stays[:] = here & ~back
    yield


@plain_first(most=MOST, rounds=array_settle)
@njit(**OPTIONS)
def _settle(t, threads, walks, step, key, returns, first, stays):
    """Make the steps of walks that have ended or return to their source; the others stay."""
    count = walks.shape[0]
    for i in range(count * t // threads, count * (t + 1) // threads):
        v = walks[i, step]
        stays[i] = False
        if v == ENDED:
            walks[i, step + 1] = v
        elif _draw(_sequence(key, first + i), 2 * step + 1) < returns:
            walks[i, step + 1] = walks[i, 0]
        else:
            stays[i] = True


def array_next(offsets, targets, totals, weights, key, step, rows, walks, numbers, passed) -> Iterator[None]:
    """Write the next vertices; by weights all walks bisect their rows together."""
    low, last = offsets[rows], offsets[rows + 1]
    some = low < last
    if len(totals):
        some[some] = totals[last[some] - 1] > 0.0
    bits, low, last = _draws(key, walks[some], 2 * step), low[some], last[some]
    if len(totals):
        total, end = totals[last - 1], last - 1
        sought = plain(fraction)(bits) * total
        while (low < end).any():
            middle = (low + end) >> 1
            beyond = (low < end) & (totals[middle] <= sought) & (totals[middle] < total)
            low, end = np.where(beyond, middle + 1, low), np.where(beyond, end, middle)
    else:
        low = plain(_alike)(bits, low, last)
    numbers[:] = ENDED
    numbers[some] = targets[low]
    if len(passed):
        passed[:] = np.nan
        passed[some] = weights[low]
    yield


@plain_first(most=MOST, rounds=array_next)
@njit(**OPTIONS)
def _next(t, threads, offsets, targets, totals, weights, key, step, rows, walks, numbers, passed):
    """Write the vertex that each walk goes to from its row, and the weight of the edge."""
    count = len(rows)
    for i in range(count * t // threads, count * (t + 1) // threads):
        v = rows[i]
        place = _place(_draw(_sequence(key, walks[i]), 2 * step), offsets[v], offsets[v + 1], totals)
        numbers[i] = targets[place] if place >= 0 else np.uint32(ENDED)
        if len(passed) > 0:
            passed[i] = weights[place] if place >= 0 else np.nan
