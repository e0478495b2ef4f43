"""Dependencies of many sources on every vertex, summed source after source: the core of betweenness [Brandes 2001]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dgraph._support.first_runs import ran_plain
from dgraph._support.threads import in_order
from dgraph.algorithms.many_sources.betweenness import paths_kernel, paths_rounds
from dgraph.algorithms.many_sources.betweenness.paths_arrays import ABREAST, CACHED, FEW, PATIENCE, ArrayPaths
from dgraph.algorithms.many_sources.betweenness.paths_kernel import BUFFER, CELLS, PLANES
from dgraph.algorithms.many_sources.lane_search import HopSearch, LanePlan
from dgraph.algorithms.many_sources.lanes import LANES
from dgraph.algorithms.many_sources.results import Summed, add_parts, paths_differ
from dgraph.backend.cpu.threads.plain_kernels import MOST, PlainFirst


class Dependencies(HopSearch):
    """Searches with a lane for each source, that count paths and then sum dependencies from the deepest level on.

    Where a pass has fewer batches than this rank has threads, a group of threads searches from each together.
    """

    batch, state, vertex_bytes = LANES, 8 * (2 * LANES + 1) + 5 * LANES + 30, 38

    def plan_passes(self) -> LanePlan:
        """Return where the search runs; a pass on few vertices has more batches than threads; collective."""
        plan, n = super().plan_passes(), max(self.ctx.local.n, 1)
        passes = plan.passes
        if passes is None or passes.ranks < self.ctx.comm.size:
            return plan
        share = -(-len(self.sources) // (LANES * passes.ranks))
        return replace(plan, passes=replace(passes, threads=max(passes.threads, min(ABREAST, share, CACHED // n))))

    def begin(self) -> None:
        """Make the arrays of a search: a row for each batch of a pass, or for each thread."""
        masters, slots, team = self.rows.masters, self.rows.slots, self.team.size
        batches, groups = self.passes.threads, min(self.passes.threads, team)
        width = LANES if len(self.sources) > 1 else 1
        log, levels = masters * min(LANES, len(self.sources)) + 1, self.ctx.local.n + 3
        self.now, self.seen = np.zeros((groups, PLANES, slots), np.uint8), np.zeros((batches, masters), np.uint8)
        self.paths, self.share = np.zeros((batches, slots, width)), np.zeros((groups, slots, width))
        self.row, self.most = np.zeros((team, 1, LANES)), np.zeros((groups, LANES))
        self.marks = np.zeros((groups, masters if width > 1 else 0), np.uint32)
        self.buffers = np.empty((team, BUFFER), np.uint32), np.empty((team, BUFFER), np.uint8)
        self.log = np.empty((groups, log), np.uint32), np.empty((groups, log), np.uint8)
        self.levels, self.factors = np.zeros((groups, levels), np.int64), np.empty((groups, levels, LANES))
        self.gates, self.cells = np.zeros((groups, 16), np.int64), np.zeros((groups, CELLS), np.int64)
        self.parts, self.reached = np.zeros((batches, masters)), np.zeros(len(self.sources), np.int64)
        self.sums, self.depth = np.zeros(self.ctx.local.masters), 0
        self.degree = float(np.diff(self.rows.into[0]).max(initial=0))
        self.first = PlainFirst(paths_kernel.search_batch, MOST, None, PATIENCE)
        self.arcs = self.rows.into, self.rows.out
        self.arrays, self.by_arrays = ArrayPaths.for_threads(*self.arcs, team), False

    def _groups(self, number: int) -> Iterator[tuple[int, slice]]:
        """Yield the threads and the batches of a pass that they search from at once, a group of threads from each."""
        groups, size = max(-(-len(self.part(number)) // LANES), 1), self.team.size
        for first in range(0, groups, size):
            batches = slice(first, min(first + size, groups))
            yield size // (batches.stop - first) * (batches.stop - first), batches

    def search_batches(self, number: int) -> None:
        """Search from all batches by arrays, or from a batch on each group of threads."""
        sources, depths = self.part(number), np.zeros(self.passes.threads, np.int64)
        neighbours = self.rows.into[1]
        few = (self.depth + 2) * len(self.sources) * len(neighbours) <= FEW and self.first.runs_plain((neighbours,))
        self.by_arrays = few and self._search_by_arrays(sources, depths)
        if self.by_arrays:
            ran_plain("search_batch")
        else:
            for threads, batches in self._groups(number):
                self._search(threads, batches, sources, depths)
        self.depth = max(self.depth, int(depths.max()) - 1)
        self._refuse(number, depths >= 0)

    def _shares(self, sources: np.ndarray) -> list[tuple[ArrayPaths, slice]]:
        """Return the arrays and the batches of each thread."""
        batches, threads = -(-len(sources) // LANES), len(self.arrays)
        cuts = [batches * t // threads for t in range(threads + 1)]
        shares = zip(self.arrays, map(slice, cuts, cuts[1:]), strict=False)
        return [(arrays, part) for arrays, part in shares if part.start < part.stop]

    def _search_by_arrays(self, sources: np.ndarray, depths: np.ndarray) -> bool:
        """Search from batches by arrays on each thread; return False if compilation pays before they end."""
        shares = self._shares(sources)

        def search(share: tuple[ArrayPaths, slice]) -> bool:
            arrays, part = share
            ended = self.first.ran(arrays.search(sources[LANES * part.start : LANES * part.stop]))
            depths[part] = arrays.depths
            return ended

        return all(list(in_order(search, shares, len(shares))))

    def _search(self, threads: int, batches: slice, sources: np.ndarray, depths: np.ndarray) -> None:
        """Search from batches by machine code."""
        (into, outward), groups = self.arcs, batches.stop - batches.start
        self.team.run(
            paths_kernel.search_batch, threads, groups, sources[LANES * batches.start : LANES * batches.stop],
            self.degree, *into, *outward, *self.rows.pushed, self.gates, self.cells, np.ones(groups), self.now,
            self.seen[batches], self.paths[batches], self.share, self.row, self.marks, *self.buffers, *self.log,
            self.levels, self.factors, self.most, depths[batches],
        )  # fmt: skip

    def search_together(self, number: int) -> None:
        """Search from a batch on each thread; after each round, ghosts get the values of the level that it reached."""
        comm, threads, depth, sources = self.ctx.comm, self.passes.threads, 0, self.part(number)
        counts, frontier = np.zeros(threads, np.int64), np.empty((threads, self.rows.slots), np.uint32)
        scalable = np.ones(threads, np.int64)
        work = (self.now, self.seen, self.paths)
        self.team.run(paths_rounds.begin_batch, threads, sources, *work, self.marks, *self.log, self.levels)
        while True:
            self._send(depth, self.paths, frontier, counts)
            depth += 1
            self.team.run(
                paths_rounds.forward_round, threads, sources, depth, *self.rows.into, *self.rows.pushed, self.cells,
                *work, self.row, self.marks, *self.buffers, *self.log, self.levels, frontier, counts, self.most,
            )  # fmt: skip
            self.most = comm.allreduce(self.most, "max")
            self.team.run(
                paths_rounds.scale_round, threads, depth, self.paths, *self.log, self.levels, self.factors, self.most,
                scalable,
            )  # fmt: skip
            if not self.most.any():
                break
        self._refuse(number, scalable)
        self.depth = max(self.depth, depth - 1)
        counts[:] = 0
        for level in range(depth - 1, -1, -1):
            self.team.run(
                paths_rounds.backward_round, threads, level, *self.arcs[1], self.cells, self.now, self.paths,
                self.share, self.row, *self.log, self.levels, self.factors, frontier, counts,
            )  # fmt: skip
            self._send(level, self.share, frontier, counts)

    def _send(self, depth: int, values: np.ndarray, frontier: np.ndarray, counts: np.ndarray) -> None:
        """Make a level with its ghosts the frontier: ghosts get their lanes, and their row of ``values``."""
        masters = self.rows.masters
        for t in range(self.passes.threads):
            logged = self.log[0][t, self.levels[t, depth] : self.levels[t, depth + 1]]
            now = self.now[t, 0]
            slots, (lanes, row) = self.rows.exchange(now[:masters], now[:masters], values[t, :masters])
            now[slots], values[t, slots] = lanes, row
            counts[t] = len(logged) + len(slots)
            frontier[t, : len(logged)], frontier[t, len(logged) : counts[t]] = logged, slots

    def _refuse(self, number: int, scalable: np.ndarray) -> None:
        """Raise DataError on every rank for the first batch whose numbers of paths differ too much; collective."""
        first, none = self.passes.part(number).start, len(self.sources)
        place = none if scalable.all() else first + LANES * int(np.argmin(scalable))
        place = -self.ctx.comm.largest(-place)
        if place < none:
            raise paths_differ(self.sources[place : place + LANES])

    def add(self, number: int) -> None:
        """Add the dependencies of each batch in order."""
        reached, sources = self.reached[self.passes.part(number)], self.part(number)
        self.parts[:] = 0.0
        for arrays, part in self._shares(sources) if self.by_arrays else ():
            arrays.add(self.work.endpoints, self.parts[part], reached[LANES * part.start : LANES * part.stop])
        for threads, batches in () if self.by_arrays else self._groups(number):
            lanes = slice(LANES * batches.start, LANES * batches.stop)
            self.team.run(
                paths_kernel.sum_lanes, threads, batches.stop - batches.start, sources[lanes], self.gates,
                self.seen[batches], self.paths[batches], self.row, self.work.endpoints, self.parts[batches],
                reached[lanes],
            )  # fmt: skip
        if self.replica is None and len(self.sources) <= LANES:  # the only batch
            self.sums = self.parts[0]
        else:
            add_parts(self.sums, self.owned(self.parts))

    def answer(self) -> Summed:
        """Return the sums; the vertices that a source reaches are added to its own if ends count."""
        reached, own = self.ctx.comm.allreduce(self.reached), self.lids >= 0
        if self.work.endpoints:
            np.add.at(self.sums, self.lids[own], reached[own].astype(np.float64))
        return Summed(self.sums, self.deepest(self.depth))
