"""Sort distributed rows over all ranks: a sample sort.

Samples of every rank's sorted ids give splitters; rank r receives the ids of the r-th range, and sorts them.
"""

from __future__ import annotations

import numpy as np

from dgraph.comm import Comm

SAMPLES = 64
"""Samples per rank at least, so that ranges differ by a few per cent."""

CHUNK = 1 << 20
"""Rows that one rank sends another at a time."""


class SampleSort:
    """Sorted order of a distributed column of ids; the constructor and the methods are collective.

    Rows of equal ids come to one rank, in the order of the ranks that had them.

    Attributes:
        total: rows over all ranks.
        first: rows on the ranks before this one: the global index of this rank's first row.
        vertex: int64, ascending; this rank's range, above every id of the ranks before it.
    """

    def __init__(self, vertex: np.ndarray, comm: Comm):
        """Sort ``vertex``: int64, ascending on this rank."""
        self.comm, self.vertex, self.first = comm, vertex, 0
        self.total = comm.total(vertex.size)
        if comm.size == 1:
            return
        bounds = np.searchsorted(vertex, self._splitters(vertex))
        self._cuts = np.concatenate([[0], bounds, [vertex.size]]).astype(np.int64)
        self._counts = np.concatenate(comm.alltoallv(list(np.diff(self._cuts)[:, None])))
        gathered = self._shuffle(vertex)
        self._order = np.argsort(gathered, kind="stable")
        self.vertex = gathered[self._order]
        self.first = comm.before(self.vertex.size)

    def column(self, values: np.ndarray) -> np.ndarray:
        """Permute ``values``, one for each of the ids given to the constructor, into the order of ``vertex``.

        On one rank they are returned themselves.
        """
        return values if self.comm.size == 1 else self._shuffle(values)[self._order]

    def _splitters(self, vertex: np.ndarray) -> np.ndarray:
        ranks = self.comm.size
        stride = max(1, self.total // (ranks * max(SAMPLES, 8 * ranks)))
        samples = np.sort(np.concatenate(self.comm.allgatherv(vertex[stride // 2 :: stride])))
        middle = np.arange(1, ranks) * samples.size // ranks
        return samples[middle] if samples.size else np.zeros(ranks - 1, np.int64)

    def _shuffle(self, values: np.ndarray) -> np.ndarray:
        """Receive the values of this rank's range from all ranks, concatenated by rank."""
        starts = np.concatenate([[0], np.cumsum(self._counts)])
        shuffled = np.empty(starts[-1], values.dtype)
        longest = self.comm.largest(int(np.diff(self._cuts).max()))
        for step in range(0, longest, CHUNK):
            parts = [
                values[min(begin + step, end) : min(begin + step + CHUNK, end)]
                for begin, end in zip(self._cuts[:-1], self._cuts[1:], strict=True)
            ]
            for start, part in zip(starts, self.comm.alltoallv(parts), strict=False):
                shuffled[start + step : start + step + part.size] = part
        return shuffled
