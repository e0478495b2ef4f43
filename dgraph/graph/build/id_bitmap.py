"""Number ids that are nearly dense: a bitmap has a bit for every id up to the largest, and a gid counts the bits below.

Every rank holds the bits of all ranks, and for every word of 64 the number of bits set before it, so that look-ups send
nothing. That takes about 0.19 bytes an id below the largest: :data:`SPAN` says for which inputs it is the choice.
:func:`id_bitmap` is the entry; ``id_compaction.py`` numbers the ids of other inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgraph._support.compiled import njit
from dgraph._support.threads import in_order, shares
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.graph.block import gid_type
from dgraph.graph.ids import SparseIds
from partitioning.arrays.lazy_numba import intrinsic

SPAN = 32
"""Largest id, as a multiple of the edges of a rank, up to which ids are numbered by a bitmap: 6 bytes an edge."""
SMALL = 1 << 20
"""Largest id up to which they always are: 192 KiB."""
WORDS = 1 << 12
"""Words of the bitmap of which the ids are listed at a time."""


def id_bitmap(columns: Sequence[np.ndarray], comm: Comm) -> IdBitmap | None:
    """Return the bitmap of the ids that occur in ``columns`` on any rank; None if their range is too wide; collective.

    Args:
        columns: integer arrays of original ids, not negative; this rank's share.
        comm: communicator of the ranks.
    """
    threads = rank_threads(comm)
    tops = [-1]
    for column in columns:
        if column.size:
            shares(lambda part: tops.append(int(column[part].max())), column.size, threads)  # noqa: B023 - at once
    largest = comm.largest(max(tops))
    edges = comm.total(sum(column.size for column in columns)) // 2
    if largest >= max(SMALL, SPAN * edges // comm.size):
        return None
    words = np.zeros((largest >> 6) + 1, np.uint64)
    for column in columns:
        shares(lambda part: _mark(column[part], words), column.size, threads)  # noqa: B023 - called at once
    if comm.size > 1:
        cuts = words.size * np.arange(1, comm.size) // comm.size
        owned = np.bitwise_or.reduce(comm.alltoallv(np.split(words, cuts)))
        words = np.concatenate(comm.allgatherv(owned))
    return IdBitmap(words, largest, threads)


class IdBitmap:
    """Bits of the ids that occur, equal on all ranks.

    Attributes:
        words: uint64, bit ``i`` of word ``w`` is that of id ``64 w + i``.
        below: the number of bits set in the words before each word, in the dtype of the graph's gids.
        n: number of ids.
        dense: True if they are 0 .. n - 1, so that an id is its gid.
    """

    def __init__(self, words: np.ndarray, largest: int, threads: int):
        self.words, self.threads = words, threads
        counts = np.empty(words.size, np.int64)
        _count_bits(words, counts)
        self.n = int(counts.sum())
        self.dense = self.n == largest + 1
        self.below = (np.cumsum(counts) - counts).astype(gid_type(self.n))

    def ids(self, comm: Comm) -> SparseIds:
        """Return the map of the ids, of which each rank holds about equally many; no communication."""
        starts = self.n * np.arange(comm.size + 1) // comm.size
        lowest = np.array([self._id(int(gid)) for gid in starts[:-1]], np.int64)
        lowest[0] = 0
        end = int(lowest[comm.rank + 1]) if comm.rank + 1 < comm.size else 64 * self.words.size
        return SparseIds(self._between(int(lowest[comm.rank]), end), starts, lowest)

    def gids(self, column: np.ndarray, disposable: bool = False) -> np.ndarray:
        """Return the gids of a column of ids that occur, in the dtype of the graph's gids.

        ``disposable``: the column may be overwritten.
        """
        if self.dense and column.dtype == self.below.dtype:
            return column
        gids = column if disposable and column.dtype == self.below.dtype else np.empty(column.size, self.below.dtype)
        shares(lambda part: _look_up(column[part], self.words, self.below, gids[part]), column.size, self.threads)
        return gids

    def _id(self, gid: int) -> int:
        """Return the id of a gid; an id above all others for ``n``."""
        if gid >= self.n:
            return 64 * self.words.size
        word = int(np.searchsorted(self.below, gid, side="right")) - 1
        return int(self._between(64 * word, 64 * word + 64)[gid - int(self.below[word])])

    def _between(self, low: int, high: int) -> np.ndarray:
        """Return the ids from ``low`` to ``high - 1``, ascending, int64."""

        def ids_of(word: int) -> np.ndarray:
            bits = np.unpackbits(self.words[word : word + WORDS].view(np.uint8), bitorder="little")
            return np.flatnonzero(bits) + 64 * word

        pieces = range(low >> 6, -(-high // 64), WORDS)
        threads = self.threads if len(pieces) > 1 else 1
        ids = np.concatenate([np.empty(0, np.int64), *in_order(ids_of, pieces, threads)])
        return ids[np.searchsorted(ids, low) : np.searchsorted(ids, high)]


@intrinsic
def _set_bits(typingctx, word):
    """Count the bits set in a word."""
    from numba import types

    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


@intrinsic
def _set_shared(typingctx, words, position, bits):
    """Set bits of a word that other threads may set bits of at the same time."""
    from numba import types
    from numba.core import cgutils

    def generate(context, builder, signature, arguments):
        array = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=arguments[0])
        builder.atomic_rmw("or", builder.gep(array.data, [arguments[1]]), arguments[2], "monotonic")
        return context.get_dummy_value()

    return types.none(words, types.uint64, types.uint64), generate


def _mark_few(ids, words):
    present = np.zeros(64 * words.size, bool)
    present[ids] = True
    words |= np.packbits(present, bitorder="little").view(np.uint64)


@njit(cache=True, nogil=True, few=_mark_few)
def _mark(ids, words):
    for i in range(ids.size):
        bits = np.uint64(ids[i])
        word, bit = bits >> np.uint64(6), np.uint64(1) << (bits & np.uint64(63))
        if not words[word] & bit:
            _set_shared(words, word, bit)


def _count_bits_few(words, counts):
    counts[:] = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=1)


@njit(cache=True, nogil=True, few=_count_bits_few)
def _count_bits(words, counts):
    for i in range(words.size):
        counts[i] = _set_bits(words[i])


def _look_up_few(ids, words, below, gids):
    bits = ids.astype(np.uint64)
    place = (bits >> np.uint64(6)).astype(np.int64)
    less = words[place] & ((np.uint64(1) << (bits & np.uint64(63))) - np.uint64(1))
    gids[:] = below[place] + np.unpackbits(less.view(np.uint8)).reshape(-1, 64).sum(axis=1).astype(below.dtype)


@njit(cache=True, nogil=True, few=_look_up_few)
def _look_up(ids, words, below, gids):
    for i in range(ids.size):
        bits = np.uint64(ids[i])
        word = bits >> np.uint64(6)
        less = words[word] & ((np.uint64(1) << (bits & np.uint64(63))) - np.uint64(1))
        gids[i] = below[word] + _set_bits(less)
