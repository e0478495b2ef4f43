"""The compiled loops of packing and unpacking. Positions are uint32; bits lie in uint64 words, lowest first."""

from functools import cache

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import load, store, trailing_zeros

OPTIONS = {"nogil": True, "cache": True}

FEW = 128
"""Stretches that are faster counted one after the other: a vector unit looks at all lids in the time of one search."""


@njit(**OPTIONS)
def count(lids, starts, ends, counts):
    """How many lids lie in each of the stretches ``starts[i] .. ends[i]``, which ascend and lie apart."""
    counts[:] = 0
    if len(starts) <= FEW:
        for i in range(len(starts)):
            start, width, found = np.uint32(starts[i]), np.uint32(ends[i] - starts[i]), np.uint32(0)
            for k in range(len(lids)):
                found += np.uint32(np.uint32(load(lids, k) - start) < width)
            counts[i] = found
        return
    i = -1
    for k in range(len(lids)):
        i = stretch_of(np.int64(load(lids, k)), starts, ends, i)
        if i >= 0:
            store(counts, i, load(counts, i) + 1)


@njit(**OPTIONS)
def deal(lids, starts, ends, counts, out):
    """The same lids, stretch by stretch, as positions in it; lids in no stretch are left out."""
    for i in range(len(counts)):
        if counts[i] == len(lids):
            start = np.uint32(starts[i])
            for k in range(len(lids)):
                store(out, k, np.uint32(load(lids, k) - start))
            return
    cursor, i = np.cumsum(counts) - counts, -1
    for k in range(len(lids)):
        lid = np.int64(load(lids, k))
        i = stretch_of(lid, starts, ends, i)
        if i >= 0:
            store(out, load(cursor, i), np.uint32(lid - load(starts, i)))
            store(cursor, i, load(cursor, i) + 1)


@njit(nogil=True, forceinline=True)
def stretch_of(lid, starts, ends, guess):
    """The stretch that a lid lies in, likely ``guess``; -1 if it is none."""
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


@njit(**OPTIONS)
def held_of_many(lids, wanted, mask, out):
    """Positions of ``wanted`` in ``lids``: a look at every position; how many. ``mask``: all 0, by lid; is so again."""
    for lid in wanted:
        store(mask, np.int64(lid), np.uint8(1))
    count = 0
    for at in range(len(lids)):
        store(out, count, np.uint32(at))
        count += load(mask, np.int64(load(lids, at)))
    for lid in wanted:
        store(mask, np.int64(lid), np.uint8(0))
    return count


@njit(**OPTIONS)
def set_bits(words, positions):
    """Clear ``words``, and set the bits of ``positions``."""
    words[:] = 0
    for i in range(len(positions)):
        at = np.int64(load(positions, i))
        store(words, at >> 6, load(words, at >> 6) | (np.uint64(1) << np.uint64(at & 63)))


@njit(**OPTIONS)
def positions_of(words, out):
    """The positions of the bits that are set, ascending; how many."""
    count = 0
    for i in range(len(words)):
        word = words[i]
        while word != np.uint64(0):
            out[count] = (i << 6) + trailing_zeros(word)
            count += 1
            word &= word - np.uint64(1)
    return count


@njit(**OPTIONS)
def alike(values, positions):
    """Whether ``values[positions]`` are all the same."""
    for i in range(1, len(positions)):
        if load(values, np.int64(load(positions, i))) != load(values, np.int64(load(positions, 0))):
            return False
    return True


@njit(**OPTIONS)
def gather(values, positions, out):
    """``out[i] = values[positions[i]]``."""
    for i in range(len(positions)):
        store(out, i, load(values, np.int64(load(positions, i))))


def gathered(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """``rows[positions]``, uint32."""
    out = np.empty(len(positions), np.uint32)
    gather(rows, positions, out)
    return out


def bare(dtype: np.dtype) -> np.dtype:
    """The unsigned integer of the same width: bits are compared and moved, whatever they mean."""
    return np.dtype(f"u{dtype.itemsize}")


@cache
def load_kernels(*dtypes: str) -> None:
    """Compile, or load from the cache folder, the loops for messages of fields of these dtypes."""
    nothing, words, mask, places = (np.empty(0, kind) for kind in (np.uint32, np.uint64, np.uint8, np.int64))
    count(nothing, places, places, places)
    deal(nothing, places, places, places, nothing)
    held_of_many(nothing, nothing, mask, nothing)
    set_bits(words, nothing)
    positions_of(words, nothing)
    gather(nothing, nothing, nothing)
    for dtype in dtypes:
        values = np.empty(0, bare(np.dtype(dtype)))
        alike(values, nothing)
        gather(values, nothing, values)
