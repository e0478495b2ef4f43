"""Edges of this rank's rows from their end of lower degree to that of higher degree, and the triangles there."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph._support.compiled import njit
from dgraph.errors import UsageError
from dgraph.validate.distributed_columns import DistributedColumns

STEP = 1 << 22
"""Triangles that are listed at a time, or those of one edge."""


class RisingRows:
    """Rows without loops, and with parallel edges once; of equal degrees the smaller gid is the lower end.

    Attributes:
        degree: distinct neighbours of each row of this rank, int64 (rows,).
        rows, targets: row of each edge's lower end, and gid of its higher end, ascending in a row; int64 (edges,).
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
        block, self._distributed = distributed.block, distributed
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
        self.rows, self.targets = rows[self.rises], targets[self.rises]
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=block.rows))])

    def triangles(self, values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the triangles at the rows, some at a time and as many times on every rank; collective.

        The ranks pass their edges on in turn, so each holds those of one other rank beside its own.

        Args:
            values: a value of each edge.

        Yields:
            Of each triangle the place of the edge from its lowest to its middle corner, that of the edge to its highest
            corner, the place of the third edge on the middle corner's rank, and that edge's value.
        """
        comm = self._distributed.comm
        marks = np.zeros(self._distributed.block.n, np.int64)
        for begin, offsets, targets, theirs in self._passed_on(values):
            places = np.empty((3, max(STEP, int(np.diff(offsets).max(initial=0)))), np.int64)
            row, edge = 0, 0
            while comm.largest(int(row < len(self.offsets) - 1)):
                row, edge, count = _list_triangles(
                    row, edge, self.offsets, self.targets, begin, offsets, targets, marks, places
                )
                first, second, third = places[:, :count]
                yield first, second, third, theirs[third]

    def sums(self, values: np.ndarray, product: bool) -> np.ndarray:
        """Return by gid the sum over triangles of the value of the edge between the other corners; collective.

        Args:
            values: of each edge, float64.
            product: of all three edges' values the product counts, at every corner.
        """
        rows, n = self._distributed.prover.rows, self._distributed.block.n
        threads = max(1, min(rows.threads, rows.block.targets.nbytes // (16 * max(n, 1))))
        free = [(np.zeros(n, np.int64), np.zeros(n)) for _ in range(threads)]
        for passed in self._passed_on(values):

            def work(_: int, low: int, high: int, passed: tuple = passed) -> None:
                marks, sums = free.pop()
                own = self.offsets, self.targets, values
                _sum_triangles(low, high, rows.block.first, *own, *passed, product, marks, sums)
                free.append((marks, sums))

            rows.run(work, threads)
        return np.sum([sums for _, sums in free], axis=0)

    def _passed_on(self, values: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Yield of each rank its first gid, and the offsets, targets and values of its edges; collective."""
        comm, edges = self._distributed.comm, (self.offsets, self.targets, values)
        for owner, begin in enumerate(self._distributed.starts[:-1].tolist()):
            passed_on = [column if comm.rank == owner else column[:0] for column in edges]
            offsets, targets, theirs = (comm.alltoallv([column] * comm.size)[owner] for column in passed_on)
            yield begin, offsets, targets, theirs


@njit(cache=True, nogil=True)
def _list_triangles(row, edge, offsets, targets, begin, their_offsets, their_targets, marks, places):
    """List triangles from an edge of a row on until ``places`` are filled; return the next row, edge, and their number.

    Their middle corner is one of the rows of ``their_offsets``, of which ``begin`` is the first. ``marks``, int64 (n,),
    are zeros before and after. ``places``, int64 (3, size), are as :meth:`RisingRows.triangles` yields them.
    """
    count = 0
    while row < len(offsets) - 1:
        low, high, whole = offsets[row], offsets[row + 1], True
        for e in range(low, high):
            marks[targets[e]] = e + 1
        while edge < high and whole:
            v = targets[edge] - begin
            if 0 <= v < len(their_offsets) - 1:
                whole = count + their_offsets[v + 1] - their_offsets[v] <= places.shape[1]
                if not whole:
                    break
                for e in range(their_offsets[v], their_offsets[v + 1]):
                    mark = marks[their_targets[e]]
                    if mark:
                        places[0, count], places[1, count], places[2, count] = edge, mark - 1, e
                        count += 1
            edge += 1
        for e in range(low, high):
            marks[targets[e]] = 0
        if not whole:
            break
        row += 1
    return row, edge, count


@njit(cache=True, nogil=True)
def _sum_triangles(
    low, high, first, offsets, targets, values, begin, their_offsets, their_targets, theirs, product, marks, sums
):
    """Add the triangles whose lowest corner is one of some rows, and whose middle one is a row of ``their_offsets``.

    ``first``, ``begin``: gids of the first row here and there. ``marks``, int64 (n,), are zeros before and after.
    """
    for row in range(low, high):
        for e in range(offsets[row], offsets[row + 1]):
            marks[targets[e]] = e + 1
        lowest = 0.0
        for e in range(offsets[row], offsets[row + 1]):
            v = targets[e] - begin
            if 0 <= v < len(their_offsets) - 1:
                middle = 0.0
                for third in range(their_offsets[v], their_offsets[v + 1]):
                    mark = marks[their_targets[third]]
                    if mark:
                        at_low, at_middle, at_high = theirs[third], values[mark - 1], values[e]
                        if product:
                            at_low = at_middle = at_high = at_low * at_middle * at_high
                        lowest += at_low
                        middle += at_middle
                        sums[their_targets[third]] += at_high
                sums[targets[e]] += middle
        sums[first + row] += lowest
        for e in range(offsets[row], offsets[row + 1]):
            marks[targets[e]] = 0
