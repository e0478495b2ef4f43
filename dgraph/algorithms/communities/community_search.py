"""Search for communities on the threads of a rank: levels of moves, with or without refinement, then a polish.

Every rank has the rows of the whole graph in the order of original ids and takes the same steps, so the labels are
those of one rank. Entry: :meth:`CommunitySearch.solve`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dgraph.algorithms.communities.algorithm_base import SearchSettings
from dgraph.algorithms.communities.community_totals import Partition
from dgraph.algorithms.communities.graph_level import GraphLevel, numbered, starts_of
from dgraph.algorithms.communities.moves import move
from dgraph.algorithms.communities.polish import connected, polish
from dgraph.algorithms.communities.refinement import refine
from dgraph.algorithms.communities.units import Units, integer_weights
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary, host_share, refuse_unless_fits
from dgraph.graph.halo import NumberedRows

SEEDS = 1 << 20
"""Distance of the first salts of two seeds."""


@dataclass(frozen=True)
class Communities:
    """Answer of a search, equal on all ranks but for the columns.

    Attributes:
        labels: smallest original id of the community of each master.
        parts: smallest original id of the part of each master in each level below, the coarsest level first.
        count: number of communities.
        units, quality: see ``units.py``.
        polished: moves of single vertices in the polish.
        levels: numbers of communities after each level of the last iteration.
        finished: False if the round limit ended it.
    """

    labels: np.ndarray
    parts: list[np.ndarray]
    count: int
    units: Units
    quality: int
    polished: int
    levels: list[int]
    finished: bool


class CommunitySearch(HostSolver):
    """Search on a team of threads."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the whole graph on a rank, of two levels, and of sums of its threads.

        An arc takes 60 while rows are sorted, and 12 in each of three levels; a vertex 200, and 12 a thread.
        """
        return 96 * size.m + (200 + 12 * size.threads) * size.n + 16 * size.masters

    def solve(self, ctx: Context, settings: SearchSettings, start: np.ndarray | None, name: str) -> Communities:
        """Return communities; collective.

        Args:
            ctx: context of the algorithm.
            settings: parameters.
            start: label of each master to start from, -1 if it is alone; None: every vertex is alone.
            name: of the algorithm, for messages.

        Raises:
            OutOfMemory: a rank cannot hold the graph.
            UsageError: the resolution is too large.
        """
        self.ctx, self.settings = ctx, settings
        need = self.bytes(RowSize(ctx.local.n, ctx.local.arcs, 0, 0, ctx.local.masters, self.team.size))
        refuse_unless_fits(ctx.comm, need, host_share(ctx.comm), lambda need, free: (
            f"{name} holds the whole graph on each rank, {need:,} bytes with its levels, and {free:,} bytes of a "
            "rank's host are free; start fewer ranks on a host or fewer --threads, or use hosts with more memory"
        ))  # fmt: skip
        with ctx.record("prepare"):
            rows = ctx.rows("all", order="id", weights=True, simple=False)
            self._begin(rows)
            labels = np.arange(rows.n, dtype=np.int32) if start is None else _shared_labels(rows, start, settings.most)
        with ctx.record("compute"):
            labels, quality = self._iterate(labels)
            labels, polished = polish(self.level, labels, self.units, settings.most, self.team)
            quality = self.level.quality(labels, self.units, self.team)
            parts = [connected(self.level, part) for part in self._parts(labels)]
        mine = rows.places[ctx.comm.rank]
        groups, count = numbered(labels)
        firsts = np.empty(count, np.int64)
        firsts[groups[::-1]] = rows.ids[::-1]
        columns = [rows.ids[part][mine] for part in parts]
        return Communities(
            firsts[groups][mine], columns, count, self.units, quality, polished, self.sizes, self.finished
        )

    def _begin(self, rows: NumberedRows) -> None:
        """Make level 0 and the units."""
        self.ctx.weighted |= rows.costs is not None
        weights, shift = integer_weights(rows.costs, len(rows.targets))
        source, target = rows.sources, rows.targets.astype(np.int32)
        loop = source == target
        loops = np.zeros(rows.n, np.int64)
        np.add.at(loops, source[loop], 2 * weights[loop])
        used = ~loop & (weights > 0)
        offsets = starts_of(np.bincount(source[used], minlength=rows.n))
        degrees = loops.copy()
        np.add.at(degrees, source[used], weights[used])
        ones, settings = np.ones(rows.n, np.int64), self.settings
        self.units = Units.of(settings.cpm, settings.resolution, int(degrees.sum()), shift, rows.n)
        mass = ones if settings.cpm else degrees
        self.level = GraphLevel(offsets, target[used], weights[used], loops, mass, ones)
        self.rounds, self.finished = 0, True
        self.sizes: list[int] = []
        self.below: list[np.ndarray] = []

    def _salt(self) -> int:
        self.rounds += 1
        return (self.settings.seed * SEEDS + 2 * self.rounds) & (1 << 62) - 1

    def _go_on(self, active: int) -> bool:
        """Begin a round; return False at the round limit; collective."""
        ctx = self.ctx
        if ctx.max_rounds is not None and ctx.rounds >= ctx.max_rounds:
            self.finished = False
            return False
        ctx.rounds += 1
        boundary(ctx, f"the run was cancelled after round {ctx.rounds}; its answer is incomplete", ctx.rounds, active)
        return True

    def _iterate(self, labels: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the labels of the last iteration, and their quality; collective."""
        best, settings = self.level.quality(labels, self.units, self.team), self.settings
        number = 0
        while number != settings.iterations and self.finished:
            labels, quality = self._levels(labels)
            number += 1
            if quality <= best:
                break
            best = quality
        return labels, best

    def _parts(self, labels: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the intersections of communities with the vertices of coarse levels, the coarsest first, int32 (n,)."""
        levels, part = [np.arange(self.level.n, dtype=np.int32)], np.arange(self.level.n, dtype=np.int32)
        for groups in self.below:
            part = groups[part]
            levels.append(part)
        for i in range(1, self.settings.levels + 1):
            part = levels[max(len(levels) - i, 0)]
            yield _within(labels.astype(np.int64) * self.level.n + part)

    def _levels(self, labels: np.ndarray) -> tuple[np.ndarray, int]:
        """Move and contract until no level shrinks; return labels of level 0 and their quality; collective."""
        settings, level, units = self.settings, self.level, self.units
        below: list[np.ndarray] = []
        self.sizes = []
        while True:
            partition = Partition(level, labels)
            quality = move(partition, units, settings.most, self._salt, self._go_on, self.team)
            labels = partition.labels
            self.sizes.append(len(np.unique(labels)))
            parts = labels
            if settings.theta is not None:
                parts = refine(partition, units, settings.theta, self._salt(), self.team)
            coarse, groups = level.coarse(parts, self.team)
            if coarse.n == level.n or not self.finished:
                break
            below.append(groups)
            above = np.empty(coarse.n, np.int32)
            above[groups] = labels
            labels = _within(above) if settings.theta is not None else np.arange(coarse.n, dtype=np.int32)
            level = coarse
        if settings.theta is not None or not self.below:  # later searches of Louvain start from coarse communities
            self.below = below
        for groups in reversed(below):
            labels = labels[groups]
        return labels, quality


def _within(labels: np.ndarray) -> np.ndarray:
    """Return labels of a finer level as labels below their number: the number of each community."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def _shared_labels(rows: NumberedRows, start: np.ndarray, most: int) -> np.ndarray:
    """Return labels of masters, ≥ 0 or -1 if alone, as numbers of all vertices; collective.

    Vertices of a community of more than ``most`` start alone.
    """
    labels = np.empty(rows.n, np.int64)
    for place, values in zip(rows.places, rows.comm.allgatherv(start), strict=True):
        labels[place] = values
    _, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    alone = (labels < 0) | (sizes[groups] > most)
    return _within(np.where(alone, rows.n + np.arange(rows.n), groups))
