"""Removal of vertices for the certificate of core numbers: each thread of each rank removes those of its range of rows.

A range that removes a vertex whose neighbour lies elsewhere sends the neighbour's gid; ranges and ranks take turns
until nothing is sent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.validate import answer_kernels
from dgraph.validate.host.host_rows import HostRows


class HostPeel:
    """Claimed core numbers of this rank's rows; parallel arcs count each if ``multiple``, else once; collective.

    Attributes:
        degree: remaining neighbours of as large a core, int64 by row.
    """

    def __init__(self, distributed: Any, rows: HostRows, core: np.ndarray, multiple: bool):
        self._distributed, self._rows, self._core, self._multiple = distributed, rows, core, multiple
        block = rows.block
        self._graph = block.offsets, block.targets, rows.table
        self._extended, self.degree = rows.extended(core), np.zeros(block.rows, np.int64)
        self._bounds = rows.one_a_thread()
        leaving = self._each(
            lambda _, low, high: answer_kernels.count_neighbours(
                low, high, *self._graph, self._extended, multiple, self.degree
            )
        )
        self._starts = np.concatenate([[0], np.cumsum(leaving)])
        self._outbox = np.empty(self._starts[-1], block.targets.dtype)
        self._stack = np.empty(block.rows, np.int64)

    def _each(self, work: Any) -> np.ndarray:
        return np.array(self._rows.run(work, bounds=self._bounds), np.int64)

    def peeled(self, removed: np.ndarray) -> np.ndarray:
        """Return the rows that go one after another when ``removed`` go first; it is changed in place. Collective."""
        block, comm, degree = self._rows.block, self._distributed.comm, self.degree
        stack, outbox, starts, core = self._stack, self._outbox, self._starts[:-1], self._core
        tops = self._put(np.flatnonzero(removed))

        def peel(number: int, low: int, high: int) -> int:
            box = outbox[starts[number] : self._starts[number + 1]]
            work = stack[low:high], tops[number], box
            return answer_kernels.peel(low, high, *self._graph, self._extended, self._multiple, degree, removed, *work)

        def receive(number: int, low: int, high: int) -> int:
            boxes, work = (outbox, starts, sent), (stack[low:high], tops[number])
            return answer_kernels.receive(low, high, block.first, *boxes, core, degree, removed, *work)

        while True:
            sent = self._each(peel)
            if not comm.total(int(sent.sum())):
                return removed
            tops = self._put(self._from_other_ranks(sent, removed))
            tops = self._each(receive)

    def _put(self, new: np.ndarray) -> np.ndarray:
        """Put ascending rows on the stacks of their ranges; return their numbers."""
        cuts = np.searchsorted(new, self._bounds)
        for low, start, stop in zip(self._bounds[:-1], cuts[:-1], cuts[1:], strict=True):
            self._stack[low : low + stop - start] = new[start:stop]
        return np.diff(cuts)

    def _from_other_ranks(self, sent: np.ndarray, removed: np.ndarray) -> np.ndarray:
        """Send gids of other ranks' vertices to them; return this rank's rows that become removable; collective."""
        distributed, block = self._distributed, self._rows.block
        if distributed.comm.size == 1:
            return np.empty(0, np.int64)
        boxes = [self._outbox[start : start + count] for start, count in zip(self._starts, sent, strict=False)]
        gids = np.concatenate(boxes)
        gids = gids[(gids < block.first) | (gids >= block.first + block.rows)]
        touched = distributed.add(gids, np.full(gids.size, -1.0), self.degree)
        new = touched[~removed[touched] & (self.degree[touched] <= self._core[touched])]
        removed[new] = True
        return new
