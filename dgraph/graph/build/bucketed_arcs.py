"""Rows from arcs in any order: arcs are partitioned into buckets of rows, then each bucket is sorted in the cache.

A counting sort of all arcs by row writes to as many places as there are rows, and each write misses the cache. Here a
bucket has up to :data:`ROWS` rows and about :data:`ARCS` arcs: the first pass counts the arcs of every bucket, the
second appends them to their buckets, and then each bucket is placed, sorted and merged by itself, in the cache. This is
one digit of an MSD radix sort, the blocking of Beamer et al. (Reducing Pagerank Communication via Propagation Blocking,
IPDPS 2017). Threads count and append their own shares of the arcs, and take buckets in turn; the order of equal arcs is
that of the input, whatever the number of threads.

:class:`BucketedArcs` is the entry; ``clean.py`` sends the arcs to the ranks of their rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.first_runs import first_run
from dgraph._support.threads import in_order
from dgraph.graph.build import array_buckets
from dgraph.graph.build.memory_pages import give_back, large_array
from dgraph.graph.rows import SHORT, ascending, radix, rank
from partitioning.arrays.lazy_numba import FEW

ROWS = 1 << 16
"""Most rows of a bucket: a row within its bucket has 16 bits."""
ARCS = 1 << 15
"""Arcs that an average bucket should have, with those of equally many rows: they fit the cache of a core."""
FEW_AT_FIRST = 1 << 23
"""Arcs up to which NumPy sorts the rows until machine code pays, which takes 2 s: 0.1 µs an arc, ten times as long."""
TURNS = 16
"""Turns in which each thread takes buckets of about equally many arcs: a turn holds the interpreter lock for 20 µs."""
MOST = 1 << 11
"""Buckets beyond which appending to them misses the cache and the TLB."""


class BucketedArcs:
    """Arcs of rows ``first .. first + rows - 1``, grouped by bucket.

    Call :meth:`count` with all arcs, then :meth:`end_counts`, then :meth:`append` with the same arcs, then
    :meth:`rows_of`.

    Args:
        first: gid of the first row.
        rows: number of rows.
        arcs: expected number of arcs.
        threads: threads that count and append, each in a share of its own.
    """

    def __init__(self, first: int, rows: int, arcs: int, threads: int):
        self.first, self.rows, self.threads = first, rows, threads
        wanted = min(MOST, max(1, arcs // ARCS))
        self.shift = min(max(0, (rows - 1).bit_length() - wanted.bit_length()), ROWS.bit_length() - 1)
        self.counts = np.zeros((threads, (rows >> self.shift) + 1), np.int64)
        self.run = first_run("graph.build", arcs, FEW, FEW_AT_FIRST)

    def count(self, arcs: tuple, base: int, loops: bool, doubled: bool, thread: int = 0) -> int:
        """Count arcs; return the number of self-loops among them.

        Args:
            arcs: sources, targets and weights or None, shape (k,) each.
            base: id of gid 0 in ``arcs``.
            loops: True if self-loops are arcs.
            doubled: True if the reverses are arcs, too.
            thread: the share to which they belong.
        """
        form = base, self.first, loops, doubled, self.shift, self.counts[thread]
        with self.run as uncompiled:
            if uncompiled:
                return sum(array_buckets.count(src, dst, *form) for src, dst in array_buckets.pieces(arcs[:2]))
            return _count(*arcs[:2], *form)

    def end_counts(self, targets: np.dtype, weights: np.dtype | None, huge: bool = True) -> None:
        """Allocate the buckets for arcs with targets and weights of these dtypes.

        ``huge``: in huge pages, of which buckets touch all at once, and which miss the TLB less often.
        """
        by_bucket = self.counts.T.ravel()
        cursors = np.cumsum(by_bucket) - by_bucket
        self.cursors = np.ascontiguousarray(cursors.reshape(-1, self.threads).T)
        self.starts = np.append(self.cursors[0], by_bucket.sum())
        size = int(self.starts[-1])
        self.places, self.targets = large_array(size, np.uint16, huge), large_array(size, targets, huge)
        self.weights = None if weights is None else large_array(size, weights, huge)

    def append(self, arcs: tuple, base: int, loops: bool, doubled: bool, thread: int = 0) -> None:
        """Append arcs to their buckets; arguments as of :meth:`count`."""
        form = base, self.first, loops, doubled, self.shift, self.cursors[thread]
        with self.run as uncompiled:
            for src, dst, weights in array_buckets.pieces(arcs) if uncompiled else ():
                array_buckets.append(src, dst, weights, *form, self.places, self.targets, self.weights)
            if not uncompiled:
                _append(*arcs, *form, self.places, self.targets, self.weights)

    def rows_of(self, merging: bool, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int, int]:
        """Return offsets, targets and weights of the sorted rows, and empty the buckets.

        Args:
            merging: True if equal targets of a row become one, with the smallest weight.
            threads: threads that take buckets in turn.

        Returns:
            Offsets, int64 (rows + 1,), targets, weights or None; then the number of entries merged into the one before
            them, and of those that are self-loops.
        """

        def build(buckets: slice, lengths: np.ndarray, room: tuple, scratch: tuple) -> tuple[int, int]:
            columns, starts = (self.places, self.targets, self.weights), self.starts[buckets.start : buckets.stop + 1]
            first = self.first + (buckets.start << self.shift)
            with self.run as uncompiled:
                if uncompiled:
                    return array_buckets.build(*columns, starts, self.shift, first, merging, lengths)
                return _build(*columns, starts, self.shift, first, merging, lengths, *room, *scratch)

        offsets, equal, loops = self._built(build, threads)
        targets, self.targets = self._joined(self.targets, self.starts, offsets, threads), np.empty(0, np.uint32)
        if self.weights is None:
            return offsets, targets, None, equal, loops
        weights, self.weights = self._joined(self.weights, self.starts, offsets, threads), None
        return offsets, targets, weights, equal, loops

    def rows_beside(self, rows: tuple, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int, int]:
        """Return what :meth:`rows_of` does, of the arcs and of those of other rows, and empty the buckets.

        Equal targets of a row become one, with the smallest weight. The arcs of a row were appended in ascending order,
        so that rows are merged, and nothing is sorted.

        Args:
            rows: offsets, targets and weights or None of sorted rows, of the dtypes of the arcs'.
            threads: as of :meth:`rows_of`.
        """
        offsets, targets, weights = rows
        starts = self.starts + offsets[np.minimum(np.arange(self.starts.size) << self.shift, self.rows)]
        both = large_array(int(starts[-1]), targets.dtype)
        weights_of_both = None if weights is None else large_array(both.size, weights.dtype)

        def build(buckets: slice, lengths: np.ndarray, room: tuple, scratch: tuple) -> tuple[int, int]:
            here, row = slice(buckets.start, buckets.stop + 1), buckets.start << self.shift
            return _build_beside(
                self.places, self.targets, self.weights, self.starts[here], self.shift, self.first + row,
                offsets[row : row + lengths.size + 1], targets, weights, both, weights_of_both, starts[here],
                lengths, *room, scratch[1],
            )  # fmt: skip

        bounds, equal, loops = self._built(build, threads)
        self.targets, self.weights = np.empty(0, np.uint32), None
        both = self._joined(both, starts, bounds, threads)
        if weights_of_both is not None:
            weights_of_both = self._joined(weights_of_both, starts, bounds, threads)
        return bounds, both, weights_of_both, equal, loops

    def _built(self, build: Callable, threads: int) -> tuple[np.ndarray, int, int]:
        """Build all buckets, which threads take in turn; return the offsets of their rows, and the sums of ``build``.

        ``build`` gets some buckets, the lengths of their rows to set, memory for the targets and weights of one bucket,
        and that for a radix sort and for the ends of a bucket's rows.
        """
        offsets = np.zeros(self.rows + 1, np.int64)
        size, longest = self.starts.size - 1, int(np.diff(self.starts).max())
        cost = self.starts + (np.arange(size + 1) << self.shift)  # arcs and rows before each bucket
        inner = np.searchsorted(cost, np.linspace(0, cost[-1], TURNS * threads + 1)[1:-1])
        cuts = np.unique([0, *inner, size]).tolist()
        turns = iter([slice(*cut) for cut in pairwise(cuts)])
        merged: list[tuple[int, int]] = []
        columns = self.targets, self.weights

        def work(_thread: int) -> None:
            room = tuple(column if column is None else np.empty(longest, column.dtype) for column in columns)
            # a kernel that makes arrays itself imports Numba's arrays as it is loaded: 40 ms of a process
            scratch = np.empty(257, np.int64), np.empty((1 << self.shift) + 2, np.int64)
            for buckets in turns:
                rows = offsets[(buckets.start << self.shift) + 1 : (buckets.stop << self.shift) + 1]
                merged.append(build(buckets, rows, room, scratch))

        for _ in in_order(work, range(threads), threads):
            pass
        np.cumsum(offsets, out=offsets)
        self.places = np.empty(0, np.uint16)
        equal, loops = (int(number) for number in np.sum(merged, axis=0))
        return offsets, equal, loops

    def _joined(self, values: np.ndarray, starts: np.ndarray, offsets: np.ndarray, threads: int) -> np.ndarray:
        """Return the values of all buckets, from ``starts`` on, without the gaps that merging left at their ends.

        Each thread moves a share of the buckets in one task: a task a bucket costs more than to move it.
        """
        if values.size == offsets[-1]:
            return values
        joined = values if threads == 1 else large_array(int(offsets[-1]), values.dtype)

        firsts = np.minimum(np.arange(self.starts.size) << self.shift, self.rows)
        begins = offsets[firsts].tolist()

        def copy(buckets: slice) -> None:
            moves = zip(begins[buckets], begins[buckets.start + 1 :], starts[buckets].tolist(), strict=False)
            for begin, end, start in moves:
                joined[begin:end] = values[start : start + end - begin]
                if joined is not values:
                    give_back(values[start : start + end - begin])

        size = self.starts.size - 1
        inner = np.searchsorted(begins, np.linspace(0, begins[-1], threads + 1)[1:-1])
        cuts = [0, *np.minimum(inner, size).tolist(), size]
        for _ in in_order(copy, map(slice, cuts[:-1], cuts[1:]), threads):
            pass
        if joined.base is None:
            joined.resize(int(offsets[-1]), refcheck=False)
        give_back(joined[offsets[-1] :])
        return joined[: offsets[-1]]


@njit(cache=True, nogil=True)
def _count(src, dst, base, first, loops, doubled, shift, counts):
    same = 0
    for i in range(src.size):
        u, v = np.int64(src[i]) - base, np.int64(dst[i]) - base
        if u == v:
            same += 1
            if not loops:
                continue
        counts[(u - first) >> shift] += 1
        if doubled and u != v:
            counts[(v - first) >> shift] += 1
    return same


@njit(cache=True, nogil=True)
def _append(src, dst, weights, base, first, loops, doubled, shift, cursors, places, targets, carried):
    mask = (1 << shift) - 1
    for i in range(src.size):
        u, v = np.int64(src[i]) - base, np.int64(dst[i]) - base
        if u == v and not loops:
            continue
        row = u - first
        position = cursors[row >> shift]
        cursors[row >> shift] = position + 1
        places[position] = row & mask
        targets[position] = v
        if weights is not None:
            carried[position] = weights[i]
        if doubled and u != v:
            row = v - first
            position = cursors[row >> shift]
            cursors[row >> shift] = position + 1
            places[position] = row & mask
            targets[position] = u
            if weights is not None:
                carried[position] = weights[i]


@njit(cache=True)
def _placed(places, targets, weights, rows, room, room_weights, ends):
    """Store the arcs of one bucket in ``room`` by row, in their order, and the offsets of the rows in ``ends``."""
    for row in range(rows + 2):
        ends[row] = 0
    for i in range(places.size):
        ends[np.int64(places[i]) + 2] += 1
    for row in range(rows):
        ends[row + 2] += ends[row + 1]
    for i in range(places.size):  # ends[row + 1] moves from the start of the row to its end
        position = ends[np.int64(places[i]) + 1]
        ends[np.int64(places[i]) + 1] = position + 1
        room[position] = targets[i]
        if weights is not None:
            room_weights[position] = weights[i]


@njit(cache=True, nogil=True)
def _build(
    places, targets, weights, starts, shift, first, merging, lengths, room, room_weights, digits, ends
):  # fmt: skip
    """Sort the arcs of each bucket into rows, in place; return how many were merged, and loops among these.

    Args:
        places: row of each arc within its bucket.
        targets: of the arcs; the rows of a bucket one after another afterwards.
        weights: as ``targets``, or None.
        starts: of the buckets in ``places``, ``targets`` and ``weights``, and the end of the last one.
        shift: a bucket has ``1 << shift`` rows, the last one may have fewer.
        first: gid of the first row.
        merging: True if equal targets of a row become one.
        lengths: set to the length of every row.
        room: at least as long as the longest bucket, of the dtype of ``targets``.
        room_weights: as ``room``, or None.
        digits: int64 (257,), for the sort.
        ends: int64, at least two more than the rows of a bucket.
    """
    equal, loops = 0, 0
    for bucket in range(starts.size - 1):
        begin, end, row = starts[bucket], starts[bucket + 1], bucket << shift
        merged = _build_one(
            places[begin:end], targets[begin:end], None if weights is None else weights[begin:end], first + row,
            merging, lengths[row : row + (1 << shift)], room, room_weights, digits, ends,
        )  # fmt: skip
        equal, loops = equal + merged[0], loops + merged[1]
    return equal, loops


@njit(no_cpython_wrapper=True)
def _build_one(places, targets, weights, first, merging, lengths, room, room_weights, digits, ends):
    """Sort the arcs of one bucket; arguments and results are those of :func:`_build`."""
    _placed(places, targets, weights, lengths.size, room, room_weights, ends)
    equal, loops, end = 0, 0, 0
    for row in range(lengths.size):
        begin, low, high = end, ends[row], ends[row + 1]
        if not ascending(room, low, high):
            if high - low > SHORT:
                free = None if weights is None else weights[end:high]
                radix(room, room_weights, low, high, targets[end:high], free, digits)
            elif rank(room, room_weights, low, high, targets, weights, end) or not merging:
                end += high - low
            else:
                for i in range(high - low):
                    room[low + i] = targets[begin + i]
                    if weights is not None:
                        room_weights[low + i] = weights[begin + i]
        for i in range(low if end == begin else high, high):
            if merging and end > begin and targets[end - 1] == room[i]:
                equal += 1
                loops += np.int64(room[i]) == row + first
                if weights is not None:
                    weights[end - 1] = min(weights[end - 1], room_weights[i])
            else:
                targets[end] = room[i]
                if weights is not None:
                    weights[end] = room_weights[i]
                end += 1
        lengths[row] = end - begin
    return equal, loops


@njit(cache=True, nogil=True)
def _build_beside(
    places, arc_targets, arc_weights, arc_starts, shift, first, offsets, row_targets, row_weights, targets, weights,
    starts, lengths, room, room_weights, ends,
):  # fmt: skip
    """Merge the arcs of each bucket with sorted rows; arguments and results are those of :func:`_build`, but for these.

    ``arc_targets`` and ``arc_weights`` ascend for each row, and begin at ``arc_starts``; ``offsets`` are those of the
    rows in ``row_targets`` and ``row_weights``; the merged rows are stored in ``targets`` and ``weights``, those of a
    bucket from its ``starts`` on, one after another.
    """
    equal, loops = 0, 0
    for bucket in range(starts.size - 1):
        begin, end, row = arc_starts[bucket], arc_starts[bucket + 1], bucket << shift
        size = min(1 << shift, lengths.size - row)
        merged = _merge_one(
            places[begin:end], arc_targets[begin:end], None if weights is None else arc_weights[begin:end], first + row,
            offsets[row : row + size + 1], row_targets, row_weights, targets[starts[bucket] :],
            None if weights is None else weights[starts[bucket] :], lengths[row : row + size], room, room_weights, ends,
        )  # fmt: skip
        equal, loops = equal + merged[0], loops + merged[1]
    return equal, loops


@njit(no_cpython_wrapper=True)
def _merge_one(
    places, arc_targets, arc_weights, first, offsets, row_targets, row_weights, targets, weights, lengths, room,
    room_weights, ends,
):  # fmt: skip
    """Merge the arcs of one bucket with its rows; arguments and results are those of :func:`_build_beside`."""
    _placed(places, arc_targets, arc_weights, lengths.size, room, room_weights, ends)
    equal, loops, end = 0, 0, 0
    for row in range(lengths.size):
        begin, here = end, row + first
        left, left_end, right, right_end = ends[row], ends[row + 1], offsets[row], offsets[row + 1]
        while left < left_end or right < right_end:
            # of equal targets the arc of the smaller source is first: the order of both arcs in a list of all rows
            if right == right_end or (
                left < left_end
                and (room[left] < row_targets[right] or (room[left] == row_targets[right] and room[left] < here))
            ):
                target = room[left]
                if weights is not None:
                    weight = room_weights[left]
                left += 1
            else:
                target = row_targets[right]
                if weights is not None:
                    weight = row_weights[right]
                right += 1
            if end > begin and targets[end - 1] == target:
                equal += 1
                loops += target == here
                if weights is not None:
                    weights[end - 1] = min(weights[end - 1], weight)
            else:
                targets[end] = target
                if weights is not None:
                    weights[end] = weight
                end += 1
        lengths[row] = end - begin
    return equal, loops
