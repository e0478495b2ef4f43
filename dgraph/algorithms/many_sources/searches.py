"""Searches by weights from many sources, which ranks share out as replicas of the graph (``replica.py``).

A thread searches from 8 or 16 sources at a time (``searches_kernel.py``). Where a rank cannot hold the graph, and on
GPUs, ``sssp`` runs from one source after the other on all ranks instead. Its distances are the same: the least sums of
weights along paths, added from the source on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.algorithms.many_sources.betweenness.path_sums import add_parts
from dgraph.algorithms.many_sources.betweenness.replica import Replica, lacking, shared_out
from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.lane_searches import BYTES, LaneSearches, lane_type
from dgraph.algorithms.many_sources.searches_kernel import rows_of_batch, sum_lanes
from dgraph.algorithms.sssp import Sssp
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.backend.cpu.threads.team import Team
from dgraph.result.columns import UNREACHED, Column

EXACT = 2.0**53
"""Integers below it are float64 numbers."""


Found = tuple[list[Column], int]
"""Distances from each source by master, int64 or the dtype of the weights; the pairs of a source and a vertex that it
reaches, on all ranks."""


@dataclass
class Far:
    """Sums of distances by master.

    Attributes:
        far: sum of the distances from the sources that reach the vertex, float64 (masters,).
        reached: number of sources other than itself that reach it, int64 (masters,).
    """

    far: np.ndarray
    reached: np.ndarray


def _reached(distances: np.ndarray) -> np.ndarray:
    return distances < (UNREACHED if distances.dtype.kind == "i" else np.inf)


class NoSearches:
    """Kernel that reaches nothing, for estimates."""

    def distances(self, ctx, sources: np.ndarray, name: str) -> Found:
        """Return distances of unreached vertices."""
        return [np.full(ctx.local.masters, UNREACHED) for _ in sources], 0

    def sums(self, ctx, sources: np.ndarray, name: str) -> Far:
        """Return zeros."""
        return Far(np.zeros(ctx.local.masters), np.zeros(ctx.local.masters, np.int64))


class SearchesByPrograms:
    """Kernel that runs sssp from one source after the other, on GPUs and on graphs that exceed a rank's memory."""

    def __init__(self, backend):
        self.backend = backend

    def distances(self, ctx, sources: np.ndarray, name: str) -> Found:
        """Return the distances from each source; collective. Columns of a GPU stay there until they are read."""
        out: list[Column] = []
        reached = 0
        saved = ctx.checkpoints, ctx.max_rounds
        ctx.checkpoints = ctx.max_rounds = None  # they would end, or keep the fields of, each search
        try:
            for source in sources.tolist():
                answer = Sssp(source=source, return_predecessors=False).run(ctx)
                out.append(answer.columns["distance"])
                reached += answer.summary["reached"]
        finally:
            ctx.checkpoints, ctx.max_rounds = saved
        return out, reached

    def sums(self, ctx, sources: np.ndarray, name: str) -> Far:
        """Sum the distances from ``sources``, source after source; collective."""
        masters = ctx.local.masters
        found, own = Far(np.zeros(masters), np.zeros(masters, np.int64)), lids_of(ctx.local, sources)
        for i in range(len(sources)):
            (given,), _ = self.distances(ctx, sources[i : i + 1], name)
            column = given() if callable(given) else given
            here = _reached(column)
            found.far[here] += column[here]
            found.reached += here
            if own[i] >= 0:
                found.reached[own[i]] -= 1
        return found


class Searches:
    """Kernel on a team of threads."""

    def __init__(self, team: Team):
        self.team = team

    def distances(self, ctx, sources: np.ndarray, name: str) -> Found:
        """Return the distances from each source; collective.

        Raises:
            DataError: a negative or infinite weight.
        """
        passes = self._passes(ctx, sources, name, exact=False)
        if passes is None:
            return SearchesByPrograms(None).distances(ctx, sources, name)
        out: list[np.ndarray] = []
        for first in passes.turns:
            passes.search(first)
            for part in passes.replica.to_owners(passes.distances()):
                out.extend(map(passes.column, part[: max(0, len(sources) - len(out))]))
        return list(out), ctx.total(sum(int(np.count_nonzero(_reached(each))) for each in out))

    def sums(self, ctx, sources: np.ndarray, name: str) -> Far:
        """Sum the distances from ``sources`` in float64, batch after batch; collective.

        Raises:
            DataError: a negative or infinite weight.
        """
        passes, masters = self._passes(ctx, sources, name, exact=True), ctx.local.masters
        if passes is None:
            return SearchesByPrograms(None).sums(ctx, sources, name)
        n, threads = ctx.local.n, passes.threads
        far, reached = np.zeros((threads, n)), np.zeros((threads, n), np.int64)
        found = Far(np.zeros(masters), np.zeros(masters, np.int64))
        for first in passes.turns:
            passes.search(first)
            passes.sum(first, far, reached)
            add_parts(found.far, passes.replica.to_owners(far))
            add_parts(found.reached, passes.replica.to_owners(reached))
        return found

    def _passes(self, ctx, sources: np.ndarray, name: str, exact: bool) -> _Passes | None:
        """Return the passes if every rank can hold the graph; None if sssp is to run; collective.

        ``exact``: float distances are float64, not of the dtype of the weights.
        """
        most, mean = largest_and_mean(ctx, f"{name} needs weights ≥ 0")
        kind = ctx.local.out.weight_type
        ctx.weighted |= kind is not None
        n, arcs = ctx.local.n, ctx.local.arcs
        figures = lacking(ctx.comm, 40 * arcs + 64 * n + self.team.size * (BYTES + 64) * n)
        integral = kind is None or kind.kind != "f"
        large = integral and most * n >= EXACT
        if figures is not None or large:
            reason = "distances may exceed float64's integers"
            if figures is not None:
                reason = f"the graph takes {figures[0]:,} bytes on a rank, and {figures[1]:,} are free"
            ctx.record.choose("sources", "one after the other", reason)
            return None
        reason = "the graph fits each rank" if ctx.comm.size > 1 else "there is one rank"
        ctx.record.choose("sources", "shared out among ranks and threads", reason)
        replica = Replica.of(ctx.local, ctx.comm, True)
        dtype = lane_type(kind, most, n) if integral or exact else kind
        searches = LaneSearches.of(replica, ctx.local.directed, dtype, mean)
        return _Passes(ctx, self.team, replica, replica.numbers(sources), searches)


class _Passes:
    """Searches from batches of sources, one for each thread of every rank."""

    def __init__(self, ctx, team: Team, replica: Replica, at: np.ndarray, searches: LaneSearches):
        kind = ctx.local.out.weight_type
        self.team, self.replica, self.at, self.integral = team, replica, at, kind is None or kind.kind != "f"
        self.size, self.threads, self.turns = shared_out(ctx, len(at), team.size, searches.lanes)
        self.searches = searches.on(self.threads)

    def search(self, first: int) -> None:
        """Search from the batches of this rank in a turn."""
        self.team.run(rows_of_batch, self.threads, self.at, first, self.size, *self.searches.arguments)

    def distances(self) -> np.ndarray:
        """Return the distances from each source of the turn (sources, n)."""
        return np.concatenate([rows.T[: self.size] for rows in self.searches.rows])

    def sum(self, first: int, far: np.ndarray, reached: np.ndarray) -> None:
        """Sum the distances of each thread's batch over its lanes."""
        found = self.searches.none, self.searches.rows
        self.team.run(sum_lanes, self.threads, self.at, first, self.size, *found, far, reached)

    def column(self, row: np.ndarray) -> np.ndarray:
        """Return a row of distances as a column: integers as int64, with ``UNREACHED`` where there is no path."""
        if not self.integral:
            return row.copy()
        unreached = row == self.searches.none
        out = np.where(unreached, 0, row).astype(np.int64)
        out[unreached] = UNREACHED
        return out
