"""``GidSet``: a set of gids with constant-time rank queries, without a table of n entries.

One bit a gid of the whole graph, and a running count for every word of them: 3/16 of a byte a gid (Jacobson,
Space-efficient static trees and graphs, FOCS 1989).
"""

from __future__ import annotations

import numpy as np

from partitioning.arrays.kernels import bits_set
from partitioning.arrays.lazy_numba import njit


class GidSet:
    """Set of gids below n, and their positions in ascending order: :meth:`add`, then :meth:`seal`, then query."""

    def __init__(self, n: int):
        self.words = np.zeros(n // 64 + 1, np.uint64)
        self.before = np.zeros(0, np.uint32)
        self.count = 0

    def add(self, gids: np.ndarray) -> None:
        """Add gids; repetitions are allowed."""
        _add(self.words, gids)

    def seal(self) -> int:
        """Finish adding, and return the number of members. Positions are valid if it is at most 2**32."""
        self.before = np.empty(len(self.words), np.uint32)
        self.count = _count(self.words, self.before)
        return self.count

    def __len__(self) -> int:
        return self.count

    def members(self) -> np.ndarray:
        """Return the gids, int64, ascending."""
        gids = np.empty(self.count, np.int64)
        _members(self.words, gids)
        return gids

    def mark(self, gids: np.ndarray, flags: np.ndarray) -> None:
        """Set ``flags`` (bool, by position) for these members."""
        _mark(self.words, self.before, gids, flags)

    def translate(self, gids: np.ndarray, table: np.ndarray, in_place: bool = False) -> np.ndarray:
        """Return ``table`` (uint32, by position) at these members; overwrites ``gids`` if allowed and of that dtype."""
        places = gids if in_place and gids.dtype == np.uint32 else np.empty(len(gids), np.uint32)
        _translate(self.words, self.before, gids, table, places)
        return places


def _ones_few(words):
    return np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=1, dtype=np.int64)


def _bits_few(gids):
    """Return the word of each gid, and its bit in there."""
    wide = gids.astype(np.int64)
    return wide >> 6, np.uint64(1) << (wide & 63).astype(np.uint64)


def _add_few(words, gids):
    places, bits = _bits_few(gids)
    np.bitwise_or.at(words, places, bits)


def _count_few(words, before):
    ones = _ones_few(words)
    before[:] = np.cumsum(ones) - ones
    return int(ones.sum())


def _members_few(words, gids):
    gids[:] = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))


def _positions_few(words, before, gids):
    places, bits = _bits_few(gids)
    return before[places] + _ones_few(words[places] & (bits - np.uint64(1)))


def _mark_few(words, before, gids, flags):
    flags[_positions_few(words, before, gids)] = True


def _translate_few(words, before, gids, table, translated):
    translated[:] = table[_positions_few(words, before, gids)]


@njit(cache=True, few=_add_few)
def _add(words, gids):
    for i in range(gids.size):
        gid = np.uint64(gids[i])
        words[gid >> np.uint64(6)] |= np.uint64(1) << (gid & np.uint64(63))


@njit(cache=True, few=_count_few)
def _count(words, before):
    total = 0
    for w in range(words.size):
        before[w] = total
        total += bits_set(words[w])
    return total


@njit(cache=True, few=_members_few)
def _members(words, gids):
    k = 0
    for w in range(words.size):
        word = words[w]
        while word:
            lowest = word & (~word + np.uint64(1))
            gids[k] = w * 64 + bits_set(lowest - np.uint64(1))
            word ^= lowest
            k += 1


@njit(cache=True, few=_mark_few)
def _mark(words, before, gids, flags):
    for i in range(gids.size):
        flags[_position(words, before, np.uint64(gids[i]))] = True


@njit(cache=True, few=_translate_few)
def _translate(words, before, gids, table, places):
    for i in range(gids.size):
        places[i] = table[_position(words, before, np.uint64(gids[i]))]


@njit(cache=True)
def _position(words, before, gid):
    w = gid >> np.uint64(6)
    below = (np.uint64(1) << (gid & np.uint64(63))) - np.uint64(1)
    return np.uint64(before[w]) + np.uint64(bits_set(words[w] & below))
