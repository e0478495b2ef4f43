"""Dependencies of up to eight sources at a time on one GPU (``path_lanes.cuh``); several GPUs run programs instead.

The host reads a few numbers after each forward level. It chooses between a push and a pull, by all vertices or by those
that the frontier reaches, and scales numbers of paths as ``paths_kernel.py`` does. Going back it reads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.betweenness.dependency_programs import DependenciesByPrograms
from dgraph.algorithms.many_sources.gpu import source_rows
from dgraph.algorithms.many_sources.gpu.source_rows import GpuSearch
from dgraph.algorithms.many_sources.lane_search import LanePlan
from dgraph.algorithms.many_sources.lanes import DOWN, LANES, LARGE, LEAST
from dgraph.algorithms.many_sources.results import Summed, paths_differ
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.engine.rounds.passes import Passes
from dgraph.result.columns import FieldColumn

EDGES, LOGGED, TINY, COUNTS = 2, 3, 6, 7
"""Places of ``counts``."""

PUSH = 64
"""A frontier with fewer than one in this many edges pushes its numbers of paths, while these are exact."""

EXACT = 2.0**53
"""Integers below it have the same sum in any order."""


@dataclass
class Level:
    """Vertices of one distance.

    Attributes:
        first, end: their places in the log, by length of row.
        edges: edges that leave them.
        factors: by which their numbers of paths were scaled, by lane; None: 1.
    """

    first: list[int]
    end: list[int]
    edges: int = 0
    factors: np.ndarray | None = None

    @property
    def long(self) -> int:
        """1 if it has long rows, else 0."""
        return int(self.first[2] < self.end[2])


NOTHING = Level([0, 0, 0], [0, 0, 0])


def text(wide: bool, lanes: int) -> str:
    """Return the kernels' text."""
    scaling = {name: value.hex() for name, value in (("LARGE", LARGE), ("DOWN", DOWN), ("LEAST", LEAST))}
    return source_rows.text("path_lanes", wide, LANES=lanes, **scaling)


def need(n: int, edges: int, lanes: int) -> int:
    """Return the bytes of a search."""
    return source_rows.need(n, edges) + n * (21 * lanes + 12) + 9 * lanes * source_rows.most_parts(edges)


class GpuDependencies(GpuSearch):
    """Dependencies of up to eight sources at a time; sums stay on the GPU."""

    by_programs = DependenciesByPrograms
    vertex_bytes = 190
    """Those of :func:`need` for eight lanes."""

    def plan_passes(self) -> LanePlan:
        """Return passes of a lane for each source, if the GPU has memory for them."""
        if not self.takes():
            return LanePlan(None)
        lanes = min(LANES, 1 << (len(self.sources) - 1).bit_length())
        bytes_ = need(self.ctx.local.size, self.ctx.local.out.arcs, lanes)
        free = self.backend.device.free(bytes_)
        if bytes_ <= free:
            return LanePlan(Passes(len(self.sources), lanes))
        reason = f"{lanes} together need {bytes_:,} bytes of GPU memory, and {free:,} are free"
        return LanePlan(None, "one after the other", reason)

    def begin(self) -> None:
        """Make the arrays of a search, by position, and its kernels."""
        device, graph, lanes, self.depth = self.device, self.graph, self.passes.batch, 0
        self.positions = self.positions.astype(np.int64)
        xp, n, parts = device.xp, self.n, source_rows.most_parts(graph.edges)
        self.planes = [xp.zeros(n, np.uint8) for _ in range(3)]
        self.seen, self.counts = xp.empty(n, np.uint8), xp.zeros(COUNTS, np.uint64)
        self.marked, *self.bitmaps = (xp.empty(-(-n // 32), np.uint32) for _ in range(3))
        self.factors, self.most, self.ones = xp.ones(lanes), xp.zeros(lanes), True
        self.sums, self.reached = xp.zeros(n), xp.zeros((len(self.sources) + lanes), np.uint64)
        self.load(text(graph.wide, lanes), "path_lanes", {
            "sources": None, "now": self.planes + self.bitmaps,
            "seen": self.seen, "marked": self.marked, "paths": xp.empty((n, lanes)), "share": xp.empty((n, lanes)),
            "part_sums": xp.empty((parts, lanes)), "part_bits": xp.empty(parts, np.uint8),
            "rows": xp.empty(2 * n, np.uint32), "log": xp.empty(n * lanes, np.uint32),
            "lanes": xp.empty(n * lanes, np.uint8), "factors": self.factors, "most": self.most, "sums": self.sums,
            "reached": None, "counts": self.counts, "n": n, "dense": 0, "count": 0, "full": 0,
            "ends": int(self.work.endpoints), "bases": [0, 0, 0], "level": [0] * 6, "last": [0] * 6, "deeper": [0] * 6,
        })  # fmt: skip
        longs, _, middle = device.read(self.outward[-1]).tolist()
        self.bases = [0, lanes * (n - longs - middle), lanes * (n - longs)]
        self.kernels.set("bases", *self.bases)
        self.degree = float(graph.longest(pulling=True))

    def search_batches(self, number: int) -> None:
        """Search from the sources of a pass, and add their dependencies."""
        part = self.passes.part(number)
        levels = self._forward(self.positions[part], part.start)
        self._backward(levels)
        self.kernels.set("reached", self.reached[part.start :])
        self.kernels.launch("add_lanes")
        self.device.wait()  # so that the pass is counted whole
        self.depth = max(self.depth, len(levels) - 1)

    def answer(self) -> Summed:
        """Return the sums; the vertices that a source reaches are added to its own if ends count."""
        if self.work.endpoints:
            self.sums[self.positions] += self.reached[: len(self.positions)].astype(np.float64)
        return GpuSummed(self.sums, self.depth, graph=self.graph)

    def _forward(self, positions: Any, first: int) -> list[Level]:
        """Count paths from some sources; return the levels."""
        kernels, count = self.kernels, len(positions)
        self.clear(*self.planes, *self.bitmaps, self.seen, self.counts, self.members["paths"])
        self.members["sources"] = positions.astype(np.uint32)
        kernels.set("sources", self.members["sources"])
        kernels.set("dense", 0, count, (1 << count) - 1)
        kernels.set("level", *([0] * 18))
        kernels.launch("begin")
        levels: list[Level] = []
        bound = 1.0
        while True:
            kernels.launch("list_found")
            edges, *ends = self.device.read(self.counts)[EDGES:TINY].tolist()
            before = levels[-1].end if levels else self.bases
            level = Level(before, [base + end for base, end in zip(self.bases, ends, strict=True)], edges)
            if level.first == level.end:
                return levels
            last = levels[-1] if levels else NOTHING
            self._rotate()
            kernels.set("level", *level.first, *level.end, *last.first, *last.end)
            if levels and bound > LARGE:
                level.factors, bound = self._scaled(first)
            levels.append(level)
            bound *= self.degree
            self.device.clear(self.counts[:LOGGED])
            if bound < EXACT and edges * PUSH < self.graph.edges:
                kernels.launch("push", level.long)
                continue
            dense = self.is_dense(edges)
            kernels.set("dense", int(dense))
            self.scan(dense, self.marked, bool(level.long))

    def _rotate(self) -> None:
        """Make ``next`` the level, the level the old one, and the cleared old one the next."""
        now, following, old = self.planes
        active, reached = self.bitmaps
        self.device.clear(active)
        self.planes, self.bitmaps = [following, old, now], [reached, active]
        self.kernels.set("now", *self.planes, *self.bitmaps)

    def _scaled(self, first: int) -> tuple[np.ndarray, float]:
        """Scale the numbers of paths of a level that are large; return its factors and a bound of the numbers."""
        self.device.clear(self.most)
        for kernel in ("largest", "scale"):
            self.kernels.launch(kernel)
        if self.device.read(self.counts)[TINY]:
            raise paths_differ(self.sources[first : first + self.passes.batch])
        most = self.device.read(self.most).copy()
        return np.where(most > LARGE, DOWN, 1.0), max(1.0, float(np.minimum(most, LARGE).max()))

    def _backward(self, levels: list[Level]) -> None:
        """Compute dependencies level by level, from the deepest to that behind the sources."""
        kernels, deeper, last = self.kernels, NOTHING, NOTHING
        self.clear(*self.planes, *self.bitmaps)
        for level in levels[:0:-1]:
            dense = self.is_dense(deeper.edges)
            self._set_factors(deeper.factors)
            kernels.set("level", *(end for span in (level, last, deeper) for end in (*span.first, *span.end)))
            kernels.set("dense", int(dense))
            if not dense:
                self.device.clear(self.marked)
                if deeper is not NOTHING:
                    kernels.launch("mark_back")
            for kernel in ("put_long", "fold", "fold_joined") if level.long else ("fold",):
                kernels.launch(kernel)
            deeper, last = level, deeper
            self._rotate()

    def _set_factors(self, factors: np.ndarray | None) -> None:
        """Set the factors by which the deeper level was scaled; None: 1."""
        if factors is not None or not self.ones:
            self.device.write(self.factors, np.ones(self.passes.batch) if factors is None else factors)
        self.ones = factors is None


@dataclass
class GpuSummed(Summed):
    """Sums by position that stay on a GPU, which has the graph."""

    graph: Any = None

    def scaled(self, lids: np.ndarray, own: float, others: float) -> FieldColumn:
        """Return the sums times ``own`` at ``lids``, and times ``others`` elsewhere."""
        positions = source_rows.positions_of(self.graph, lids)
        scaled = self.sums[positions] * own
        self.sums *= others
        self.sums[positions] = scaled
        return gpu_columns(self.graph, {"sums": self.sums})["sums"]
