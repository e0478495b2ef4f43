"""Dependencies of many sources on every vertex, summed source after source: the core of betweenness [Brandes 2001]."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.betweenness.path_sums import add_parts
from dgraph.algorithms.many_sources.betweenness.paths_kernel import (
    backward_round,
    begin_batch,
    forward_round,
    one_batch,
    scale_round,
    sum_lanes,
)
from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.lanes import LANES
from dgraph.algorithms.many_sources.results import Summed, paths_differ
from dgraph.algorithms.many_sources.shared_rows import SharedRows, shared_rows
from dgraph.algorithms.many_sources.whole_rows import WholeRows, whole_rows
from dgraph.engine.rounds.passes import passes

STATE = 8 * (2 * LANES + 1) + 5 * LANES + 30
"""Bytes of a search for each vertex and thread."""


class Dependencies:
    """Dependencies on a team of threads: each takes batches of eight sources."""

    def __init__(self, team):
        self.team = team

    def search(self, ctx, sources: np.ndarray, *, endpoints: bool = False) -> Summed:
        """Sum the dependencies of ``sources`` (original ids, each one a vertex of the graph); collective.

        Args:
            ctx: context of the algorithm.
            sources: in the order in which dependencies are added.
            endpoints: count a path for its ends too.

        Raises:
            DataError: numbers of shortest paths that float64 does not hold.
        """
        shared = shared_rows(ctx, sources, LANES, self.team.size, STATE)
        if shared is not None:
            search = _Search(ctx, self.team, shared.threads, shared.rows, sources, shared.at, endpoints)
            return search.on_replicas(shared)
        rows, threads = whole_rows(ctx.local, ctx.comm), max(1, min(self.team.size, -(-len(sources) // LANES)))
        return _Search(ctx, self.team, threads, rows, sources, lids_of(ctx.local, sources), endpoints).run()


class _Search:
    """Arrays of a search; each has a row for each thread."""

    def __init__(
        self, ctx, team, threads: int, rows: WholeRows, sources: np.ndarray, at: np.ndarray, endpoints: bool
    ):  # fmt: skip
        self.ctx, self.comm, self.team, self.rows = ctx, ctx.comm, team, rows
        self.sources, self.endpoints = sources, endpoints
        self.at = at
        self.threads = threads
        masters, slots, lanes = rows.masters, rows.slots, min(LANES, len(sources))
        self.now, self.seen = np.zeros((threads, slots), np.uint8), np.zeros((threads, masters), np.uint8)
        self.paths = np.zeros((threads, slots, LANES))
        self.share, self.row = np.zeros((threads, slots, LANES)), np.zeros((threads, 1, LANES))
        self.marked, self.found = np.zeros((threads, masters), np.uint8), np.empty((threads, masters), np.uint32)
        self.log = np.empty((threads, masters * lanes + 1), np.uint32)
        self.lanes = np.empty((threads, masters * lanes + 1), np.uint8)
        self.levels = np.zeros((threads, ctx.local.n + 3), np.int64)
        self.factors = np.empty((threads, ctx.local.n + 3, LANES))
        self.most = np.zeros((threads, LANES))
        self.parts, self.reached = np.zeros((threads, masters)), np.zeros(len(sources), np.int64)
        self.sums = np.zeros(ctx.local.masters)
        self.degree = float(np.diff(rows.into[0]).max(initial=0))
        self.deepest = 0

    def run(self) -> Summed:
        """Search turn by turn, a batch on each thread."""
        turn = self._over_ranks if self.comm.size > 1 else self._alone
        for number in passes(self.ctx, len(self.at), LANES, self.threads):
            turn(number)
            self._sum_lanes(number)
            add_parts(self.sums, [self.parts])
        return self._with_ends(self.at)

    def on_replicas(self, shared: SharedRows) -> Summed:
        """Search from batches of this rank on the whole graph; sums go to the owners of vertices in order."""
        every, width, reached = self.at, LANES * self.threads, self.reached
        for turn in passes(self.ctx, len(every), LANES, self.threads * self.comm.size):
            first = shared.first(turn, LANES)
            self.at, self.reached = every[first : first + width], reached[first : first + width]
            depths = self._searched(0)
            wrong = first // LANES + int(np.argmin(depths)) if depths.min() < 0 else len(every)
            self._refuse(-self.comm.largest(-wrong))
            self._sum_lanes(0)
            add_parts(self.sums, shared.replica.to_owners(self.parts))
        self.deepest, self.reached = self.comm.largest(self.deepest), reached
        return self._with_ends(lids_of(self.ctx.local, self.sources))

    def _sum_lanes(self, turn: int) -> None:
        self.team.run(
            sum_lanes, self.threads, self.at, turn, self.seen, self.paths, self.endpoints, self.parts, self.reached
        )  # fmt: skip

    def _with_ends(self, lids: np.ndarray) -> Summed:
        """Add the vertices that sources reach to the sums of the sources if ends count; collective."""
        reached, here = self.comm.allreduce(self.reached), lids >= 0
        if self.endpoints:
            np.add.at(self.sums, lids[here], reached[here].astype(np.float64))
        return Summed(self.sums, self.deepest)

    def _alone(self, turn: int) -> None:
        depths = self._searched(turn)
        if depths.min() < 0:
            self._refuse(turn * self.threads + int(np.argmin(depths)))

    def _searched(self, turn: int) -> np.ndarray:
        """Search from a batch on each thread; return depths, -1 where numbers of paths differ too much."""
        depths = np.zeros(self.threads, np.int64)
        rows = (*self.rows.into, *self.rows.out, *self.rows.pushed)
        self.team.run(
            one_batch, self.threads, self.at, turn, self.degree, *rows, self.now, self.seen, self.paths, self.share,
            self.row, self.marked, self.found, self.log, self.lanes, self.levels, self.factors, self.most, depths,
        )  # fmt: skip
        self.deepest = max(self.deepest, int(depths.max()) - 1)
        return depths

    def _over_ranks(self, turn: int) -> None:
        """Search from one batch on each thread; after each round, ghosts get the values of the level it found."""
        comm, threads, depth = self.comm, self.threads, 0
        counts, frontier = np.zeros(threads, np.int64), np.empty((threads, self.rows.slots), np.uint32)
        kept = np.ones(threads, np.int64)
        work = (self.now, self.seen, self.paths)
        self.team.run(begin_batch, threads, self.at, turn, *work, self.log, self.lanes, self.levels)
        while True:
            self._send(depth, self.paths, frontier, counts)
            depth += 1
            self.team.run(
                forward_round, threads, self.at, turn, depth, *self.rows.into, *self.rows.pushed, *work, self.row,
                self.marked, self.found, self.log, self.lanes, self.levels, frontier, counts, self.most,
            )  # fmt: skip
            self.most = comm.allreduce(self.most, "max")
            self.team.run(
                scale_round, threads, depth, self.paths, self.log, self.lanes, self.levels, self.factors, self.most,
                kept,
            )  # fmt: skip
            if not self.most.any():
                break
        kept = comm.allreduce(kept, "min")
        if not kept.all():
            self._refuse(turn * self.threads + int(np.argmin(kept)))
        self.deepest = max(self.deepest, depth - 1)
        counts[:] = 0
        for level in range(depth - 1, -1, -1):
            self.team.run(
                backward_round, threads, level, *self.rows.out, self.now, self.paths, self.share, self.row,
                self.log, self.lanes, self.levels, self.factors, frontier, counts,
            )  # fmt: skip
            self._send(level, self.share, frontier, counts)

    def _send(self, depth: int, values: np.ndarray, frontier: np.ndarray, counts: np.ndarray) -> None:
        """Make a level with its ghosts the frontier: ghosts get their lanes, and their row of ``values``."""
        masters = self.rows.masters
        for t in range(self.threads):
            mine = self.log[t, self.levels[t, depth] : self.levels[t, depth + 1]]
            slots, (lanes, row) = self.rows.exchange(
                self.comm, self.now[t, :masters], self.now[t, :masters], values[t, :masters]
            )
            self.now[t, slots], values[t, slots] = lanes, row
            counts[t] = len(mine) + len(slots)
            frontier[t, : len(mine)], frontier[t, len(mine) : counts[t]] = mine, slots

    def _refuse(self, batch: int) -> None:
        """Raise, on every rank, for a batch whose numbers of paths differ too much; do nothing after the last one."""
        place = batch * LANES
        if place < len(self.sources):
            raise paths_differ(self.sources[place : place + LANES])
