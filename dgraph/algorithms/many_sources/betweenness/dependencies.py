"""Dependencies of many sources on every vertex, summed source after source: the core of betweenness [Brandes 2001]."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.betweenness.paths_kernel import (
    backward_round,
    begin_batch,
    forward_round,
    one_batch,
    scale_round,
    sum_lanes,
)
from dgraph.algorithms.many_sources.lane_search import HopSearch
from dgraph.algorithms.many_sources.lanes import LANES
from dgraph.algorithms.many_sources.results import Summed, add_parts, paths_differ
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context


class Dependencies(HopSearch):
    """Searches with a lane for each source, that count paths and then sum dependencies from the deepest level on."""

    batch, state = LANES, 8 * (2 * LANES + 1) + 5 * LANES + 30

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of whole rows and searches: ``state`` a vertex and thread; an arc takes 40 in rows."""
        return (size.threads * Dependencies.state + 38) * size.vertices + 40 * size.arcs + 16 * size.masters

    def solve(self, ctx: Context, sources: np.ndarray, *, endpoints: bool = False) -> Summed:
        """Sum the dependencies of ``sources`` (original ids, each one a vertex of the graph); collective.

        Args:
            ctx: context of the algorithm.
            sources: in the order in which dependencies are added.
            endpoints: count a path for its ends too.

        Raises:
            DataError: numbers of shortest paths that float64 does not hold.
        """
        self.endpoints = endpoints
        return self.run(ctx, sources)

    def begin(self) -> None:
        """Make the arrays of a search."""
        masters, slots, threads = self.rows.masters, self.rows.slots, self.passes.threads
        log, levels = masters * min(LANES, len(self.sources)) + 1, self.ctx.local.n + 3
        self.now, self.seen = np.zeros((threads, slots), np.uint8), np.zeros((threads, masters), np.uint8)
        self.paths, self.share = np.zeros((2, threads, slots, LANES))
        self.row, self.most = np.zeros((threads, 1, LANES)), np.zeros((threads, LANES))
        self.marks = np.zeros((threads, masters), np.uint8), np.empty((threads, masters), np.uint32)
        self.log = np.empty((threads, log), np.uint32), np.empty((threads, log), np.uint8)
        self.levels, self.factors = np.zeros((threads, levels), np.int64), np.empty((threads, levels, LANES))
        self.parts, self.reached = np.zeros((threads, masters)), np.zeros(len(self.sources), np.int64)
        self.sums, self.depth = np.zeros(self.ctx.local.masters), 0
        self.degree = float(np.diff(self.rows.into[0]).max(initial=0))

    def search_batches(self, number: int) -> None:
        """Search from a batch on each thread."""
        depths, threads = np.zeros(self.passes.threads, np.int64), self.passes.threads
        rows = (*self.rows.into, *self.rows.out, *self.rows.pushed)
        self.team.run(
            one_batch, threads, self.part(number), 0, self.degree, *rows, self.now, self.seen, self.paths, self.share,
            self.row, *self.marks, *self.log, self.levels, self.factors, self.most, depths,
        )  # fmt: skip
        self.depth = max(self.depth, int(depths.max()) - 1)
        self._refuse(number, depths >= 0)

    def search_together(self, number: int) -> None:
        """Search from a batch on each thread; after each round, ghosts get the values of the level that it reached."""
        comm, threads, depth, sources = self.ctx.comm, self.passes.threads, 0, self.part(number)
        counts, frontier = np.zeros(threads, np.int64), np.empty((threads, self.rows.slots), np.uint32)
        scalable = np.ones(threads, np.int64)
        work = (self.now, self.seen, self.paths)
        self.team.run(begin_batch, threads, sources, 0, *work, *self.log, self.levels)
        while True:
            self._send(depth, self.paths, frontier, counts)
            depth += 1
            self.team.run(
                forward_round, threads, sources, 0, depth, *self.rows.into, *self.rows.pushed, *work, self.row,
                *self.marks, *self.log, self.levels, frontier, counts, self.most,
            )  # fmt: skip
            self.most = comm.allreduce(self.most, "max")
            self.team.run(
                scale_round, threads, depth, self.paths, *self.log, self.levels, self.factors, self.most, scalable
            )  # fmt: skip
            if not self.most.any():
                break
        self._refuse(number, scalable)
        self.depth = max(self.depth, depth - 1)
        counts[:] = 0
        for level in range(depth - 1, -1, -1):
            self.team.run(
                backward_round, threads, level, *self.rows.out, self.now, self.paths, self.share, self.row,
                *self.log, self.levels, self.factors, frontier, counts,
            )  # fmt: skip
            self._send(level, self.share, frontier, counts)

    def _send(self, depth: int, values: np.ndarray, frontier: np.ndarray, counts: np.ndarray) -> None:
        """Make a level with its ghosts the frontier: ghosts get their lanes, and their row of ``values``."""
        masters = self.rows.masters
        for t in range(self.passes.threads):
            logged = self.log[0][t, self.levels[t, depth] : self.levels[t, depth + 1]]
            slots, (lanes, row) = self.rows.exchange(self.now[t, :masters], self.now[t, :masters], values[t, :masters])
            self.now[t, slots], values[t, slots] = lanes, row
            counts[t] = len(logged) + len(slots)
            frontier[t, : len(logged)], frontier[t, len(logged) : counts[t]] = logged, slots

    def _refuse(self, number: int, scalable: np.ndarray) -> None:
        """Raise on every rank for the first batch whose numbers of paths differ too much; collective."""
        first, none = self.passes.part(number).start, len(self.sources)
        place = none if scalable.all() else first + LANES * int(np.argmin(scalable))
        place = -self.ctx.comm.largest(-place)
        if place < none:
            raise paths_differ(self.sources[place : place + LANES])

    def add(self, number: int) -> None:
        """Add the dependencies of each batch in order."""
        reached = self.reached[self.passes.part(number)]
        self.team.run(
            sum_lanes, self.passes.threads, self.part(number), 0, self.seen, self.paths, self.endpoints, self.parts,
            reached,
        )  # fmt: skip
        add_parts(self.sums, self.owned(self.parts))

    def answer(self) -> Summed:
        """Return the sums; the vertices that a source reaches are added to its own if ends count."""
        reached, own = self.ctx.comm.allreduce(self.reached), self.lids >= 0
        if self.endpoints:
            np.add.at(self.sums, self.lids[own], reached[own].astype(np.float64))
        return Summed(self.sums, self.deepest(self.depth))
