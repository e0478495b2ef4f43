"""Build rows of neighbours from pairs: counting sort by row, sorting and merging within a row, transposition.

Kernels are serial, and make one pass over the arcs if possible. ``weights`` is an array or None.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.threads import MOST, SHARE, in_order

SHORT = 96
"""Longest row that is sorted by counting smaller targets; longer ones are radix sorted."""
MORE = 1 << 21
"""Arcs up to which NumPy counts and transposes rows: it takes less time for them than Numba's import."""
PIECES = 4
"""Pieces of rows a thread: a piece that is slow leaves the others to the other threads."""


def row_shares(function: Callable[[slice], object], offsets: np.ndarray, threads: int) -> None:
    """Call ``function`` with slices of rows that have about equally many arcs, on several threads.

    Args:
        function: returns nothing that is used; it releases the interpreter lock.
        offsets: int64 (rows + 1,), ascending.
        threads: threads to use.
    """
    rows, threads = offsets.size - 1, min(threads, MOST)
    if threads <= 1:
        function(slice(0, rows))
        return
    arcs = int(offsets[-1] - offsets[0])
    pieces = min(PIECES * threads, max(1, (arcs + rows) // SHARE))
    steps = np.arange(1, pieces, dtype=np.int64)
    inner = np.searchsorted(offsets, offsets[0] + arcs * steps // pieces)
    if arcs < rows:  # most rows are empty: equally many rows
        inner = rows * steps // pieces
    cuts = [0, *inner.tolist(), rows]
    for _ in in_order(function, map(slice, cuts[:-1], cuts[1:]), min(threads, pieces)):
        pass


def sources_of(offsets: np.ndarray, first: int, kind: np.dtype, threads: int) -> np.ndarray:
    """Return the row of each entry, in a dtype; rows are numbered from ``first`` on.

    NumPy's ``repeat`` does the same on one thread, which holds the interpreter lock.
    """
    begin = int(offsets[0])
    sources = np.empty(int(offsets[-1]) - begin, kind)

    def fill(rows: slice) -> None:
        ends = offsets[rows.start : rows.stop + 1]
        _fill_rows(ends, first + rows.start, sources[int(ends[0]) - begin : int(ends[-1]) - begin])

    row_shares(fill, offsets, threads)
    return sources


def _fill_few_rows(offsets, first, sources):
    sources[:] = np.repeat(np.arange(first, first + offsets.size - 1), np.diff(offsets))


@njit(cache=True, nogil=True, few=_fill_few_rows)
def _fill_rows(offsets, first, sources):
    """Store ``first`` plus its number for every entry of a row."""
    for row in range(offsets.size - 1):
        for entry in range(offsets[row] - offsets[0], offsets[row + 1] - offsets[0]):
            sources[entry] = first + row


def transpose(
    rows: int, offsets: np.ndarray, neighbours: np.ndarray, weights: np.ndarray | None, order: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the CSR of the reversed arcs of a square structure of ``rows`` rows and columns.

    Args:
        rows: number of rows.
        offsets: int64 (rows + 1,).
        neighbours: int32, uint32 or int64, below ``rows``.
        weights: in the order of ``neighbours``, or None.
        order: order of sources within each row of the result, as a permutation of the rows; None: ascending.

    Returns:
        Offsets int64 (rows + 1,), neighbours uint32, weights in their order or None.
    """
    # starts[v + 1] is row v's cursor; filling moves it to the row's end, so no separate cursor array is needed.
    starts = np.zeros(rows + 2, np.int64)
    _count(neighbours, -1, starts)
    np.cumsum(starts, out=starts)
    sources = np.empty(neighbours.size, np.uint32)
    carried = None if weights is None else np.empty_like(weights)
    _turn(offsets, neighbours, weights, order, starts[1:], sources, carried)
    return starts[:-1], sources, carried


def count_rows(sources: np.ndarray, first: int, offsets: np.ndarray) -> None:
    """Add the number of arcs that leave gid ``first + r`` to ``offsets[r + 1]``."""
    _count(sources, first, offsets)


def count_columns(neighbours: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return how often each of the lids ``first .. last`` occurs in ``neighbours``: uint32 (last - first,)."""
    counts = np.zeros(last - first, np.uint32)
    if last > first:
        _count_columns(neighbours, first, counts)
    return counts


def place_rows(
    arcs: tuple[np.ndarray, np.ndarray, np.ndarray | None],
    first: int,
    cursor: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray | None,
) -> None:
    """Store arcs ``(sources, targets, weights)`` in their rows at ``cursor``, which advances."""
    _place(*arcs, first, cursor, targets, weights)


def sort_rows(offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, threads: int = 1) -> None:
    """Sort the targets of every row in ascending order, in place; weights are permuted along."""

    def sort(rows: slice) -> None:
        here = offsets[rows.start : rows.stop + 1]
        longest = int(np.diff(here).max(initial=0))
        spare = np.empty(longest, targets.dtype)
        spare_weights = None if weights is None else np.empty(spare.size, weights.dtype)
        _sort(here, targets, weights, spare, spare_weights, np.empty(257, np.int64))

    row_shares(sort, offsets, threads)


def merge_parallel(
    offsets: np.ndarray, targets: np.ndarray, weights: np.ndarray | None, first: int, keep: bool
) -> tuple[np.ndarray, np.ndarray | None, int, int]:
    """Merge equal targets of every sorted row, in place, keeping the smallest weight.

    With ``keep`` they are only counted, and the weights of equal targets are sorted.

    Args:
        offsets: int64 (rows + 1,); changed in place.
        targets: sorted within each row.
        weights: in the order of ``targets``, or None.
        first: gid of the first row.
        keep: keep parallel edges.

    Returns:
        Targets and weights (shortened); the number of entries equal to the one before them; and those that are
        self-loops.
    """
    if keep:
        equal, loops = _order_parallel(offsets, targets, weights, first)
        return targets, weights, equal, loops
    equal, loops = _merge(offsets, targets, weights, first)
    if equal:
        targets = _shortened(targets, offsets[-1])
        weights = None if weights is None else _shortened(weights, offsets[-1])
    return targets, weights, equal, loops


def _shortened(array, size):
    if array.base is not None:
        return array[: int(size)]
    array.resize(int(size), refcheck=False)
    return array


def _rows_of(offsets):
    """Return the row of each entry."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def _count_few(sources, first, offsets):
    offsets[1:] += np.bincount(sources.astype(np.int64) - first, minlength=offsets.size - 1)


@njit(cache=True, few=_count_few, most=MORE)
def _count(sources, first, offsets):
    """Add the length of row r to ``offsets[r + 1]``."""
    for i in range(sources.size):
        offsets[np.int64(sources[i]) - first + 1] += 1


def _count_few_columns(neighbours, first, counts):
    lids = neighbours.astype(np.int64) - first
    counts += np.bincount(lids[lids >= 0], minlength=counts.size).astype(counts.dtype)


@njit(cache=True, few=_count_few_columns)
def _count_columns(neighbours, first, counts):
    for e in range(neighbours.size):
        lid = np.int64(neighbours[e]) - first
        if lid >= 0:
            counts[lid] += 1


def _place_few(sources, targets, weights, first, cursor, entries, out_weights):
    positions = places(sources.astype(np.int64) - first, cursor)
    entries[positions] = targets
    if weights is not None:
        out_weights[positions] = weights


@njit(cache=True, few=_place_few)
def _place(sources, targets, weights, first, cursor, entries, out_weights):
    for i in range(sources.size):
        row = np.int64(sources[i]) - first
        position = cursor[row]
        cursor[row] = position + 1
        entries[position] = targets[i]
        if weights is not None:
            out_weights[position] = weights[i]


def places(keys, cursor):
    """Return the place of every entry behind those of its key; ``cursor[k]``, the first of key k, advances.

    Both the keys and their number are below 2**31.
    """
    numbered = (keys.astype(np.int64) << 32) | np.arange(keys.size)  # NumPy sorts numbers in a fifth of argsort's time
    order, counts = np.sort(numbered) & 0xFFFFFFFF, np.bincount(keys, minlength=cursor.size)
    positions = np.empty(keys.size, np.int64)
    positions[order] = np.repeat(cursor - np.cumsum(counts) + counts, counts) + np.arange(keys.size)
    cursor += counts
    return positions


def _turn_few(offsets, neighbours, weights, order, cursor, sources, carried):
    rows = np.arange(offsets.size - 1) if order is None else order
    lengths = np.diff(offsets)[rows]
    entries = np.repeat(offsets[rows] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    positions = places(neighbours[entries], cursor)
    sources[positions] = np.repeat(rows, lengths)
    if weights is not None:
        carried[positions] = weights[entries]


@njit(cache=True, few=_turn_few, most=MORE)
def _turn(offsets, neighbours, weights, order, cursor, sources, carried):
    for turn in range(offsets.size - 1):
        row = turn if order is None else order[turn]
        for i in range(offsets[row], offsets[row + 1]):
            position = cursor[neighbours[i]]
            cursor[neighbours[i]] = position + 1
            sources[position] = row
            if weights is not None:
                carried[position] = weights[i]


def _sort_few(offsets, targets, weights, *_):
    here = slice(offsets[0], offsets[-1])
    order = np.lexsort((targets[here], _rows_of(offsets)))
    targets[here] = targets[here][order]
    if weights is not None:
        weights[here] = weights[here][order]


@njit(cache=True, nogil=True, few=_sort_few)
def _sort(offsets, targets, weights, spare, spare_weights, starts):
    for row in range(offsets.size - 1):
        lo, hi = offsets[row], offsets[row + 1]
        if ascending(targets, lo, hi):
            continue
        if hi - lo <= SHORT:
            rank(targets, weights, lo, hi, spare, spare_weights, 0)
            for i in range(hi - lo):
                targets[lo + i] = spare[i]
                if weights is not None:
                    weights[lo + i] = spare_weights[i]
        else:
            radix(targets, weights, lo, hi, spare, spare_weights, starts)


@njit(no_cpython_wrapper=True)
def ascending(targets, lo, hi):
    """Return True if the targets from ``lo`` to ``hi - 1`` ascend."""
    for i in range(lo + 1, hi):  # noqa: SIM110 - numba compiles no generator inside all()
        if targets[i - 1] > targets[i]:
            return False
    return True


@njit(no_cpython_wrapper=True)
def rank(targets, weights, lo, hi, ranked, ranked_weights, begin):
    """Store the targets from ``lo`` to ``hi - 1`` and their weights sorted, from ``begin`` on in ``ranked``.

    A target's place is the number of smaller ones, which vector units count: 29 random targets take a third of the time
    of sorting by insertion. Places add up to those of distinct targets, or the row is sorted again with equal ones in
    their order. Returns True if the targets are distinct.
    """
    for ties in range(2):
        total = 0
        for i in range(lo, hi):
            target, smaller = targets[i], np.uint32(0)
            for j in range(lo, hi):
                smaller = np.uint32(smaller + np.uint32(targets[np.uintp(j)] < target))
            for j in range(lo, i if ties else lo):
                smaller = np.uint32(smaller + np.uint32(targets[np.uintp(j)] == target))
            place = begin + np.int64(smaller)
            ranked[place] = target
            if weights is not None:
                ranked_weights[place] = weights[i]
            total += np.int64(smaller)
        if 2 * total == (hi - lo) * (hi - lo - 1):
            return ties == 0
    return False


@njit(no_cpython_wrapper=True)
def radix(targets, weights, lo, hi, spare, spare_weights, starts):
    """Sort one row by bytes, least significant first; bytes equal in the whole row are skipped."""
    differ = np.int64(0)
    for i in range(lo + 1, hi):
        differ |= np.int64(targets[i]) ^ np.int64(targets[lo])
    for shift in range(0, 64, 8):
        if (differ >> shift) & 255 == 0:
            continue
        for digit in range(257):
            starts[digit] = 0
        for i in range(lo, hi):
            starts[((np.int64(targets[i]) >> shift) & 255) + 1] += 1
        for digit in range(256):
            starts[digit + 1] += starts[digit]
        for i in range(lo, hi):
            digit = (np.int64(targets[i]) >> shift) & 255
            position = starts[digit]
            starts[digit] = position + 1
            spare[position] = targets[i]
            if weights is not None:
                spare_weights[position] = weights[i]
        for i in range(hi - lo):
            targets[lo + i] = spare[i]
            if weights is not None:
                weights[lo + i] = spare_weights[i]


def _merge_few(offsets, targets, weights, first):
    rows, here = _rows_of(offsets), slice(offsets[0], offsets[-1])
    listed = targets[here]
    kept = np.append(True, (listed[1:] != listed[:-1]) | (rows[1:] != rows[:-1]))[: listed.size]
    loops = int(np.count_nonzero(~kept & (listed == rows + first)))
    starts = np.flatnonzero(kept)
    if weights is not None and starts.size:
        order = np.lexsort((weights[here], np.cumsum(kept)))  # stable: of equal weights the first, whatever its sign
        weights[: starts.size] = weights[here][order][starts]
    targets[: starts.size] = listed[starts]
    offsets[1:] = np.cumsum(np.bincount(rows[starts], minlength=offsets.size - 1))
    return listed.size - starts.size, loops


@njit(cache=True, few=_merge_few)
def _merge(offsets, targets, weights, first):
    equal, loops = 0, 0
    end, lo = 0, offsets[0]
    for row in range(offsets.size - 1):
        begin, hi = end, offsets[row + 1]
        for i in range(lo, hi):
            if end > begin and targets[end - 1] == targets[i]:
                equal += 1
                loops += np.int64(targets[i]) == row + first
                if weights is not None:
                    weights[end - 1] = min(weights[end - 1], weights[i])
            else:
                targets[end] = targets[i]
                if weights is not None:
                    weights[end] = weights[i]
                end += 1
        lo = hi
        offsets[row + 1] = end
    return equal, loops


@njit(cache=True)
def _order_parallel(offsets, targets, weights, first):
    equal, loops = 0, 0
    for row in range(offsets.size - 1):
        begin = offsets[row]
        for i in range(offsets[row] + 1, offsets[row + 1] + 1):
            if i < offsets[row + 1] and targets[i] == targets[begin]:
                equal += 1
                loops += np.int64(targets[i]) == row + first
                continue
            if weights is not None and i - begin > 1:
                weights[begin:i].sort()
            begin = i
    return equal, loops


def edges_of(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges of these rows: the position of their row in ``rows``, and their index."""
    degree = offsets[rows + 1] - offsets[rows]
    place = np.repeat(np.arange(rows.size), degree)
    return place, np.arange(place.size) + np.repeat(offsets[rows] - (np.cumsum(degree) - degree), degree)
