"""SearchSteps: the order of the steps of a search for communities, on the engine of a device.

Levels of moves and of contractions, with or without refinement, are repeated; then the polish moves, splits and joins
communities until none of these raises the quality. The engines (``host_engine.py``, ``gpu_engine.py``) give the same
labels. Entry: :meth:`SearchSteps.communities`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dgraph.algorithms.communities.algorithm_base import SearchSettings
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary

SEEDS = 1 << 20
"""Distance of the first salts of two seeds."""

LEAST_GAIN = 100_000
"""A level ends with the first round that gains at most 1/LEAST_GAIN of the quality's scale."""

LEAST_LEVEL = 1_000_000
"""Levels above the first end with the first one that gains at most 1/LEAST_LEVEL of that scale."""

SHARE, FOLLOWED = 30, 10
"""A round also ends a level if it gains at most 1/SHARE of its rounds' gains, 1/FOLLOWED if another search follows."""

FEW = 100
"""Vertices that gain, up to which the polish moves them one by one; of more, it adds so many to its list of these."""

FREE = 2
"""Searches of the polish whose moves are not balanced, in its first turn."""

USEFUL = 10
"""Balanced rounds end where they move less than 1/USEFUL of those that gain."""

PATIENCE, MANY = 4, 128
"""In level 0, bounds of rows of more than MANY arcs count 1/2^PATIENCE of the weight that neighbours have moved."""

LARGEST_SALT = (1 << 62) - 1


class SearchSteps:
    """Steps of one search.

    Args:
        ctx: the run.
        settings: parameters.
        engine: steps of a device.
        level: the graph.

    Attributes:
        levels: number of levels of the last iteration.
        finished: False if the round limit ended it.
    """

    def __init__(self, ctx: Context, settings: SearchSettings, engine: Any, level: Any):
        self.ctx, self.settings, self.engine, self.level = ctx, settings, engine, level
        self.rounds, self.levels, self.finished = 0, 0, True
        self.below: list[Any] = []

    def communities(self, labels: Any) -> tuple[Any, int, int]:
        """Return the communities of a search from ``labels``, their quality, and the moves of the polish; collective.

        Every label is the smallest vertex of its community.
        """
        number, gained = 0, 1
        while number != self.settings.iterations and self.finished and gained > 0:
            number += 1
            labels, gained = self._levels(labels, SHARE if number == self.settings.iterations else FOLLOWED)
        return self._polished(labels)

    def parts(self, labels: Any) -> Iterator[Any]:
        """Yield the connected pieces of communities within the vertices of coarse levels, the coarsest level first."""
        levels = [self.engine.alone(self.level.n)]
        for groups in self.below:
            levels.append(self.engine.through(groups, levels[-1]))
        for i in range(1, self.settings.levels + 1):
            yield self.engine.connected(self.level, labels, levels[max(len(levels) - i, 0)])

    def _salt(self) -> int:
        self.rounds += 1
        return (self.settings.seed * SEEDS + 2 * self.rounds) & LARGEST_SALT

    def _go_on(self, active: int) -> bool:
        """Begin a round; return False at the round limit; collective."""
        ctx = self.ctx
        if ctx.max_rounds is not None and ctx.rounds >= ctx.max_rounds:
            self.finished = False
            return False
        ctx.rounds += 1
        boundary(ctx, f"the run was cancelled after round {ctx.rounds}; its answer is incomplete", ctx.rounds, active)
        return True

    def _levels(self, labels: Any, share: int) -> tuple[Any, int]:
        """Move and contract until no level shrinks; return labels of level 0, and what was gained; collective."""
        engine, level, refines = self.engine, self.level, self.settings.theta is not None
        scale = engine.units.scale * engine.units.whole
        below: list[Any] = []
        self.levels, gained = 0, 0
        while True:
            partition = engine.partition(level, labels)
            patience = 0 if below else PATIENCE
            gain = engine.move(
                partition, self._salt, self._go_on, scale // LEAST_GAIN, share, patience=patience, many=MANY
            )
            gained, labels = gained + gain, partition.labels
            self.levels += 1
            if below and gain * LEAST_LEVEL <= scale:
                break
            parts = engine.refine(partition, self._salt()) if refines else labels
            coarse, groups = engine.coarse(level, parts, refines)
            if coarse.n == level.n or not self.finished:
                break
            below.append(groups)
            labels = (
                engine.within(engine.above(groups, labels, coarse.n), level.n) if refines else engine.alone(coarse.n)
            )
            level = coarse
        if refines or not self.below:  # later searches of Louvain start from coarse communities
            self.below = below
        for groups in reversed(below):
            labels = engine.through(labels, groups)
        return labels, gained

    def _polished(self, labels: Any) -> tuple[Any, int, int]:
        """Return labels that no move, split or join improves, their quality, and the number of moved vertices.

        Vertices move until none gains; then communities are split into their connected pieces, and pieces are joined.
        Each step raises the exact quality, so it ends, at the latest where no vertex moves after joins. The first turn
        leaves moves one by one to the next, as splits and joins change the masses that these depend on.
        """
        engine, level, moved, free, parts = self.engine, self.level, 0, FREE, None
        partition = self._to_polish(engine.copied(labels))
        while True:
            count, settled = self._settle(partition, free)
            if parts is not None and settled and not count:
                return labels, engine.quality(parts), moved
            pieces = engine.connected(level, partition.labels)
            parts, groups = engine.coarse(level, pieces)
            splits = parts.n - engine.count(partition.labels)
            labels, parts, joins = self._joined(parts, groups)
            moved, free = moved + count, 0
            if splits or joins:
                engine.take(partition, labels)
            elif settled:
                return labels, engine.quality(parts), moved

    def _to_polish(self, labels: Any) -> Any:
        """Return the labels of level 0 with their totals."""
        return self.engine.partition(self.level, labels)

    def _joined(self, parts: Any, groups: Any) -> tuple[Any, Any, int]:
        """Return labels of communities that gain by no join, a level with a vertex for each, and the number of joins.

        Joined pieces are split and joined again on the graph of the pieces, which is far smaller.

        Args:
            parts: level with a vertex for each connected piece.
            groups: the vertex of ``parts`` for each vertex.
        """
        engine, total = self.engine, 0
        while True:
            joined = engine.partition(parts, engine.alone(parts.n))
            joins, _ = self._settle(joined, 0)
            if not joins:
                break
            total += joins
            parts, above = engine.coarse(parts, engine.connected(parts, joined.labels))
            groups = engine.through(above, groups)
        firsts = engine.above(groups, engine.alone(self.level.n), parts.n)
        return engine.through(firsts, groups), parts, total

    def _settle(self, partition: Any, free: int) -> tuple[int, bool]:
        """Move single vertices until none gains; return the number of vertices that have moved, and True.

        Vertices that gain move in rounds while more than :data:`FEW` do, and then one by one. Where many gain little,
        by the masses of two communities, all of them would move to and fro: after ``free`` searches rounds are
        balanced. Where these move few, the gains of most are gone after the first moves one by one; with ``free``
        searches they are left out, and False is returned. Moves between two communities let vertices between others
        gain: so all that have been listed since the first search look again.
        """
        engine, rounds, searches, marks = self.engine, True, 0, None
        before = engine.copied(partition.labels)
        while count := (gaining := engine.gaining(partition))[1]:
            searches += 1
            if rounds and count > FEW:
                balanced, labels = searches > free, engine.copied(partition.labels)
                engine.move(partition, self._salt, lambda active: True, 0, SHARE, gaining[0], balanced)
                rounds = not balanced or engine.changes(labels, partition.labels) * USEFUL >= count
            elif free and not rounds:
                return engine.changes(before, partition.labels), False
            else:
                marks = engine.sweep(partition, gaining[0], FEW, marks)
        return engine.changes(before, partition.labels), True
