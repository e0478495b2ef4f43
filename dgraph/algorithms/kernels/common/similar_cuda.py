"""Most similar vertices of a whole graph on one GPU (``similar.cuh``); other similarities are computed on its host."""

from __future__ import annotations

from functools import cache

import numpy as np

from dgraph.algorithms.kernels.common.common_neighbours import CommonNeighbours
from dgraph.algorithms.kernels.common.similar_lists import ADAMIC_ADAR
from dgraph.backend.cuda.codegen.own_kernels import own_text, words_of
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.backend.row_solver import RowSize

SHIFT = 13
"""Logarithm of the counters in shared memory, 4 bytes each."""

NONE = (1 << 32) - 1
"""Vertex of an empty place in a list."""


@cache
def text(shift: int) -> str:
    """Return the kernel's text."""
    return own_text(f"#define SHIFT {shift}", "similar")


class GpuCommonNeighbours(CommonNeighbours):
    """Similarities of a whole graph, of which a GPU counts the common neighbours of all vertices."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of rows by rising degree while they are sorted, and of ten vertices for each."""
        return 72 * size.m + 360 * size.n

    def most_similar(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the up to ``k`` most similar vertices of each vertex, as :class:`CommonNeighbours` does.

        Raises:
            OutOfMemory: rows and lists do not fit in GPU memory.
        """
        rows, device, k = self.rows, self.backend.device, min(k, max(self.rows.n - 1, 1))
        if self.measure >= ADAMIC_ADAR or rows.stop - rows.first < rows.n or not len(rows.targets):
            return super().most_similar(k)
        xp, size = device.xp, RowSize.whole(rows.n, len(rows.targets))
        require(device, self.bytes(size) + 32 * max(k - 10, 0) * rows.n, f"lists of {k} similar vertices")
        offsets, targets = device.put(rows.offsets), device.put(rows.targets)
        degrees = xp.diff(offsets)
        keys = degrees.astype(np.uint64) << np.uint64(32) | xp.arange(rows.n, dtype=np.uint64)
        device.sort(keys)
        order, widths = keys.astype(np.uint32), (keys >> np.uint64(32)).astype(np.uint32)
        place = xp.empty_like(order)
        place[order] = xp.arange(rows.n, dtype=np.uint32)
        starts = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(widths, dtype=np.int64)])
        alone = int(xp.count_nonzero(widths == 0))
        places = self._rows(offsets, targets, place)
        begin = xp.ones(len(places), np.bool_)
        begin[1:] = places[1:] >> SHIFT != places[:-1] >> SHIFT
        begin[starts[alone:-1]] = True
        begins = xp.flatnonzero(begin)
        firsts, windows = xp.searchsorted(begins, starts), (places[begins] >> SHIFT).astype(np.uint32)
        begins = xp.concatenate([begins, starts[-1:]])
        best, values = xp.full(rows.n * k, NONE, np.uint32), xp.empty(rows.n * k, np.float64)
        module = device.module(text(SHIFT), "similar")
        arrays = [starts, places, order, widths, firsts, windows, begins, best, values, xp.zeros(1, np.uint64)]
        module.set_environment(words_of(device, [*arrays, alone, rows.n, k, self.measure]))
        module.launch("most_similar", device.blocks * module.resident("most_similar"))
        filled = xp.flatnonzero(best != NONE)
        return device.get(filled // k), device.get(best[filled].astype(np.int64)), device.get(values[filled])

    def _rows(self, offsets, targets, place):
        """Return the places of neighbours, ascending in the rows by place."""
        xp = self.backend.device.xp
        sources = xp.searchsorted(offsets, xp.arange(len(targets)), side="right") - 1
        keys = place[sources].astype(np.uint64) << np.uint64(32) | place[targets].astype(np.uint64)
        self.backend.device.sort(keys)
        return keys.astype(np.uint32)
