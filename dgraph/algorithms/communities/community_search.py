"""Search for communities on the threads of a rank.

Every rank has the rows of the whole graph in the order of original ids and takes the same steps, so the labels are
those of one rank. Entry: :meth:`CommunitySearch.solve`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.algorithms.communities.algorithm_base import SearchSettings
from dgraph.algorithms.communities.community_totals import UNLIMITED, Partition
from dgraph.algorithms.communities.graph_level import GraphLevel, add_degrees, starts_of
from dgraph.algorithms.communities.host_engine import HostEngine
from dgraph.algorithms.communities.search_steps import SearchSteps
from dgraph.algorithms.communities.units import Units, integer_weights
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import host_share, refuse_unless_fits
from dgraph.graph.halo import NumberedRows


@dataclass(frozen=True)
class Communities:
    """Answer of a search, equal on all ranks but for the columns.

    Attributes:
        labels: smallest original id of the community of each master.
        parts: smallest original id of the part of each master in each level below, the coarsest level first.
        count: number of communities.
        units, quality: see ``units.py``.
        polished: moves of single vertices in the polish.
        levels: number of levels of the last iteration.
        finished: False if the round limit ended it.
    """

    labels: Any
    parts: list[Any]
    count: int
    units: Units
    quality: int
    polished: int
    levels: int
    finished: bool


class HostSteps(SearchSteps):
    """Steps whose polish keeps the bounds of the last moves of level 0."""

    def _to_polish(self, labels: np.ndarray) -> Partition:
        partition: Partition = self.engine.first
        partition.take(labels)
        partition.drift[2:] = 1, np.inf
        return partition


class CommunitySearch(HostSolver):
    """Search on a team of threads."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the whole graph on a rank, of two levels, and of sums of its threads.

        An arc takes 60 while rows are sorted, and 12 in each of three levels; a vertex 240, and 12 a thread.
        """
        return 96 * size.m + (240 + 12 * size.threads) * size.n + 16 * size.masters

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
        need = self.bytes(RowSize(ctx.local.n, ctx.local.arcs, 0, 0, ctx.local.masters, self.team.size))
        refuse_unless_fits(ctx.comm, need, host_share(ctx.comm), lambda need, free: (
            f"{name} holds the whole graph on each rank, {need:,} bytes with its levels, and {free:,} bytes of a "
            "rank's host are free; start fewer ranks on a host or fewer threads, or use hosts with more memory"
        ))  # fmt: skip
        with ctx.record("prepare"):
            rows = ctx.rows("all", order="id", weights=True, simple=False)
            ctx.weighted |= rows.costs is not None
            level, engine, linked = self._begin(rows, settings)
            labels = engine.alone(level.n) if start is None else _shared_labels(rows, start, linked, settings.most)
        with ctx.record("compute"):
            steps = HostSteps(ctx, settings, engine, level)
            labels, quality, polished = steps.communities(labels)
            parts, columns = list(steps.parts(labels)), []
        for part in (labels, *parts):
            names = rows.ids.copy()
            names[linked] = rows.ids[linked[part]]
            columns.append(names[rows.places[ctx.comm.rank]])
        count = engine.count(labels) + rows.n - level.n
        return Communities(
            columns[0], columns[1:], count, engine.units, quality, polished, steps.levels, steps.finished
        )  # fmt: skip

    def _begin(self, rows: NumberedRows, settings: SearchSettings) -> tuple[GraphLevel, HostEngine, np.ndarray]:
        """Return level 0, the engine, and the vertices of the graph that level 0 has, ascending.

        These are the ones with arcs to others, as others stay alone; all of them if none has such arcs.
        """
        weights, shift = integer_weights(rows.costs, len(rows.targets))
        offsets, targets, ones = rows.offsets, rows.targets.astype(np.int32), np.ones(rows.n, np.int64)
        degrees, loops = np.empty(rows.n, np.int64), np.empty(rows.n, np.int64)
        if add_degrees(offsets, targets, weights, degrees, loops) < len(targets):
            used = (rows.sources != targets) & (weights > 0)
            offsets = starts_of(np.bincount(rows.sources[used], minlength=rows.n))
            targets, weights = targets[used], weights[used]
        units = Units.of(settings.cpm, settings.resolution, int(degrees.sum()), shift, rows.n)
        mass, linked, apart = ones if settings.cpm else degrees, np.diff(offsets) > 0, 0
        if linked.any() and not linked.all():
            apart = units.quality(int(loops[~linked].sum()), mass[~linked])
            targets = (np.cumsum(linked, dtype=np.int32) - 1)[targets]
            offsets, ones = np.append(offsets[:-1][linked], offsets[-1]), ones[linked]
            loops, mass = loops[linked], mass[linked]
        else:
            linked[:] = True
        level = GraphLevel(offsets, targets, weights.astype(units.kind(rows.n), copy=False), loops, mass, ones)
        most = UNLIMITED if settings.most >= rows.n else settings.most
        return level, HostEngine(units, most, settings.theta, self.team, apart), np.flatnonzero(linked)


def _shared_labels(rows: NumberedRows, start: np.ndarray, linked: np.ndarray, most: int) -> np.ndarray:
    """Return labels of masters, ≥ 0 or -1 if alone, as numbers of the ``linked`` vertices; collective."""
    labels = np.empty(rows.n, np.int64)
    for place, values in zip(rows.places, rows.comm.allgatherv(start), strict=True):
        labels[place] = values
    return first_labels(labels[linked], most)


def first_labels(labels: np.ndarray, most: int) -> np.ndarray:
    """Return labels ≥ 0, or -1 for vertices alone, as numbers below their number, int32.

    Vertices of a community of more than ``most`` start alone.
    """
    _, groups, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    alone = (labels < 0) | (sizes[groups] > most)
    wanted = np.where(alone, len(labels) + np.arange(len(labels)), groups)
    return np.unique(wanted, return_inverse=True)[1].astype(np.int32)
