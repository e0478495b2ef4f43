"""Searches by weights from many sources, which ranks share out: each has the rows of all vertices.

A thread searches from 8 or 16 sources at a time (``searches_kernel.py``). Where a rank cannot hold the graph, and on
GPUs, ``sssp`` runs from one source after the other on all ranks instead. Its distances are the same: the least sums of
weights along paths, added from the source on.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.lane_search import LanePlan, LaneSearch, plan_by_weights
from dgraph.algorithms.many_sources.lane_searches import BYTES, LINE, LaneSearches, lane_type
from dgraph.algorithms.many_sources.results import ReachedVertices, SourceSearch, add_parts
from dgraph.algorithms.many_sources.searches_kernel import rows_of_batch, sum_lanes
from dgraph.algorithms.sssp import Sssp
from dgraph.algorithms.vertex_values import lids_of
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import host_share, lacking, one_of_many
from dgraph.result.columns import UNREACHED, Column

EXACT = 2.0**53
"""Integers below it are float64 numbers."""


def _reached(distances: np.ndarray) -> np.ndarray:
    return distances < (UNREACHED if distances.dtype.kind == "i" else np.inf)


class SearchesByPrograms(RowSolver):
    """Kernel that runs sssp from one source after the other, on GPUs and on graphs that exceed a rank's memory."""

    vertex_bytes = 40
    """Those of the fields of one search."""

    def solve(self, ctx: Context, sources: np.ndarray, work: SourceSearch) -> ReachedVertices:
        """Search from each source; collective. Columns of a GPU stay there until they are read."""
        masters, lids = ctx.local.masters, lids_of(ctx.local, sources)
        result = ReachedVertices(np.zeros(masters), np.zeros(masters, np.int64))
        with one_of_many(ctx):
            for source, lid in zip(sources.tolist(), lids.tolist(), strict=True):
                answer = Sssp(source=source, cutoff=work.limit, return_predecessors=False).run(ctx)
                column: Column = answer.columns["distance"]
                if work.keep:
                    result.columns.append(column)
                    result.pairs += answer.summary["reached"]
                    continue
                distances = column() if callable(column) else column
                near = _reached(distances)
                with np.errstate(over="ignore"):  # closeness refuses infinite sums
                    result.far[near] += distances[near]
                result.reached += near
                if lid >= 0:
                    result.reached[lid] -= 1
        return result


class Searches(LaneSearch):
    """Kernel on a team of threads, with a lane for each source.

    It sums distances in float64, batch after batch, or keeps them: int64, or of the dtype of float weights. Vertices
    beyond the limit are unreached where distances are kept.
    """

    reads_weights, by_programs = True, SearchesByPrograms

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the whole graph on a rank, and of the searches of its threads.

        An arc takes up to 90 while rows are made; a vertex 40 in rows, 512 in the columns of 64 sources, and
        ``BYTES`` + 64 a thread.
        """
        return (552 + (BYTES + 64) * size.threads) * size.n + 90 * size.m + 48 * size.masters

    def check(self) -> None:
        """Refuse negative and infinite weights, and choose the dtype of distances; collective."""
        ctx, kind = self.ctx, self.ctx.local.out.weight_type
        self.keep: str = self.work.keep
        self.most, self.mean = largest_and_mean(ctx, f"{self.work.name} needs weights ≥ 0")
        ctx.weighted |= kind is not None
        self.integral = kind is None or kind.kind != "f"
        self.dtype = kind if kind and not self.integral and self.keep else lane_type(kind, self.most, ctx.local.n)

    def plan_passes(self) -> LanePlan:
        """Return the passes if every rank can hold the graph, and lanes the distances; else sssp runs; collective."""
        comm, n = self.ctx.comm, self.ctx.local.n
        figures = lacking(comm, self.bytes_of_whole(self.team.size), host_share(comm))
        if figures is not None:
            short = f"the graph takes {figures[0]:,} bytes on a rank, and {figures[1]:,} are free"
            return LanePlan(None, "one after the other", short)
        if self.integral and self.most * n >= EXACT:
            return LanePlan(None, "one after the other", "distances may exceed float64's integers")
        passes_end = self.most * max(n - 1, 1) >= float(np.finfo(np.float64 if self.integral else self.dtype).max)
        if passes_end and self.work.limit is None:
            return LanePlan(None, "one after the other", "distances may exceed the largest float, which sssp refuses")
        reason = "the graph fits each rank" if comm.size > 1 else "there is one rank"
        passes = plan_by_weights(self.ctx, len(self.sources), self.team.size, LINE // self.dtype.itemsize)
        return LanePlan(passes, "shared out among ranks and threads", reason)

    def begin(self) -> None:
        """Make the arrays of a search."""
        masters, n, threads = self.ctx.local.masters, self.ctx.local.n, self.passes.threads
        self.searches = LaneSearches.of(self.replica, self.dtype, self.mean, threads, self.work.limit)
        self.result = ReachedVertices(np.zeros(masters), np.zeros(masters, np.int64))
        if not self.keep:
            self.far, self.reached = np.zeros((threads, n)), np.zeros((threads, n), np.int64)

    def search_batches(self, number: int) -> None:
        """Search from a batch on each thread."""
        self._on_threads(number, rows_of_batch, *self.searches.arguments)

    def _on_threads(self, number: int, kernel, *arguments) -> None:
        self.team.run(kernel, self.passes.threads, self.part(number), 0, self.passes.batch, *arguments)

    def add(self, number: int) -> None:
        """Add the distances of each batch in order, or keep them."""
        result, searches = self.result, self.searches
        if not self.keep:
            self._on_threads(number, sum_lanes, searches.none, searches.rows, self.far, self.reached)
            add_parts(result.far, self.owned(self.far))
            add_parts(result.reached, self.owned(self.reached))
            return
        for part in self.owned(np.concatenate([rows.T[: self.passes.batch] for rows in searches.rows])):
            result.columns.extend(map(self._column, part[: max(0, len(self.sources) - len(result.columns))]))

    def _column(self, row: np.ndarray) -> np.ndarray:
        """Return a row of distances as a column: integers as int64, with ``UNREACHED`` where there is no path."""
        unreached = (row == self.searches.none) | (row > self.searches.limit)
        if not self.integral:
            return np.where(unreached, self.searches.none, row)
        distances = np.where(unreached, 0, row).astype(np.int64)
        distances[unreached] = UNREACHED
        return distances

    def answer(self) -> ReachedVertices:
        """Return the sums, or the columns and the number of pairs."""
        columns: list[np.ndarray] = self.result.columns  # type: ignore[assignment]
        self.result.pairs = self.ctx.total(sum(int(np.count_nonzero(_reached(column))) for column in columns))
        return self.result
