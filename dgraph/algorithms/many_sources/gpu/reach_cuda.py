"""Searches from up to 1,024 sources at once on one GPU (``reach_words.cuh``); several run programs instead.

The host reads a few numbers a level: it chooses whether all vertices that miss a source scan their in-edges, or those
that the frontier's edges enter. Distances stay in binary; the column of a source is made when it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.algorithms.many_sources.gpu import source_rows
from dgraph.algorithms.many_sources.gpu.level_table import NAME, LevelColumn, LevelTable
from dgraph.algorithms.many_sources.gpu.reach_text import DIGITS, text
from dgraph.algorithms.many_sources.gpu.source_rows import Kernels
from dgraph.algorithms.many_sources.passes import passes
from dgraph.algorithms.many_sources.reach_programs import ReachByPrograms
from dgraph.algorithms.many_sources.results import BITS, ENDLESS, LEVELS, Reached, hops_of
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.result.columns import FieldColumn

MOST_WORDS = 16
"""64-bit words of a vertex, at most: a line of 128 bytes."""

PLANNED_DIGITS = 8
"""Digits for which there must be memory before a search begins."""

FRONTIER, PAIRS, COUNTS = 2, 6, 7
"""Places of ``counts``."""


def need(n: int, edges: int, sources: int, words: int, keep: str) -> int:
    """Return the bytes of a search."""
    kept = 8 * -(-sources // 64) * {LEVELS: PLANNED_DIGITS + 1, BITS: 1}.get(keep, 0) + 16 * (not keep)
    return source_rows.need(n, edges) + n * (24 * words + 5 + kept) + 8 * words * source_rows.most_parts(edges)


@dataclass
class GpuReached(Reached):
    """Result whose columns a GPU makes when they are read.

    Attributes:
        sources: number of sources.
        table: the sources that reach each vertex, and distances if they are kept.
    """

    sources: int = 0
    table: Any = None

    def hops(self) -> list[FieldColumn]:
        """Return a column for each source."""
        return [FieldColumn(LevelColumn(self.table, k), NAME, hops_of) for k in range(self.sources)]

    def marks(self, sources: int) -> list[FieldColumn]:
        """Return a column for each source."""
        return [FieldColumn(LevelColumn(self.table, k), NAME, reached_of) for k in range(sources)]


def reached_of(levels: Any) -> Any:
    """Return 1 where there is a level, else 0."""
    return (levels >= 0).astype(np.int64)


class GpuReach:
    """Searches on a GPU."""

    def __init__(self, backend: Any):
        self.backend = backend

    def search(self, ctx: Any, sources: np.ndarray, *, keep: str = "", limit: int = ENDLESS) -> Reached:
        """Search from ``sources``; collective. See ``reach.py``; levels and bits stay on the GPU."""
        words, n, edges, device = MOST_WORDS, ctx.local.size, ctx.local.out.arcs, self.backend.device
        while words > 1 and 32 * words >= len(sources):
            words //= 2
        if ctx.comm.size == 1 and ctx.direction == "auto" and self.backend.options.schedule == "auto" and len(sources):
            graph = self.backend.graph_of(ctx.local)
            free = device.free(need(n, edges, len(sources), words, keep))
            while words > 1 and need(n, edges, len(sources), words, keep) > free:
                words //= 2
            if need(n, edges, len(sources), words, keep) <= free:
                return _Search(ctx, device, graph, words, lids_of(ctx.local, sources), keep).run(limit)
        return ReachByPrograms(self.backend).search(ctx, sources, keep=keep, limit=limit)


class _Search:
    """Arrays of a search on the GPU, by position, and its kernels."""

    def __init__(self, ctx: Any, device: Any, graph: Any, words: int, lids: np.ndarray, keep: str):
        self.ctx, self.device, self.graph, self.words, self.keep = ctx, device, graph, words, keep
        xp, n, edges, bitmap = device.xp, graph.local.size, graph.edges, -(-graph.local.size // 32)
        at = device.put(lids)
        self.at = (at if graph.place is None else graph.place[at]).astype(np.uint32)
        into = source_rows.side(device, graph.incoming, n, edges)
        out = source_rows.side(device, graph.out, n, edges) if ctx.local.directed else into
        self.rows = [xp.empty((n, words), np.uint64) for _ in range(3)]
        self.bitmaps = [xp.empty(bitmap, np.uint32) for _ in range(4)]
        self.counts, self.kept = xp.zeros(COUNTS, np.uint64), -(-len(lids) // 64)
        self.bits = self.rows[0]
        if keep and len(lids) > 64 * words:
            self.bits = xp.empty((n, self.kept), np.uint64)
        self.digits: list[Any] = []
        self.far, self.reached = (xp.zeros(0 if keep else n, np.int64) for _ in range(2))
        self.members: dict[str, Any] = {
            "in": into, "out": out, "at": None, "alive": [None, None], "rows": self.rows, "bitmaps": self.bitmaps,
            "part_words": xp.empty((source_rows.most_parts(edges), words), np.uint64),
            "frontier": xp.empty(n, np.uint32), "listed": xp.empty(2 * n, np.uint32), "counts": self.counts,
            "far": self.far, "reached": self.reached, "column": None, "digits": [0] * DIGITS, "bits": None, "n": n,
            "dense": 0, "frontier_count": 0, "count": 0, "words": self.kept, "first": 0, "stride": 0, "depth": 0,
        }  # fmt: skip
        self.kernels = Kernels(device, text(graph.wide, words), "reach_words", self.members)
        for outward in range(1 + ctx.local.directed):
            self.kernels.launch("classify", outward)
        self.long_in = graph.longest(pulling=True) > source_rows.LONG

    def run(self, limit: int) -> Reached:
        """Search from all sources, ``64 · words`` at a time."""
        batch, depth, pairs, masters = 64 * self.words, 0, len(self.at), self.ctx.local.masters
        for turn in passes(self.ctx, len(self.at), batch, 1):
            deepest, found = self._batch(turn * self.words, self.at[turn * batch : (turn + 1) * batch], limit)
            depth, pairs = max(depth, deepest), pairs + found
            if self.bits is not self.rows[0]:
                kept = self.bits[:, turn * self.words : (turn + 1) * self.words]
                kept[...] = self.rows[0][:, : kept.shape[1]]
        none = np.zeros(0, np.int64)
        if self.keep:
            table = LevelTable(self.device, self.graph, self.words, self.bits, self.digits, depth)
            return GpuReached(none, none, pairs, depth, none, none, sources=len(self.at), table=table)
        views = (FieldView(self.device, each, self.graph.place) for each in (self.far, self.reached))
        far, reached = (self.device.get(view.values_at(slice(0, masters))) for view in views)
        return Reached(far, reached, pairs, depth, none, none)

    def _batch(self, first: int, at: Any, limit: int) -> tuple[int, int]:
        """Search from some sources, whose bits begin at word ``first``.

        Returns:
            the largest distance, and the number of pairs of a source and another vertex that it reaches.
        """
        kernels, count, words = self.kernels, len(at), self.words
        alive = np.zeros((2, words), np.uint64)
        bits = np.uint64(1) << (np.arange(count, dtype=np.uint64) & np.uint64(63))
        np.bitwise_or.at(alive[0], np.arange(count) >> 6, bits)
        self.members |= {"at": at, "alive": self.device.put(alive)}
        alive, found_alive = self.members["alive"]
        kernels.set("at", at)
        kernels.set("count", count, self.kept, first)
        _, following, marked, _ = self.bitmaps
        for array in (self.rows[0], following, self.counts):
            self.device.clear(array)
        kernels.launch("begin")
        depth = 0
        while True:
            kernels.launch("list_found")
            frontier, longs, edges, found, pairs = self.device.read(self.counts)[FRONTIER:].tolist()
            if not found or depth == limit:
                return depth - (depth > 0 and not found), pairs
            depth += 1
            self._swap()
            if self.keep == LEVELS and depth >> len(self.digits):
                self._add_digit()
            dense = edges * source_rows.DENSE > self.graph.edges
            kernels.set("dense", int(dense), frontier)
            self.device.clear(self.counts[:PAIRS])
            self.device.clear(found_alive)
            kernels.set("alive", alive, found_alive)
            alive, found_alive = found_alive, alive
            if not dense:
                self.device.clear(marked)
                kernels.launch("mark", int(longs > 0))
            for kernel in ("list_rows", "scan", *["scan_joined"] * self.long_in):
                kernels.launch(kernel, depth)

    def _swap(self) -> None:
        """Make the vertices that were found the frontier."""
        seen, front, fresh = self.rows
        active, following, *others = self.bitmaps
        self.rows, self.bitmaps = [seen, fresh, front], [following, active, *others]
        self.device.clear(active)
        self.kernels.set("rows", *self.rows, *self.bitmaps)

    def _add_digit(self) -> None:
        """Make room for distances of one more binary digit."""
        self.digits.append(self.device.xp.zeros((self.graph.local.size, self.kept), np.uint64))
        self.kernels.set("digits", *self.digits)
