"""Methods on the distance matrix: all are sequences of min-plus products with the rows of some pivots.

Each rank has some rows of the matrix. A step sends the pivots' rows to all ranks, which then update their own rows.

======================  ==============================================================================================
``floyd-warshall``      pivots one by one [Floyd 1962]
``blocked``             blocks of pivots in three phases: diagonal, rows of pivots, the rest [Venkataraman et al. 2003]
``recursive``           halves, as in Gaussian elimination [Buluç et al. 2010]
``squaring``            the matrix times itself until no distance falls [Tran et al. 2010]
``separators``          interiors of parts, whose pivots reach their part and the separator alone; then the separator
                        [Djidjev et al. 2014]
======================  ==============================================================================================

Blocks do not depend on the ranks, so float sums are the same on any number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.graph.halo import NumberedRows

CHUNK = 256
"""Rows whose bits are summed at a time."""

TALL = 256
"""Rows of a strip of half a matrix."""

COPIED = 1 << 13
"""Rows of half a matrix up to which those of pivots are copied, which takes as much memory again."""

Indices = slice | np.ndarray
"""Rows or columns of the matrix: consecutive ones, or ascending numbers."""


class Elimination:
    """This rank's rows of the matrix under elimination; methods are collective.

    Attributes:
        rows: vertices, bounds and arcs.
        kernel: min-plus products where the matrix is.
        matrix: (stop - first, n), where the kernel works.
        steps: products so far.
    """

    def __init__(self, rows: NumberedRows, kernel: Any, matrix: Any, step: Callable[[], None]):
        """Set the matrix to the weights of arcs.

        Args:
            rows: vertices and arcs.
            kernel: min-plus products.
            matrix: memory for this rank's rows, where the kernel works.
            step: called on every rank after each product.
        """
        self.rows, self.kernel, self.matrix, self._step = rows, kernel, matrix, step
        self.steps = 0
        n, put = rows.n, kernel.put
        matrix[...] = np.inf
        weight = np.ones(len(rows.sources)) if rows.costs is None else rows.costs
        key = (rows.sources - rows.first) * n + rows.targets
        order = np.argsort(key, kind="stable")  # rows that are sorted already cost one pass
        key, weight = key[order], weight[order]
        heads = np.flatnonzero(np.concatenate([[True], np.diff(key) > 0])[: len(key)])
        cells, diagonal = matrix.reshape(-1), put(_diagonal(rows))
        if len(key):
            cells[put(key[heads])] = put(np.minimum.reduceat(weight, heads).astype(matrix.dtype))
        cells[diagonal] = cells[diagonal].clip(max=0)

    def run(
        self, variant: str, block: int, parts: np.ndarray | None = None, inner: bool = False, half: bool = False
    ) -> None:
        """Make all distances final.

        Args:
            variant: method.
            block: pivots of a block.
            parts: part of each vertex, for ``separators``; -1 in the separator.
            inner: ``blocked`` leaves out pivots that no path passes through, in place of the printed ones.
            half: ``blocked`` computes one triangle of a symmetric matrix; this rank has all rows, and sums are exact.
        """
        whole = slice(0, self.rows.n)
        if variant == "squaring":
            self._squaring(whole, block)
        elif variant == "recursive":
            self._recursive(whole, block)
        elif variant == "separators":
            self._separators(parts, block, whole)
        else:
            pivots = self._inner(whole) if inner else whole
            if half and self._symmetric():
                self._eliminate_half(pivots, block)
                return
            self._eliminate(pivots, whole, 1 if variant == "floyd-warshall" else block)

    def _inner(self, whole: slice) -> Indices:
        """Return the vertices between two others, one with an arc to it and one with an arc from it; collective."""
        source, target = self.rows.sources, self.rows.targets.astype(np.int64)
        source, target = source[source != target], target[source != target]
        entered, left, highest, lowest = ends = np.full((4, self.rows.n), -self.rows.n)
        entered[target] = left[source] = 0
        for one, other in ((source, target), (target, source)):
            np.maximum.at(highest, one, other)
            np.maximum.at(lowest, one, -other)
        entered, left, highest, lowest = self.rows.comm.allreduce(ends, "max")
        inner = np.flatnonzero((entered == 0) & (left == 0) & (-lowest < highest))
        return whole if len(inner) == self.rows.n else inner

    def _eliminate(self, pivots: Indices, within: Indices, block: int) -> None:
        """Eliminate pivots: afterwards paths inside ``within`` may pass through them."""
        for part in _blocks(pivots, block):
            self._update(within, within, part, close=True)

    def _symmetric(self) -> bool:
        """Return True if the matrix is symmetric."""
        return all(np.array_equal(self.matrix[strip], self.matrix[:, strip].T) for strip in _strips(self.rows.n))

    def _eliminate_half(self, pivots: Indices, block: int) -> None:
        """Eliminate pivots of a symmetric matrix; of a small one, apart from the vertices that no path passes through.

        These have one neighbour at most, so that most columns of their rows are skipped.
        """
        matrix, update, n = self.matrix, self.kernel.update, self.rows.n
        if isinstance(pivots, slice) or n > COPIED:
            self._close_half(matrix, np.arange(n)[pivots], block)
            return
        outer = np.setdiff1d(np.arange(n), pivots)
        inside = matrix[_crossed(pivots, pivots)]
        self._close_half(inside, np.arange(len(pivots)), block)
        arcs, across = matrix[_crossed(outer, pivots)], matrix[_crossed(outer, outer)]
        reached = arcs.copy()
        update(reached, slice(0, len(outer)), slice(0, len(pivots)), arcs, inside)
        update(across, slice(0, len(outer)), slice(0, len(outer)), arcs, np.ascontiguousarray(reached.T))
        parts = ((pivots, pivots, inside), (outer, pivots, reached), (pivots, outer, reached.T), (outer, outer, across))
        for rows, columns, values in parts:
            matrix[_crossed(rows, columns)] = values

    def _close_half(self, matrix: np.ndarray, pivots: np.ndarray, block: int) -> None:
        """Eliminate pivots in each strip of rows up to its square on the diagonal, then mirror these entries."""
        kernel, n = self.kernel, len(matrix)
        strips, places = _strips(n), np.arange(n)
        for first in range(0, len(pivots), block):
            numbers = pivots[first : first + block]
            panel = np.where(places <= numbers[:, None], matrix[numbers], matrix[:, numbers].T)
            columns = np.ascontiguousarray(panel.T)
            square = np.ascontiguousarray(panel[:, numbers])
            kernel.close(square)
            kernel.update(panel, slice(0, len(panel)), slice(0, n), square, panel.copy())
            for strip in strips:
                kernel.update(matrix, strip, slice(0, strip.stop), columns[strip], panel)
            self.steps += 1
            self._step()
        for strip in strips:
            np.copyto(matrix[strip], matrix[:, strip].T, where=places > places[strip, None])

    def _squaring(self, whole: slice, block: int) -> None:
        before = self._figure()
        while True:
            for part in _blocks(whole, block):
                self._update(whole, whole, part)
            now = self._figure()
            if now == before:
                return
            before = now

    def _recursive(self, of: slice, block: int) -> None:
        if of.stop - of.start <= block:
            self._update(of, of, of, close=True)
            return
        middle = of.start + -(-(of.stop - of.start) // (2 * block)) * block
        upper, lower = slice(of.start, middle), slice(middle, of.stop)
        for one, other in ((upper, lower), (lower, upper)):
            self._recursive(one, block)
            self._product(one, other, one, block)
            self._product(other, one, one, block)
            if one is upper:
                self._product(lower, lower, upper, block)
        self._product(upper, upper, lower, block)

    def _product(self, rows: slice, columns: slice, inner: slice, block: int) -> None:
        for part in _blocks(inner, block):
            self._update(rows, columns, part)

    def _separators(self, parts: np.ndarray | None, block: int, whole: slice) -> None:
        assert parts is not None
        shared = np.flatnonzero(parts < 0)
        for part in range(int(parts.max(initial=-1)) + 1):
            inside = np.flatnonzero(parts == part)
            self._eliminate(inside, np.sort(np.concatenate([inside, shared])), block)
        self._eliminate(shared, whole, block)

    def _update(self, rows: Indices, columns: Indices, pivots: Indices, close: bool = False) -> None:
        """Offer paths through pivots to the entries ``rows`` × ``columns``; ``close`` the pivots' block first."""
        kernel, matrix = self.kernel, self.matrix
        panel = self._of_all(pivots, columns)
        if close:
            square = self._of_all(pivots, pivots)
            kernel.close(square)
            before = kernel.xp.ascontiguousarray(panel.copy())
            kernel.update(panel, slice(0, len(panel)), slice(0, panel.shape[1]), square, before)
        own = self._own(rows)
        a = kernel.xp.ascontiguousarray(_taken(matrix, own, pivots))
        if isinstance(own, slice) and isinstance(columns, slice):
            kernel.update(matrix, own, columns, a, panel)
        elif a.size:
            c = kernel.xp.ascontiguousarray(_taken(matrix, own, columns))
            kernel.update(c, slice(0, c.shape[0]), slice(0, c.shape[1]), a, panel)
            matrix[_crossed(own, columns)] = c
        self.steps += 1
        self._step()

    def _own(self, rows: Indices) -> Indices:
        """Return the positions of this rank's rows among ``rows``."""
        first, stop = self.rows.first, self.rows.stop
        if isinstance(rows, slice):
            low = min(max(rows.start, first), stop) - first
            return slice(low, max(min(rows.stop, stop) - first, low))
        return rows[np.searchsorted(rows, first) : np.searchsorted(rows, stop)] - first

    def _of_all(self, rows: Indices, columns: Indices) -> Any:
        """Return rows that any ranks have, in ascending order, as a new array."""
        kernel, comm = self.kernel, self.rows.comm
        mine = _taken(self.matrix, self._own(rows), columns)
        if comm.size == 1:
            return kernel.xp.ascontiguousarray(mine).copy()
        width = mine.shape[1]
        parts = comm.allgatherv(np.ascontiguousarray(kernel.get(mine)).ravel())
        return kernel.put(np.concatenate(parts).reshape(-1, width))

    def _figure(self) -> int:
        """Return an integer that falls whenever a distance does: the sum of the floats' places in their order."""
        xp, high, low = self.kernel.xp, 0, 0
        for begin in range(0, len(self.matrix), CHUNK):
            bits = self.matrix[begin : begin + CHUNK].view(f"i{self.matrix.dtype.itemsize}")
            most = np.iinfo(bits.dtype).max
            place = xp.where(bits < 0, bits ^ most, bits).astype(np.int64)
            high, low = high + int((place >> 32).sum()), low + int((place & 0xFFFFFFFF).sum())
        sums = self.rows.comm.allreduce(np.array([high, low], np.int64))
        return (int(sums[0]) << 32) + int(sums[1])


def _diagonal(rows: NumberedRows) -> np.ndarray:
    """Return the places of diagonal entries among those of this rank's rows."""
    here = np.arange(rows.stop - rows.first)
    return here * rows.n + rows.first + here


def _strips(n: int) -> list[slice]:
    """Return strips of rows."""
    return [slice(first, min(first + TALL, n)) for first in range(0, n, TALL)]


def _blocks(of: Indices, block: int) -> list[Indices]:
    if isinstance(of, slice):
        return [slice(begin, min(begin + block, of.stop)) for begin in range(of.start, of.stop, block)]
    return [of[begin : begin + block] for begin in range(0, len(of), block)]


def _crossed(rows: Indices, columns: Indices) -> tuple:
    """Return an index of the entries rows × columns."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        return rows, columns
    return rows[:, None], columns[None, :]


def _taken(matrix: Any, rows: Indices, columns: Indices) -> Any:
    return matrix[_crossed(rows, columns)]
