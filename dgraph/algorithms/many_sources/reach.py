"""Distances from many sources to every vertex: their sums, and on request each of them, or a bit for each source."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.many_sources.lane_search import HopSearch, LanePlan
from dgraph.algorithms.many_sources.reach_kernel import (
    BATCH,
    WORDS,
    begin_batch,
    is_narrow,
    one_by_one,
    one_level,
    one_pass,
)
from dgraph.algorithms.many_sources.reach_programs import BITS, LevelsByPrograms, ReachByPrograms
from dgraph.algorithms.many_sources.results import BITS as BITS_KEPT
from dgraph.algorithms.many_sources.results import KeptSources, ReachedVertices, hops, put_rows

FEW, SMALL = 2 * BITS, 1 << 18
"""Sources and arcs up to which programs answer first runs, in array rounds: the kernel would compile."""


class Reach(HopSearch):
    """Searches with a bit for each source."""

    batch, state, vertex_bytes = BATCH, 3 * 8 * WORDS + 26, 14
    by_programs = ReachByPrograms

    def plan_passes(self) -> LanePlan:
        """Return where the search runs; collective."""
        few = len(self.sources) <= FEW and self.ctx.local.m <= SMALL
        first = few and all(map(self.ctx.answers_at_once, self.by_programs.programs))
        return LanePlan(None) if first else super().plan_passes()

    def begin(self) -> None:
        """Make the arrays of a search, in the order in which kernels take them."""
        threads, masters, slots = self.passes.threads, self.rows.masters, self.rows.slots
        keep, self.limit = self.work.keep, hops(self.work.limit)
        self.kept = KeptSources(self.ctx.local.masters, len(self.sources), keep)
        self.levels = self.kept.levels
        if self.replica is not None:  # those of a pass go to the owners of vertices
            self.levels = KeptSources(masters, BATCH * threads, keep).levels
        self.narrow = False
        if self.ctx.comm.size == 1 and keep != BITS_KEPT and len(self.sources):
            self._make_queues(masters)
        if not self.narrow:
            self._make_words(threads, masters, slots)
        self.depths = np.zeros(self.team.size, np.int64)

    def _make_queues(self, masters: int) -> None:
        """Make the arrays of searches by queues, and see whether they take less time."""
        threads = self.team.size
        self.arrays: dict[str, np.ndarray] = {
            "marked": np.zeros((threads, masters), np.uint8), "queue": np.empty((threads, masters), np.uint32),
            "far": np.zeros((threads, masters), np.int64), "reached": np.zeros((threads, masters), np.int64),
        }  # fmt: skip
        self.graph: tuple = *self.rows.pushed, *self.arrays.values()
        self.narrow = bool(self.team.run(is_narrow, 1, self.numbers, self.limit, *self.graph, self.levels[:, :0]))

    def _make_words(self, threads: int, masters: int, slots: int) -> None:
        """Make the arrays of searches by bits."""
        self.arrays = {
            "seen": np.empty((threads, masters, WORDS), np.uint64),
            "front": np.empty((threads, slots, WORDS), np.uint64),
            "fresh": np.empty((threads, masters, WORDS), np.uint64), "whole": np.zeros((threads, WORDS), np.uint64),
            "marked": np.zeros((threads, masters), np.uint8), "frontier": np.empty((threads, slots), np.uint32),
            "reached_now": np.empty((threads, masters), np.uint32), "far": np.zeros((threads, masters), np.int64),
            "reached": np.zeros((threads, masters), np.int64),
        }  # fmt: skip
        self.graph = *self.rows.into, *self.rows.pushed, *self.arrays.values()

    def search_batches(self, number: int) -> None:
        """Search from a batch on each thread, or on all threads from one source after the other."""
        if self.narrow:
            sources, place, threads = self.part(number), self.passes.part(number).start, self.team.size
            self.team.run(one_by_one, threads, sources, place, self.limit, *self.graph, self.levels, self.depths)
            return
        batches = self.numbers, number
        if self.replica is not None:
            self.levels[:] = -1
            batches = self.part(number), 0
        self.team.run(one_pass, self.passes.threads, *batches, self.limit, *self.graph, self.levels, self.depths)

    def search_together(self, number: int) -> None:
        """Search from a batch on each thread; newly reached bits go to ghosts after each round."""
        rows, comm, threads = self.rows, self.ctx.comm, self.passes.threads
        counts, chosen = np.zeros(threads, np.int64), np.zeros((threads, rows.masters), np.uint8)
        seen, front, frontier, whole = (self.arrays[name] for name in ("seen", "front", "frontier", "whole"))
        self.team.run(begin_batch, threads, self.numbers, number, counts, seen, front, frontier, whole, self.levels)
        for t in range(threads):
            chosen[t, frontier[t, : counts[t]]] = 1
        depth = 0
        while True:
            new = counts.copy()
            for t in range(threads):
                slots, (bits,) = rows.exchange(chosen[t], front[t, : rows.masters])
                front[t, slots] = bits
                frontier[t, new[t] : new[t] + len(slots)] = slots
                counts[t] += len(slots)
            if not comm.total(int(new.sum())):
                return
            self.depths[:] = np.maximum(self.depths, depth)
            if depth == self.limit:
                return
            depth += 1
            self.team.run(one_level, threads, number, depth, *self.graph, self.levels, counts, chosen)

    def add(self, number: int) -> None:
        """Send what is kept of each source to the owners of vertices."""
        first = number * self.passes.threads * self.passes.ranks
        if self.levels is not self.kept.levels and self.levels.shape[1]:
            put_rows(self.kept.levels, first * BATCH, np.concatenate(self.owned(self.levels.T)))
        if self.kept.bits.shape[1]:
            seen = self.arrays["seen"]
            words = seen.transpose(0, 2, 1).reshape(len(seen) * WORDS, seen.shape[1])
            put_rows(self.kept.bits, first * WORDS, np.concatenate(self.owned(words)))

    def answer(self) -> ReachedVertices:
        """Return sums over all threads and ranks."""
        far, reached = (self.summed(self.arrays[name]) for name in ("far", "reached"))
        pairs = self.ctx.total(int((self.lids >= 0).sum() + reached.sum())) if self.work.keep else 0
        return ReachedVertices(far, reached, pairs, self.deepest(int(self.depths.max())), self.kept.columns())


class DistanceReach(Reach):
    """Searches that keep the distance from each source."""

    by_programs = LevelsByPrograms
    vertex_bytes = Reach.vertex_bytes + 768
    """With those of the distances from 64 sources: 4 each in a table, 8 in a column."""
