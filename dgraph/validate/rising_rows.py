"""Edges of this rank's rows from the end of lower degree to that of higher degree, and the wedges at the lower ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph.errors import UsageError
from dgraph.validate.distributed_columns import DistributedColumns

STEP = 1 << 22
"""Wedges that are listed at a time."""


class RisingRows:
    """Rows without loops, and with parallel edges once; of equal degrees the smaller gid is the lower end.

    Attributes:
        degree: distinct neighbours of each row of this rank, int64 (rows,).
        rows, targets: row of each edge's lower end, and gid of its higher end, ascending in a row; int64 (edges,).
        there: degrees of the targets.
        offsets: where the edges of each row begin, int64 (rows + 1,).
        proper: arcs of the block that are no loops, bool (arcs,).
        listed: places among these of the first of each group of parallel arcs, both ways.
        rises: groups that are an edge of these rows, bool (groups,).
    """

    def __init__(self, distributed: DistributedColumns, what: str):
        """Orient the edges; collective.

        Raises:
            UsageError: the graph is directed, and ``what`` are of undirected ones.
        """
        block, self._comm = distributed.block, distributed.comm
        if block.directed:
            raise UsageError(f"{what} are of undirected graphs; pass the block of graph.undirected()")
        rows, targets = np.repeat(np.arange(block.rows), np.diff(block.offsets)), np.asarray(block.targets)
        self.proper = rows + block.first != targets
        rows, targets = rows[self.proper], targets[self.proper].astype(np.int64)
        other = np.r_[True, (targets[1:] != targets[:-1]) | (rows[1:] != rows[:-1])][: len(rows)]
        self.listed = np.flatnonzero(other)
        rows, targets = rows[self.listed], targets[self.listed]
        self.degree = np.bincount(rows, minlength=block.rows)
        (there,) = distributed.fetch(targets, self.degree)
        here = self.degree[rows]
        self.rises = (here < there) | ((here == there) & (rows + block.first < targets))
        self.rows, self.targets, self.there = rows[self.rises], targets[self.rises], there[self.rises]
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=block.rows))])

    def places(self, rows: np.ndarray, sought: np.ndarray) -> np.ndarray:
        """Return the place of each edge from ``rows`` to gids ``sought``; -1 where there is none."""
        low, high = self.offsets[rows], self.offsets[rows + 1]
        targets = np.append(self.targets, -1)
        while np.any(low < high):
            middle = (low + high) // 2
            less = (low < high) & (targets[middle] < sought)
            low, high = np.where(less, middle + 1, low), np.where(less | (low == high), high, middle)
        return np.where((low < self.offsets[rows + 1]) & (targets[low] == sought), low, -1)

    def wedges(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the places of both edges of each wedge, as many times on every rank; collective."""
        behind = self.offsets[self.rows + 1] - np.arange(len(self.rows)) - 1  # wedges whose first edge it is
        ends = np.cumsum(behind)
        whole = int(ends[-1]) if len(ends) else 0
        for turn in range(self._comm.largest(-(-whole // STEP))):
            wedge = np.arange(min(turn * STEP, whole), min((turn + 1) * STEP, whole))
            first = np.searchsorted(ends, wedge, side="right")
            yield first, first + 1 + wedge - (ends[first] - behind[first])
