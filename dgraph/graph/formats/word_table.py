"""Distinct words and their codes, and the order of words by their bytes.

:class:`WordTable` codes words piece by piece, so that a reader holds a code for each word and the distinct words only;
:meth:`WordTable.number` turns codes into gids. :func:`word_order` sorts words as integers of eight bytes: NumPy sorts
these with vector instructions, and compares words byte by byte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from threading import Lock

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import gid_type
from dgraph.graph.build.memory_pages import give_back, large_array, trim_heap
from dgraph.graph.formats.number_tokens import copy_tokens
from dgraph.graph.formats.parse_digits import word_at
from dgraph.graph.generators.counter import mix
from dgraph.graph.names import Names, number_names
from partitioning.arrays.lazy_numba import compiles

NARROW = 1 << 28
"""Slots up to which a slot has 32 bits: as many low ones as number the slots, and the others of its word's hash."""
DEAR = 8
"""Elements of an array that cost as much as a word in a dict."""
CHUNK = 1 << 18
"""Codes that a thread turns into gids at a time."""
BLOCK = 1 << 12
"""Words that are looked up at a time: more than a processor can wait for, and few enough for its first caches."""
SPANS = 1 << 15
"""Words that are copied at a time."""


class WordTable:
    """Distinct words. The code of a word is the number of distinct words that were added before it.

    Few words are keys of a dict, which needs no compiled code. More lie one after another in an array, and a hash table
    with open addresses holds one more than their codes, and 0 in a free slot; at most 5/8 of its slots are used. The
    bits of a slot beyond these are bits of its word's hash. Threads may add words at a time.
    """

    def __init__(self) -> None:
        self._few: dict[bytes, int] | None = defaultdict(count().__next__)
        self._added, self._count, self._lock = 0, 0, Lock()
        self._letters, self._offsets = np.empty(0, np.uint8), np.zeros(1, np.uint32)
        self._slots = np.zeros(0, np.uint32)

    def codes(self, text: np.ndarray, spans: np.ndarray) -> np.ndarray:
        """Return the codes (uint32 or int64) of words ``text[start:end]`` of int64 ``spans`` (k, 2)."""
        with self._lock:
            self._added += len(spans)
            if self._few is not None and not compiles(DEAR * self._added):
                first = int(spans.min(initial=text.size))  # a target may stand before its source
                raw = text[first : spans.max(initial=0)].tobytes()
                words = (raw[low:high] for low, high in (spans - first).tolist())
                return np.fromiter(map(self._few.__getitem__, words), np.uint32, len(spans))
            if self._few is not None:
                (self._letters, offsets), self._few = self.texts, None
                self._offsets, self._count = offsets.astype(np.uint32), offsets.size - 1
                self._grow(0)
            codes = np.empty(len(spans), gid_type(self._count + len(spans)))
            rows = _find(text, spans, self._slots, self._letters, self._offsets, codes)
            fresh, added, coded = spans[rows], np.empty(rows.size, codes.dtype), 0
            while coded < rows.size:
                self._grow(int(fresh[coded, 1] - fresh[coded, 0]))
                coded, self._count = _insert(
                    text, fresh, coded, self._slots, self._letters, self._offsets, self._count, added
                )
            codes[rows] = added
            return codes

    def __contains__(self, word: bytes) -> bool:
        if self._few is not None:
            return word in self._few
        letters, offsets = self.texts
        starts = offsets[:-1][_lengths(offsets) == len(word)]
        for place, letter in enumerate(word):
            starts = starts[letters[starts + place] == letter]
        return starts.size > 0

    @property
    def texts(self) -> tuple[np.ndarray, np.ndarray]:
        """Letters, uint8, and offsets, uint32 or int64 (k + 1,), of the distinct words by code."""
        if self._few is not None:
            lengths = np.fromiter(map(len, self._few), np.int64, len(self._few))
            return np.frombuffer(bytearray(b"".join(self._few)), np.uint8), np.append(0, np.cumsum(lengths))
        return self._letters[: self._offsets[self._count]], self._offsets[: self._count + 1]

    def words(self, spent: bool = False) -> np.ndarray:
        """Return the distinct words (dtype S) by code; ``spent``: give the memory of the table's letters back."""
        letters, offsets = self.texts
        words = large_array(offsets.size - 1, f"S{max(1, _lengths(offsets).max(initial=0))}")
        for first in range(0, words.size, SPANS):  # all spans take more memory than the words
            part = offsets[first : first + SPANS + 1]
            words[first : first + SPANS].view(np.uint8)[:] = 0
            copy_tokens(letters, spans_of(part), letters_of(words[first : first + SPANS]))
            if spent:
                give_back(letters[part[0] : part[-1]])
        return words

    def number(self, columns: Sequence[np.ndarray], comm: Comm) -> tuple[Names, list[np.ndarray]]:
        """Return the names of all ranks, and columns of codes as gids, in place where these fit; collective.

        The table is empty afterwards.
        """
        self._slots = np.empty(0, np.uint32)
        trim_heap()
        words = self.words(spent=True)
        self.__init__()  # type: ignore[misc]
        order = word_order(words).astype(gid_type(words.size))
        words = words[order]
        names, numbers = number_names(words, comm)
        del words
        gids = np.empty(order.size, gid_type(int(names.starts[-1])))
        gids[order] = numbers
        del order, numbers
        trim_heap()
        return names, [_renumbered(column, gids, rank_threads(comm)) for column in columns]

    def _grow(self, length: int) -> None:
        """Allocate slots, offsets and letters for a word of this length."""
        used = int(self._offsets[self._count])
        if used + length > self._letters.size:
            self._letters = _longer(self._letters, used + length)
        if used + length >= 1 << 32:
            self._offsets = self._offsets.astype(np.int64, copy=False)
        if self._count + 1 == self._offsets.size:
            self._offsets = _longer(self._offsets, self._count + 2)
        if 8 * self._count >= 5 * self._slots.size:
            self._slots, size = np.zeros(0, np.uint32), max(8, 1 << (2 * self._count).bit_length())
            self._slots = large_array(size, np.uint32 if size <= NARROW else np.uint64)
            self._slots[:] = 0
            _fill(self._letters, self._offsets, self._count, self._slots)


def _longer(values: np.ndarray, least: int) -> np.ndarray:
    """Return an array that begins with these values, for at least ``least``; pages that are not used take no memory."""
    longer = large_array(2 * least, values.dtype)
    longer[: values.size] = values
    return longer


def _lengths(offsets: np.ndarray) -> np.ndarray:
    """Return the lengths of words, at most 255, from their offsets."""
    return np.subtract(offsets[1:], offsets[:-1], dtype=np.uint8, casting="unsafe")


def _renumbered(codes: np.ndarray, gids: np.ndarray, threads: int) -> np.ndarray:
    if codes.dtype != gids.dtype:
        return gids[codes]

    def replace(first: int) -> None:
        codes[first : first + CHUNK] = gids[codes[first : first + CHUNK]]

    for _ in in_order(replace, range(0, codes.size, CHUNK), threads):
        pass
    return codes


def spans_of(offsets: np.ndarray) -> np.ndarray:
    """Return where texts one after another start and end, int64 (k, 2)."""
    return np.stack([offsets[:-1], offsets[1:]], axis=1).astype(np.int64, copy=False)


def letters_of(words: np.ndarray) -> np.ndarray:
    """Return the bytes of words (dtype S), uint8 of shape (words, width)."""
    return np.ascontiguousarray(words).view(np.uint8).reshape(words.size, words.itemsize)


def word_order(words: np.ndarray) -> np.ndarray:
    """Return the positions of words (dtype S) in ascending order of their bytes; equal words in any order."""
    letters = letters_of(words)
    varying = [column for column in letters.T if (column != column[:1]).any()]  # bytes that words differ in

    def key(first: int, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
        packed = np.zeros((letters[rows, 0].size, 8), np.uint8)
        for place, column in enumerate(varying[first : first + 8]):
            packed[:, 7 - place] = column[rows]
        return packed.view("<u8")[:, 0]

    keys = key(0)
    order = np.argsort(keys)
    if len(varying) > 8:
        ordered = keys[order]
        same = ordered[1:] == ordered[:-1]
        tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
        rows = order[tied]
        order[tied] = rows[np.lexsort([key(first, rows) for first in range(0, len(varying), 8)][::-1])]
    return order


@njit(inline="always")
def _word(letters, position, end):
    """Return the bytes from ``position`` to ``end`` as an integer, eight at most; one load where that is in bounds."""
    if end - position >= 8:
        return word_at(letters, position)
    if end >= 8:
        return word_at(letters, end - 8) >> np.uint64(8 * (8 - (end - position)))
    word = np.uint64(0)
    for j in range(end - position):
        word |= np.uint64(letters[position + j]) << np.uint64(8 * j)
    return word


@njit(cache=True, nogil=True)
def _hash(letters, position, end):
    value = mix(np.uint64(end - position))
    while position < end:
        value = mix(value + _word(letters, position, end))
        position += 8
    return value


@njit(inline="always")
def _tag(key, slots):
    """Return the bits of a hash that stand in its word's slot: of 64, or of the upper 32, those above the code."""
    return (key >> np.uint64(64 - 8 * slots.itemsize)) & ~np.uint64(slots.size - 1)


@njit(cache=True, nogil=True)
def _fill(letters, offsets, count, slots):
    """Store the hashes and codes of distinct words in free slots."""
    mask = np.uint64(slots.size - 1)
    for code in range(count):
        key = _hash(letters, np.int64(offsets[code]), np.int64(offsets[code + 1]))
        slot = key & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = _tag(key, slots) | np.uint64(code + 1)


@njit(cache=True, nogil=True)
def _same(text, position, end, letters, other, stop):
    """Return True if two words are equal."""
    if end - position != stop - other:
        return False
    while position < end:
        if _word(text, position, end) != _word(letters, other, stop):
            return False
        position, other = position + 8, other + 8
    return True


@njit(cache=True, nogil=True)
def _find(text, spans, slots, letters, offsets, codes):
    """Store the codes of the words that the table has where their hash leads; return the rows of the others.

    Three loops: misses of the cache by one word do not wait for those by another.
    """
    mask, others, rows = np.uint64(slots.size - 1), 0, np.empty(codes.size, np.int64)
    keys, starts = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int64)
    for first in range(0, codes.size, BLOCK):
        size = min(BLOCK, codes.size - first)
        for i in range(size):
            key = _hash(text, spans[first + i, 0], spans[first + i, 1])
            slot, tag = key & mask, _tag(key, slots)
            while slots[slot] != 0 and (np.uint64(slots[slot]) & ~mask) != tag:
                slot = (slot + np.uint64(1)) & mask
            keys[i] = np.uint64(slots[slot]) & mask
        for i in range(size):
            starts[i] = offsets[max(np.int64(keys[i]) - 1, 0)]
        for i in range(size):
            code, row = np.int64(keys[i]) - 1, first + i
            low, high = spans[row, 0], spans[row, 1]
            if code >= 0 and _same(text, low, high, letters, starts[i], np.int64(offsets[code + 1])):
                codes[row] = code
            else:
                rows[others] = row
                others += 1
    return rows[:others].copy()


@njit(cache=True, nogil=True)
def _insert(text, spans, first, slots, letters, offsets, count, codes):
    """Store the codes of the words from ``first`` on; return the first word that does not fit, and the distinct words.

    ``letters``, ``offsets`` and ``slots`` are those of a :class:`WordTable`, with ``count`` distinct words.
    """
    mask = np.uint64(slots.size - 1)
    for i in range(first, codes.size):
        start, end = spans[i, 0], spans[i, 1]
        key = _hash(text, start, end)
        slot, tag, code = key & mask, _tag(key, slots), -1
        while slots[slot] != 0:
            code = np.int64(np.uint64(slots[slot]) & mask) - 1
            if (np.uint64(slots[slot]) & ~mask) == tag and _same(
                text, start, end, letters, np.int64(offsets[code]), np.int64(offsets[code + 1])
            ):
                break
            slot = (slot + np.uint64(1)) & mask
        if slots[slot] == 0:
            used = np.int64(offsets[count])
            if 8 * count >= 5 * slots.size or count + 1 == offsets.size or used + end - start > letters.size:
                return i, count
            for j in range(end - start):
                letters[used + j] = text[start + j]
            code, count = count, count + 1
            offsets[count], slots[slot] = used + end - start, tag | np.uint64(count)
        codes[i] = code
    return codes.size, count
