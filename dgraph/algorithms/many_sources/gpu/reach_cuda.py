"""Searches from up to 1,024 sources at once on one GPU (``reach_words.cuh``); several run programs instead.

The host reads a few numbers a level: it chooses whether all vertices that miss a source scan their in-edges, or those
that the frontier's edges enter. Distances stay in binary; the column of a source is made when it is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.gpu import source_rows
from dgraph.algorithms.many_sources.gpu.level_table import LevelColumn, LevelTable
from dgraph.algorithms.many_sources.gpu.source_rows import GpuSearch
from dgraph.algorithms.many_sources.lane_search import LanePlan
from dgraph.algorithms.many_sources.reach_programs import ReachByPrograms
from dgraph.algorithms.many_sources.results import BITS, LEVELS, ReachedVertices, hops, hops_of
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.engine.rounds.passes import Passes
from dgraph.result.columns import Column

MOST_WORDS = 16
"""64-bit words of a vertex, at most: a line of 128 bytes."""

DIGITS = 31
"""Most binary digits of a distance."""

PLANNED_DIGITS = 8
"""Digits for which there must be memory before a search begins."""

FRONTIER, PAIRS, COUNTS = 2, 6, 7
"""Places of ``counts``."""


def text(wide: bool, words: int) -> str:
    """Return the kernels' text. ``wide``: offsets are 64-bit; ``words``: of a vertex."""
    return source_rows.text("reach_words", wide, WORDS=words, GROUP=max(8, words), DIGITS=DIGITS)


def need(words: int, n: int, edges: int, sources: int, keep: str) -> int:
    """Return the bytes of a search."""
    kept = 8 * -(-sources // 64) * {LEVELS: PLANNED_DIGITS + 1, BITS: 1}.get(keep, 0) + 16 * (not keep)
    return source_rows.need(n, edges) + n * (24 * words + 5 + kept) + 8 * words * source_rows.most_parts(edges)


def reached_of(levels: Any) -> Any:
    """Return 1 where there is a level, else 0."""
    return (levels >= 0).astype(np.int64)


class GpuReach(GpuSearch):
    """Searches from ``64 · words`` sources at a time; levels and bits stay on the GPU."""

    by_programs = ReachByPrograms
    vertex_bytes = 100
    """Those of :func:`need` for few words, which it takes where memory is short."""

    def plan_passes(self) -> LanePlan:
        """Return passes of as many words as the GPU has memory for."""
        words, sizes = MOST_WORDS, (self.ctx.local.size, self.ctx.local.out.arcs, len(self.sources), self.work.keep)
        while words > 1 and 32 * words >= len(self.sources):
            words //= 2
        if not self.takes():
            return LanePlan(None)
        self.backend.graph_of(self.ctx.local)  # takes memory, too
        free = self.backend.device.free(need(words, *sizes))
        while words > 1 and need(words, *sizes) > free:
            words //= 2
        return LanePlan(Passes(len(self.sources), 64 * words) if need(words, *sizes) <= free else None)

    def begin(self) -> None:
        """Make the arrays of a search, by position, and its kernels."""
        device, graph, keep, words = self.device, self.graph, self.work.keep, self.passes.batch // 64
        self.words, self.keep, self.positions = words, keep, self.positions.astype(np.uint32)
        self.limit, self.depth, self.pairs = hops(self.work.limit), 0, len(self.sources)
        xp, n, parts = device.xp, self.n, source_rows.most_parts(graph.edges)
        self.rows = [xp.empty((n, words), np.uint64) for _ in range(3)]
        self.bitmaps = [xp.empty(-(-n // 32), np.uint32) for _ in range(4)]
        self.counts, self.kept = xp.zeros(COUNTS, np.uint64), -(-len(self.sources) // 64)
        self.bits = self.rows[0]
        if keep and len(self.sources) > 64 * words:
            self.bits = xp.empty((n, self.kept), np.uint64)
        self.digits: list[Any] = []
        self.far, self.reached = (xp.zeros(0 if keep else n, np.int64) for _ in range(2))
        self.load(text(graph.wide, words), "reach_words", {
            "at": None, "alive": [None, None], "rows": self.rows, "bitmaps": self.bitmaps,
            "part_words": xp.empty((parts, words), np.uint64),
            "frontier": xp.empty(n, np.uint32), "listed": xp.empty(2 * n, np.uint32), "counts": self.counts,
            "far": self.far, "reached": self.reached, "column": None, "digits": [0] * DIGITS, "bits": None, "n": n,
            "dense": 0, "frontier_count": 0, "count": 0, "words": self.kept, "first": 0, "stride": 0, "depth": 0,
        })  # fmt: skip

    def search_batches(self, number: int) -> None:
        """Search from the sources of a pass."""
        self._search(number * self.words, self.positions[self.passes.part(number)])
        if self.bits is not self.rows[0]:
            kept = self.bits[:, number * self.words : (number + 1) * self.words]
            kept[...] = self.rows[0][:, : kept.shape[1]]

    def answer(self) -> ReachedVertices:
        """Return the sums, or the columns and the number of pairs."""
        none, depth = np.zeros(0, np.int64), self.depth
        if self.keep:
            self.kernels.set("bits", self.bits)
            self.kernels.set("stride", self.bits.shape[1], depth if self.digits else 0)
            table = LevelTable(self.kernels, self.graph, self.bits, self.digits)
            convert = hops_of if self.keep == LEVELS else reached_of
            columns: list[Column] = [LevelColumn(table, k, convert) for k in range(len(self.sources))]
            return ReachedVertices(none, none, self.pairs, depth, columns)
        views = (FieldView(self.device, sums, self.graph.place) for sums in (self.far, self.reached))
        far, reached = (self.device.get(view.values_at(slice(0, self.ctx.local.masters))) for view in views)
        return ReachedVertices(far, reached, 0, depth)

    def _search(self, first: int, positions: Any) -> None:
        """Search from some sources, whose bits begin at word ``first``."""
        kernels, count = self.kernels, len(positions)
        alive = np.zeros((2, self.words), np.uint64)
        bits = np.uint64(1) << (np.arange(count, dtype=np.uint64) & np.uint64(63))
        np.bitwise_or.at(alive[0], np.arange(count) >> 6, bits)
        self.members |= {"at": positions, "alive": self.device.put(alive)}
        alive, reached_alive = self.members["alive"]
        kernels.set("at", positions)
        kernels.set("count", count, self.kept, first)
        _, following, marked, _ = self.bitmaps
        self.clear(self.rows[0], following, self.counts)
        kernels.launch("begin")
        depth = 0
        while True:
            kernels.launch("list_found")
            frontier, longs, edges, reached, pairs = self.device.read(self.counts)[FRONTIER:].tolist()
            if not reached or depth == self.limit:
                self.pairs += pairs
                self.depth = max(self.depth, depth - (depth > 0 and not reached))
                return
            depth += 1
            self._swap()
            if self.keep == LEVELS and depth >> len(self.digits):
                self._add_digit()
            dense = self.is_dense(edges)
            kernels.set("dense", int(dense), frontier)
            self.clear(self.counts[:PAIRS], reached_alive)
            kernels.set("alive", alive, reached_alive)
            alive, reached_alive = reached_alive, alive
            self.scan(dense, marked, longs > 0, depth)

    def _swap(self) -> None:
        """Make the vertices that were found the frontier."""
        seen, front, fresh = self.rows
        active, following, *others = self.bitmaps
        self.rows, self.bitmaps = [seen, fresh, front], [following, active, *others]
        self.device.clear(active)
        self.kernels.set("rows", *self.rows, *self.bitmaps)

    def _add_digit(self) -> None:
        """Make room for distances of one more binary digit."""
        self.digits.append(self.device.xp.zeros((self.n, self.kept), np.uint64))
        self.kernels.set("digits", *self.digits)


class GpuLevels(GpuReach):
    """Searches that keep distances."""

    vertex_bytes = 120
    """Those of a search and of the digits of distances."""
