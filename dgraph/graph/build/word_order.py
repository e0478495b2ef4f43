"""Order words by their bytes and find the distinct ones, by integers: eight bytes are one.

Words are hashed to 64 bits, their rows split by the hashes so that each table fits a cache (radix-partitioned hash
join, Manegold et al., 2002), and only the distinct words are sorted: NumPy sorts integers with vector instructions, and
compares words byte by byte. If two words share a hash, another one is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.block import gid_type
from partitioning.arrays import lazy_numba
from partitioning.arrays.lazy_numba import compiles

ROWS = 1 << 12
"""Rows of a partition, about: their table fits the second-level cache."""
PARTITIONS = 1 << 12
"""Partitions at most: each is written as a stream of its own."""
ODD = np.uint64(0x9E3779B97F4A7C15)
"""Odd factor of the hash."""


WAITING = lazy_numba.FEW
"""Words that wait in a :class:`WordPool` until a table codes them, which is compiled."""


class WordPool:
    """Words that are added piece by piece, of which only the distinct ones are held, and a code for each.

    Threads may add pieces at a time.
    """

    def __init__(self) -> None:
        self.waiting: list[np.ndarray] = []
        self.words = np.empty(0, "S1")
        self.codes: list[np.ndarray] = []
        self.size = self.pieces = 0
        self._lock, self._table = Lock(), WordTable()

    def add(self, words: np.ndarray) -> int:
        """Add words (dtype S); return the number of pieces that were added before."""
        with self._lock:
            self.waiting.append(words)
            self.size, self.pieces = self.size + words.size, self.pieces + 1
            if self.size > WAITING:
                self._code_waiting()
            return self.pieces - 1

    def __contains__(self, word: bytes) -> bool:
        return any(bool((words == word).any()) for words in [self.words, *self.waiting])

    def distinct(self) -> np.ndarray:
        """Return the distinct words, ascending."""
        self._code_waiting()
        return self.words[word_order(self.words)]

    def table(self) -> tuple[np.ndarray, Iterator[np.ndarray]]:
        """Return the distinct words, ascending, and for each added piece the positions of its words among them.

        Codes are freed as the pieces are taken.
        """
        self._code_waiting()
        order = word_order(self.words)
        positions = np.empty(order.size, gid_type(order.size))
        positions[order] = np.arange(order.size)
        words, codes = self.words[order], self.codes[::-1]
        self.words, self.codes, self.waiting, self._table = self.words[:0], [], [], WordTable()
        return words, (positions[codes.pop()] for _ in range(len(codes)))

    def _code_waiting(self) -> None:
        """Code the waiting words; a table keeps the codes that it gave, and few words are all coded anew."""
        if self.size > WAITING:
            pieces, self.waiting = self.waiting, []
            del self.codes[self.pieces - len(pieces) :]
            self.codes += map(self._table.codes, pieces)
            self.words = self._table.words
        elif self.waiting:
            self.words, codes = coded_words(np.concatenate(self.waiting))
            self.codes = np.split(codes, np.cumsum([piece.size for piece in self.waiting])[:-1])


class WordTable:
    """Distinct words by their hashes, with open addresses: words are added piece by piece, and nothing is sorted.

    A slot holds a hash and one more than the code of its word, 0 if it is free; at most half of the slots are used.
    """

    def __init__(self) -> None:
        self._words, self._count, self._width, self._factor = np.empty(0, "S1"), 0, 1, ODD
        self._hashes, self._slots = np.zeros(2, np.uint64), np.zeros(2, np.uint32)

    @property
    def words(self) -> np.ndarray:
        """The distinct words (dtype S), by code."""
        return self._words[: self._count]

    def codes(self, words: np.ndarray) -> np.ndarray:
        """Return the codes of words, uint32 or int64; words that are new get the next ones."""
        full = 2 * (self._count + words.size) > self._slots.size
        if full or words.itemsize > self._width:  # a hash depends on the width
            self._width = max(self._width, words.itemsize)
            self._rebuild(max(4 * words.size, 2 * self._slots.size) if full else self._slots.size)
        before = self._count
        codes, firsts = self._insert(words)
        self._append(words[firsts])
        if not np.array_equal(self._words[codes], words):  # two words share a hash: try others
            self._count, self._factor = before, next_factor(self._factor)
            self._rebuild(self._slots.size)
            return self.codes(words)
        return codes

    def _insert(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of words, and a row for each code that is new, which is not counted yet."""
        codes, firsts = np.empty(words.size, self._slots.dtype), np.empty(words.size, np.int64)
        hashes = hashes_of(_columns(words.astype(f"S{self._width}", copy=False)), self._factor)
        count = _insert(hashes, self._hashes, self._slots, self._count, codes, firsts)
        return codes, firsts[: count - self._count]

    def _append(self, words: np.ndarray) -> None:
        end = self._count + words.size
        if end > self._words.size or self._width > self._words.itemsize:
            grown = np.empty(max(3 * end // 2, self._words.size), f"S{self._width}")
            grown[: self._count] = self.words
            self._words = grown
        self._words[self._count : end] = words
        self._count = end

    def _rebuild(self, slots: int) -> None:
        """Insert the words into a table of at least so many slots, by a factor that keeps their hashes apart."""
        size = 1 << (slots - 1).bit_length()
        words, self._count = self.words, 0
        while True:
            self._hashes, self._slots = (
                np.zeros(size, np.uint64),
                np.zeros(size, np.uint32 if size < 1 << 32 else np.int64),
            )
            if self._insert(words)[1].size == words.size:
                self._count = words.size
                return
            self._factor = next_factor(self._factor)


def word_order(words: np.ndarray) -> np.ndarray:
    """Return the positions of words (dtype S) in ascending order of their bytes; equal words in any order."""
    if not words.size:
        return np.arange(0)
    wide = _padded(words)
    letters = wide.view(np.uint8).reshape(words.size, wide.itemsize)
    varying = letters[:, (letters != letters[0]).any(axis=0)]  # bytes that all words share do not count
    packed = np.zeros((words.size, -(-varying.shape[1] // 8) * 8), np.uint8)
    packed[:, : varying.shape[1]] = varying
    keys = [column.astype(np.uint64) for column in packed.view(">u8").T]
    if not keys:
        return np.arange(words.size)
    order = np.argsort(keys[0])
    if len(keys) > 1:
        ordered = keys[0][order]
        same = ordered[1:] == ordered[:-1]
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[tied]
        order[tied] = rows[np.lexsort([key[rows] for key in keys[::-1]])]
    return order


def coded_words(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct words (dtype S) in any order, and for each of the words its position among them."""
    columns, factor = _columns(words), ODD
    while True:
        codes, firsts = coded_hashes(hashes_of(columns, factor))
        if all(np.array_equal(column, column[firsts][codes]) for column in columns):
            return words[firsts], codes
        factor = next_factor(factor)


def hashes_of(columns: np.ndarray, factor: np.uint64) -> np.ndarray:
    """Return a hash (uint64) of every word, whose letters are integers ``columns``; high bits choose a partition."""
    hashes = np.zeros(columns.shape[1], np.uint64)
    for column in columns:
        hashes ^= column
        hashes *= factor
        hashes ^= hashes >> np.uint64(32)
    hashes *= factor
    return hashes


def next_factor(factor: np.uint64) -> np.uint64:
    """Return another odd factor of the hash, where two words share one."""
    return np.uint64((int(factor) + 2 * int(ODD)) % 2**64)


def _columns(words: np.ndarray) -> np.ndarray:
    """Return the letters of words, eight of them as one integer: uint64 (integers a word, words)."""
    wide = _padded(words)
    return wide.view(np.uint64).reshape(words.size, wide.itemsize // 8).T


def _padded(words: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(words.astype(f"S{-(-max(words.itemsize, 1) // 8) * 8}", copy=False))


def coded_hashes(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a code for every hash, equal for equal ones (uint32 or int64), and a row in which each code occurs."""
    if not compiles(hashes.size):
        _, firsts, codes = np.unique(hashes, return_index=True, return_inverse=True)
        return codes.astype(np.uint32), firsts
    dtype = np.uint32 if hashes.size < 1 << 32 else np.int64
    bits = min(max(hashes.size // ROWS, 1).bit_length() - 1, PARTITIONS.bit_length() - 1)
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, np.int64)
    if bits:
        _count(hashes, shift, starts)
        np.cumsum(starts, out=starts)
        grouped, rows = np.empty_like(hashes), np.empty(hashes.size, dtype)
        _scatter(hashes, shift, starts[:-1].copy(), grouped, rows)
    else:
        starts[1] = hashes.size
        grouped, rows = hashes, np.arange(hashes.size, dtype=dtype)
    longest = int(np.diff(starts).max())
    size = 1 << max(1, 2 * longest - 1).bit_length()
    codes, firsts = np.empty(hashes.size, dtype), np.empty(hashes.size, np.int64)
    count = _number(grouped, rows, starts, np.empty(size, np.uint64), np.zeros(size, np.int64), codes, firsts)
    return codes, firsts[:count].copy()


@njit(cache=True, nogil=True)
def _count(hashes, shift, starts):
    for i in range(hashes.size):
        starts[np.int64(hashes[i] >> shift) + 1] += 1


@njit(cache=True, nogil=True)
def _scatter(hashes, shift, cursor, grouped, rows):
    for i in range(hashes.size):
        part = np.int64(hashes[i] >> shift)
        position = cursor[part]
        cursor[part] = position + 1
        grouped[position], rows[position] = hashes[i], i


@njit(cache=True, nogil=True)
def _number(grouped, rows, starts, keys, values, codes, firsts):
    """Assign codes to the distinct hashes, one partition at a time, and return the number of codes.

    The table of a partition has open addresses; ``values`` holds one more than a code in a used slot, and 0 in others.
    """
    count = 0
    for part in range(starts.size - 1):
        low, high = starts[part], starts[part + 1]
        size = 2
        while size < 2 * (high - low):
            size *= 2
        mask = np.uint64(size - 1)
        values[:size] = 0
        for i in range(low, high):
            key = grouped[i]
            slot = np.int64(key & mask)
            while values[slot] != 0 and keys[slot] != key:
                slot = (slot + 1) & (size - 1)
            if values[slot] == 0:
                firsts[count] = rows[i]
                count += 1
                keys[slot], values[slot] = key, count
            codes[rows[i]] = values[slot] - 1
    return count


@njit(cache=True, nogil=True)
def _insert(hashes, keys, values, count, codes, firsts):
    """Store the codes of hashes, new ones from ``count`` on, and a row for each new code; return their number.

    ``keys`` and ``values`` are slots of a :class:`WordTable`.
    """
    mask, fresh = np.uint64(keys.size - 1), 0
    for i in range(hashes.size):
        slot = np.int64((hashes[i] ^ hashes[i] >> np.uint64(32)) & mask)
        while values[slot] != 0 and keys[slot] != hashes[i]:
            slot = (slot + 1) & (keys.size - 1)
        if values[slot] == 0:
            firsts[fresh] = i
            fresh += 1
            keys[slot], values[slot] = hashes[i], count + fresh
        codes[i] = values[slot] - 1
    return count + fresh
