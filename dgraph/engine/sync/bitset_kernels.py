"""Numba loops that pack and unpack messages. Positions are uint32; bits lie in uint64 words, lowest bit first."""

from functools import cache

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.launch import begin, end
from dgraph.backend.cpu.threads.unchecked import load, store, trailing_zeros
from partitioning.arrays.lazy_numba import ready

OPTIONS = {"nogil": True, "cache": True}

FEW = 128
"""Spans up to which vectorised comparisons with all are faster than a binary search per lid."""


def _spans_few(lids, starts, ends):
    """Return the span of each lid that is in one, and the lid's position in there."""
    spans = np.searchsorted(ends, lids, side="right")
    positions = lids - np.append(starts, 0)[spans]
    inside = (spans < len(ends)) & (positions >= 0)
    return spans[inside], positions[inside]


def _count_by_span_few(lids, starts, ends, counts):
    counts[:] = np.bincount(_spans_few(lids, starts, ends)[0], minlength=len(counts))


def _positions_by_span_few(lids, starts, ends, counts, cursor, room):
    spans, positions = _spans_few(lids, starts, ends)
    room[: len(spans)] = positions[np.argsort(spans, kind="stable")]


def _positions_in_few(lids, wanted, mask, room):
    mask[wanted] = 1
    positions = np.flatnonzero(mask[lids])
    mask[wanted] = 0
    room[: len(positions)] = positions
    return len(positions)


def _set_bits_few(words, positions):
    words[:] = 0
    np.bitwise_or.at(words, positions >> 6, np.uint64(1) << (positions & 63).astype(np.uint64))


def _positions_of_few(words, room):
    positions = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    room[: len(positions)] = positions[: len(room)]
    return min(len(positions), len(room) + 1)


def _largest_few(positions):
    return positions.max(initial=0)


def _uniform_few(values, positions):
    chosen = values[positions]
    return bool((chosen == chosen[:1]).all())


def _gather_few(values, positions, room):
    room[: len(positions)] = values[positions]


def _gather_on_team_few(t, team, threads, values, positions, room):
    _gather_few(values, positions, room)
    return 0


@njit(few=_count_by_span_few, **OPTIONS)
def count_by_span(lids, starts, ends, counts):
    """Count the lids in each span ``starts[i] .. ends[i]`` into ``counts``; spans are ascending and disjoint."""
    for i in range(len(counts)):
        store(counts, i, 0)
    if len(starts) <= FEW:
        for i in range(len(starts)):
            start, width, count = np.uint32(starts[i]), np.uint32(ends[i] - starts[i]), np.uint32(0)
            for k in range(len(lids)):
                count += np.uint32(np.uint32(load(lids, k) - start) < width)
            counts[i] = count
        return
    i = -1
    for k in range(len(lids)):
        i = span_of(np.int64(load(lids, k)), starts, ends, i)
        if i >= 0:
            store(counts, i, load(counts, i) + 1)


@njit(few=_positions_by_span_few, **OPTIONS)
def positions_by_span(lids, starts, ends, counts, cursor, listed):
    """Write the lids grouped by span, as offsets from the span's start; lids outside all spans are dropped.

    ``cursor`` is scratch of the size of ``counts``.
    """
    for i in range(len(counts)):
        if counts[i] == len(lids):
            start = np.uint32(starts[i])
            for k in range(len(lids)):
                store(listed, k, np.uint32(load(lids, k) - start))
            return
    first, i = 0, -1
    for k in range(len(counts)):
        store(cursor, k, first)
        first += load(counts, k)
    for k in range(len(lids)):
        lid = np.int64(load(lids, k))
        if len(ends) <= FEW:
            i = 0
            for span in range(len(ends)):
                i += np.int64(load(ends, span) <= lid)
            i = i if i < len(ends) and load(starts, i) <= lid else -1
        else:
            i = span_of(lid, starts, ends, i)
        if i >= 0:
            store(listed, load(cursor, i), np.uint32(lid - load(starts, i)))
            store(cursor, i, load(cursor, i) + 1)


@njit(nogil=True, forceinline=True)
def span_of(lid, starts, ends, guess):
    """Return the span that holds a lid, or -1; ``guess`` is tried first."""
    if guess >= 0 and load(starts, guess) <= lid < load(ends, guess):
        return guess
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) >> 1
        if load(ends, middle) <= lid:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ends) and load(starts, low) <= lid else -1


@njit(few=_positions_in_few, **OPTIONS)
def positions_in(lids, wanted, mask, listed):
    """Write the positions of ``lids`` whose lid is in ``wanted``, and return their number.

    It scans every position. ``mask`` is uint8 by lid, all 0 before and after the call.
    """
    for i in range(len(wanted)):
        store(mask, np.int64(load(wanted, i)), np.uint8(1))
    count = 0
    for position in range(len(lids)):
        store(listed, count, np.uint32(position))
        count += load(mask, np.int64(load(lids, position)))
    for i in range(len(wanted)):
        store(mask, np.int64(load(wanted, i)), np.uint8(0))
    return count


@njit(few=_set_bits_few, **OPTIONS)
def set_bits(words, positions):
    """Clear ``words``, and set the bits of ``positions``."""
    for i in range(len(words)):
        store(words, i, np.uint64(0))
    for i in range(len(positions)):
        position = np.int64(load(positions, i))
        store(words, position >> 6, load(words, position >> 6) | (np.uint64(1) << np.uint64(position & 63)))


@njit(few=_positions_of_few, **OPTIONS)
def positions_of(words, listed):
    """Write the positions of the set bits, ascending, and return their number; one more than fit ends the search."""
    count = 0
    for i in range(len(words)):
        word = words[i]
        while word != np.uint64(0):
            if count == len(listed):
                return count + 1
            listed[count] = (i << 6) + trailing_zeros(word)
            count += 1
            word &= word - np.uint64(1)
    return count


@njit(few=_largest_few, **OPTIONS)
def largest(positions):
    """Return the largest of one or more positions."""
    most = np.uint32(0)
    for i in range(len(positions)):
        most = max(most, load(positions, i))
    return most


@njit(few=_uniform_few, **OPTIONS)
def uniform(values, positions):
    """Return True if ``values[positions]`` are all equal."""
    for i in range(1, len(positions)):
        if load(values, np.int64(load(positions, i))) != load(values, np.int64(load(positions, 0))):
            return False
    return True


@njit(few=_gather_few, **OPTIONS)
def gather(values, positions, gathered_rows):
    """Set ``gathered_rows[i] = values[positions[i]]``."""
    for i in range(len(positions)):
        store(gathered_rows, i, load(values, np.int64(load(positions, i))))


@njit(few=_gather_on_team_few, **OPTIONS)
def gather_on_team(t, team, threads, values, positions, gathered_rows):
    """Do :func:`gather` on the threads of a team, as :meth:`Team.launch` starts them; return 0."""
    begin(t, team, threads)
    for i in range(len(positions) * t // threads, len(positions) * (t + 1) // threads):
        store(gathered_rows, i, load(values, np.int64(load(positions, i))))
    end(t, team, threads)
    return 0


def gathered(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return ``rows[positions]`` as a new uint32 array."""
    gathered_rows = np.empty(len(positions), np.uint32)
    gather(rows, positions, gathered_rows)
    return gathered_rows


def bits_of(dtype: np.dtype) -> np.dtype:
    """Return the unsigned integer of the same width: values are compared and copied as bits."""
    return np.dtype(f"u{dtype.itemsize}")


@cache
def load_kernels(*dtypes: str) -> None:
    """Compile the loops for message columns of these dtypes, or load them from the cache folder."""
    empty, words, mask, spans = (np.empty(0, kind) for kind in (np.uint32, np.uint64, np.uint8, np.int64))
    ready(count_by_span, empty, spans, spans, spans)
    ready(positions_by_span, empty, spans, spans, spans, spans, empty)
    ready(positions_in, empty, empty, mask, empty)
    ready(set_bits, words, empty)
    ready(positions_of, words, empty)
    ready(largest, empty)
    ready(gather, empty, empty, empty)
    for dtype in dtypes:
        values = np.empty(0, bits_of(np.dtype(dtype)))
        ready(uniform, values, empty)
        ready(gather, values, empty, values)
        ready(gather_on_team, 0, spans, 1, values, empty, values)
