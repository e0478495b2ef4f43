"""Min-plus products and searches of all sources on CPU threads.

A product C = min(C, A ⊗ B) runs over strips of rows that threads take by turns, and over strips of columns whose rows
of B stay in a cache. Four columns of A that are all infinite are skipped: the lazy minimum of [Harish et al. 2009].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from dgraph._support import first_runs
from dgraph._support.compiled import njit
from dgraph.algorithms.apsp_parts.array_distances import PAIRS, array_distances
from dgraph.algorithms.apsp_parts.heap import search
from dgraph.algorithms.apsp_parts.shortest_trees import shortest_trees
from dgraph.algorithms.many_sources.lane_searches import LaneSearches, lane_type
from dgraph.algorithms.many_sources.searches_kernel import search_from_batch
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.cpu.threads.plain_kernels import MOST, PlainFirst
from dgraph.backend.row_solver import RowSize
from dgraph.result.matrix import summaries

STRIP = 16
"""Rows that a thread takes at a time."""

WIDTH = 1024
"""Columns of a strip."""

SMALL = 1 << 18
"""Additions up to which one thread makes a product."""

FIRST = PlainFirst(search_from_batch, MOST, patience=2.0)
"""Searches in lanes, by array rounds until compilation pays."""


class MinPlus(HostSolver):
    """Matrices in host memory, and a team of threads.

    Attributes:
        xp: module whose functions work on the matrices.
        preferred: pivots of a block.
        most: largest number of them.
        added: seconds that a thread takes for an addition and a minimum, by bytes of a distance.
        on_host: True if matrices lie in host memory; others have ``free(bytes)``, the bytes that are free there.
        searches: methods of :meth:`searching`.
    """

    xp: Any = np
    preferred, most = 64, 1 << 30
    added: ClassVar = {4: 0.12e-9, 8: 0.24e-9}
    on_host = True
    searches: tuple[str, ...] = ("heap",)

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of a rank's rows of the matrix, at 8 a distance, and beside them.

        A vertex takes 64 and an arc 28 in the rows of costs and the heap of a search; a master 32 in the two columns
        of the answer and the result.
        """
        return 64 * size.vertices + 28 * size.arcs + (8 * size.n + 32) * size.masters

    def put(self, array: np.ndarray) -> np.ndarray:
        """Return the array: it is in host memory."""
        return array

    get = put

    def update(self, c: np.ndarray, rows: slice, columns: slice, a: np.ndarray, b: np.ndarray) -> None:
        """Set ``c[rows, columns]`` to its minimum with the min-plus product of ``a`` and ``b``.

        Args:
            c: C-contiguous, float32 or float64.
            rows: of ``c``.
            columns: of ``c``.
            a: C-contiguous (rows, depth).
            b: C-contiguous (depth, columns or more); ``a`` and ``b`` share no memory with ``c``.
        """
        if a.size and b.size:
            threads = self.team.size if a.size * (columns.stop - columns.start) > SMALL else 1
            self.team.run(_update, threads, c, rows.start, columns.start, columns.stop, a, b, np.zeros(1, np.int64))

    def summaries(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the finite entries of each row, int64, and the largest one, float64."""
        return summaries(rows)

    def close(self, block: np.ndarray) -> None:
        """Close a square block under paths inside it, in place: Floyd and Warshall's algorithm."""
        for k, pivot in enumerate(block):
            block[:] = np.minimum(block, block[:, k, None] + pivot)

    def searching(
        self, method: str, rows: Any, reduced: np.ndarray | None, h: np.ndarray | None, dtype: np.dtype
    ) -> Callable[[np.ndarray, int], None]:
        """Return a function of an array (k, n) and its first source, which fills its rows with distances.

        Args:
            method: of ``searches``; or "lanes": from several vertices at a time, for integral weights ≥ 0.
            rows: rows of all vertices, with the weights of arcs.
            reduced: weights ≥ 0 that order a search; None: those of the arcs.
            h: potentials that made them.
            dtype: of distances.
        """
        if method != "lanes":
            return lambda matrix, first: self.search(matrix, first, rows, reduced)
        costs = np.ones(1) if rows.costs is None else rows.costs
        lane = lane_type(None, costs.max(initial=0.0), rows.n)
        searches = LaneSearches.of(rows, lane, costs.sum() / max(len(costs), 1), self.team.size)
        width, threads = searches.lanes, self.team.size

        def search(matrix: np.ndarray, first: int) -> None:
            few = lane.kind == "i" and rows.n**2 <= PAIRS and FIRST.runs_plain((rows.targets,))
            if few and FIRST.ran(array_distances(matrix, first, *searches.graph[3:])):
                first_runs.ran_plain("search_from_batch")
                return
            sources = np.arange(first, first + len(matrix))
            for begin in range(0, len(matrix), threads * width):
                self.team.run(search_from_batch, threads, sources, begin, width, *searches.arguments)
                for t, distances in enumerate(searches.rows):
                    part = matrix[begin + t * width : begin + (t + 1) * width]
                    part[:] = distances.T[: len(part)]
                    part[part == searches.none] = np.inf

        return search

    def search(self, distances: np.ndarray, first: int, rows: Any, reduced: np.ndarray | None) -> None:
        """Set each row of ``distances`` to the distances from vertex ``first`` + row.

        Args:
            distances: C-contiguous (k, n).
            first: the vertex of row 0.
            rows: rows of all vertices, with the weights of arcs.
            reduced: weights ≥ 0 that order a search; None: those of the arcs.
        """
        n, threads = distances.shape[1], min(self.team.size, max(len(distances), 1))
        scratch = np.empty((threads, 2, n)), np.empty((threads, 3, n), np.int32)
        weights = np.zeros(0) if rows.costs is None else rows.costs
        costs = weights if reduced is None else reduced
        self.team.run(
            _search, threads, distances, first, rows.offsets, rows.targets, costs, weights, reduced is not None,
            *scratch, np.zeros(1, np.int64),
        )  # fmt: skip

    def trees(self, distances: np.ndarray, first: int, rows: Any, slack: float) -> tuple[np.ndarray, int]:
        """Return the predecessors of rows of distances, and how many reached vertices rounding hides from them.

        Args:
            distances: C-contiguous (k, n).
            first: as of :meth:`search`.
            rows: as of :meth:`search`.
            slack: most relative rounding of a sum.
        """
        n, threads = distances.shape[1], min(self.team.size, max(len(distances), 1))
        parents, lost = np.empty(distances.shape, np.int32), np.zeros(threads, np.int64)
        weights = np.zeros(0) if rows.costs is None else rows.costs
        self.team.run(
            shortest_trees, threads, distances, first, rows.offsets, rows.targets, weights, slack, parents,
            *np.empty((2, threads, n), np.int32), lost, np.zeros(1, np.int64),
        )  # fmt: skip
        return parents, int(lost.sum())


@njit(**OPTIONS)
def _update(t, threads, c, first, left, right, a, b, taken):
    rows, depth, columns = a.shape[0], a.shape[1], right - left
    while True:
        begin = fetch_add(taken, 0, STRIP)
        if begin >= rows:
            return
        end = min(begin + STRIP, rows)
        for low in range(0, columns, WIDTH):
            high = min(low + WIDTH, columns)
            for i in range(begin, end):
                row = c[first + i, left + low : left + high]
                k = 0
                while k + 4 <= depth:
                    a0, a1, a2, a3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
                    if min(min(a0, a1), min(a2, a3)) < np.inf:
                        b0, b1 = b[k, low:high], b[k + 1, low:high]
                        b2, b3 = b[k + 2, low:high], b[k + 3, low:high]
                        for j in range(row.size):
                            x0, x1, x2, x3 = a0 + b0[j], a1 + b1[j], a2 + b2[j], a3 + b3[j]
                            x0 = x1 if x1 < x0 else x0
                            x2 = x3 if x3 < x2 else x2
                            x0 = x2 if x2 < x0 else x0
                            y = row[j]
                            row[j] = x0 if x0 < y else y
                    k += 4
                while k < depth:
                    a0, b0 = a[i, k], b[k, low:high]
                    if a0 < np.inf:
                        for j in range(row.size):
                            x0, y = a0 + b0[j], row[j]
                            row[j] = x0 if x0 < y else y
                    k += 1


@njit(**OPTIONS)
def _search(t, threads, distances, first, offsets, targets, costs, weights, negative, floats, numbers, taken):
    while True:
        row = fetch_add(taken, 0, 1)
        if row >= len(distances):
            return
        search(
            first + row, distances[row], numbers[t, 2], offsets, targets, costs, weights, negative, floats[t, 0],
            floats[t, 1], numbers[t, 0], numbers[t, 1],
        )  # fmt: skip
