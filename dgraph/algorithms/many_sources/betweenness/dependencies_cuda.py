"""Dependencies of up to eight sources at a time on one GPU (``path_lanes.cuh``); several GPUs run programs instead.

The host reads a few numbers after each forward level. It chooses between a push and a pull, by all vertices or by those
that the frontier reaches, and scales numbers of paths as ``paths_kernel.py`` does. Going back it reads nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.many_sources.betweenness.dependency_programs import DependenciesByPrograms
from dgraph.algorithms.many_sources.betweenness.sampling import Betweenness
from dgraph.algorithms.many_sources.gpu import source_rows
from dgraph.algorithms.many_sources.gpu.source_rows import GpuSearch
from dgraph.algorithms.many_sources.lanes import DOWN, LANES, LARGE, LEAST
from dgraph.algorithms.many_sources.results import Summed, paths_differ
from dgraph.backend.cuda.device_graph.lazy_result import gpu_columns
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context
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


class GpuDependencies(RowSolver):
    """Dependencies on a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes a vertex of :func:`need` for eight lanes."""
        return 190 * size.vertices

    def solve(self, ctx: Context, sources: np.ndarray, work: Betweenness) -> Summed:
        """Sum the dependencies of ``sources``; collective. See ``dependencies.py``; sums stay on the GPU.

        Raises:
            DataError: numbers of shortest paths that float64 does not hold.
        """
        device, local = self.backend.device, ctx.local
        if source_rows.takes(ctx, self.backend, sources):
            lanes = min(LANES, 1 << (len(sources) - 1).bit_length())
            bytes_ = need(local.size, local.out.arcs, lanes)
            free = device.free(bytes_)
            if bytes_ <= free:
                graph = self.backend.graph_of(local)
                return _DependencySearch(ctx, device, graph, lanes, sources, work.endpoints).run()
            reason = f"{lanes} together need {bytes_:,} bytes of GPU memory, and {free:,} are free"
            ctx.record.choose("sources", "one after the other", reason)
        return DependenciesByPrograms(self.backend).solve(ctx, sources, work)


class _DependencySearch(GpuSearch):
    """Arrays of a search, by position, and its kernels."""

    def __init__(self, ctx: Context, device: Any, graph: Any, lanes: int, sources: np.ndarray, endpoints: bool):
        super().__init__(ctx, device, graph, sources)
        self.lanes, self.sources, self.endpoints = lanes, sources, endpoints
        self.positions = self.positions.astype(np.int64)
        xp, n, parts = device.xp, self.n, source_rows.most_parts(graph.edges)
        self.bytes = [xp.zeros(n, np.uint8) for _ in range(3)]
        self.seen, self.counts = xp.empty(n, np.uint8), xp.zeros(COUNTS, np.uint64)
        self.marked, *self.bitmaps = (xp.empty(-(-n // 32), np.uint32) for _ in range(3))
        self.factors, self.most, self.ones = xp.ones(lanes), xp.zeros(lanes), True
        self.sums, self.reached = xp.zeros(n), xp.zeros((len(sources) + lanes), np.uint64)
        self.load(text(graph.wide, lanes), "path_lanes", {
            "sources": None, "now": self.bytes + self.bitmaps,
            "seen": self.seen, "marked": self.marked, "paths": xp.empty((n, lanes)), "share": xp.empty((n, lanes)),
            "part_sums": xp.empty((parts, lanes)), "part_bits": xp.empty(parts, np.uint8),
            "rows": xp.empty(2 * n, np.uint32), "log": xp.empty(n * lanes, np.uint32),
            "lanes": xp.empty(n * lanes, np.uint8), "factors": self.factors, "most": self.most, "sums": self.sums,
            "reached": None, "counts": self.counts, "n": n, "dense": 0, "count": 0, "full": 0, "ends": int(endpoints),
            "bases": [0, 0, 0], "level": [0] * 6, "last": [0] * 6, "deeper": [0] * 6,
        })  # fmt: skip
        longs, _, middle = device.read(self.outward[-1]).tolist()
        self.bases = [0, lanes * (n - longs - middle), lanes * (n - longs)]
        self.kernels.set("bases", *self.bases)
        self.degree = float(graph.longest(pulling=True))

    def run(self) -> Summed:
        """Search from all sources, ``lanes`` at a time."""
        passes, deepest = Passes(len(self.positions), self.lanes), 0
        for number in passes.turns(self.ctx):
            part = passes.part(number)
            levels = self._forward(self.positions[part], part.start)
            self._backward(levels)
            self.kernels.set("reached", self.reached[part.start :])
            self.kernels.launch("add_lanes")
            self.device.wait()  # so that the pass is counted whole
            deepest = max(deepest, len(levels) - 1)
        if self.endpoints:
            self.sums[self.positions] += self.reached[: len(self.positions)].astype(np.float64)
        return GpuSummed(self.sums, deepest, self.graph)

    def _forward(self, positions: Any, first: int) -> list[Level]:
        """Count paths from some sources; return the levels."""
        kernels, count = self.kernels, len(positions)
        self.clear(*self.bytes, *self.bitmaps, self.seen, self.counts, self.members["paths"])
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
        now, following, old = self.bytes
        active, reached = self.bitmaps
        self.device.clear(active)
        self.bytes, self.bitmaps = [following, old, now], [reached, active]
        self.kernels.set("now", *self.bytes, *self.bitmaps)

    def _scaled(self, first: int) -> tuple[np.ndarray, float]:
        """Scale the numbers of paths of a level that are large; return its factors and a bound of the numbers."""
        self.device.clear(self.most)
        for kernel in ("largest", "scale"):
            self.kernels.launch(kernel)
        if self.device.read(self.counts)[TINY]:
            raise paths_differ(self.sources[first : first + self.lanes])
        most = self.device.read(self.most).copy()
        return np.where(most > LARGE, DOWN, 1.0), max(1.0, float(np.minimum(most, LARGE).max()))

    def _backward(self, levels: list[Level]) -> None:
        """Compute dependencies level by level, from the deepest to that behind the sources."""
        kernels, deeper, last = self.kernels, NOTHING, NOTHING
        self.clear(*self.bytes, *self.bitmaps)
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
            self.device.write(self.factors, np.ones(self.lanes) if factors is None else factors)
        self.ones = factors is None


class GpuSummed(Summed):
    """Sums by position that stay on a GPU."""

    def __init__(self, sums: Any, depth: int, graph: Any):
        super().__init__(sums, depth)
        self.graph = graph

    def scaled(self, lids: np.ndarray, own: float, others: float) -> FieldColumn:
        """Return the sums times ``own`` at ``lids``, and times ``others`` elsewhere."""
        positions = source_rows.positions_of(self.graph, lids)
        scaled = self.sums[positions] * own
        self.sums *= others
        self.sums[positions] = scaled
        return gpu_columns(self.graph, {"sums": self.sums})["sums"]
