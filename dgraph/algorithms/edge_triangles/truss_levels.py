"""Levels of a truss decomposition: over ranks in rounds of exchanges, or on one rank in compiled rounds.

Both peel the same edges in the same rounds. First runs on small graphs take those of ranks, which compile for half as
long. Of several ranks each peels a small graph alone, which takes less time than the exchanges.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.edge_triangles.edge_kernels import EdgeTriangles
from dgraph.algorithms.edge_triangles.edge_states import ALIVE, LEAVING
from dgraph.algorithms.edge_triangles.whole_peel import NONE, suits
from dgraph.backend.cpu.threads.plain_kernels import MOST
from dgraph.backend.row_solver import RowSize
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.record import Record
from dgraph.errors import Cancelled
from dgraph.graph.halo import DegreeRows
from dgraph.graph.halo.numbered_rows import whole_graph_of
from dgraph.result.edge_values import EdgeValues

AT_ONCE = 64
"""Rounds of one compiled call, after which a cancelled run stops."""

SMALL = MOST
"""Arcs and vertices of a graph up to which each of several ranks peels all of it: array rounds answer first runs."""


class Trusses(EdgeTriangles):
    """Truss decomposition on a team of threads."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes: 20 more an arc, since the ends, level and order of edges stand twice as they are sorted."""
        return EdgeTriangles.bytes(size) + 20 * size.arcs

    def solve(self, ctx: Context) -> LevelsOnReplicas | LevelsOverRanks | WholeLevels:
        """Return the levels for this number of ranks, none of them peeled; collective."""
        if ctx.comm.size > 1 and max(ctx.local.n, ctx.local.arcs) <= SMALL:
            return LevelsOnReplicas(ctx, self)
        return self.on_parts(ctx)

    def on_parts(self, ctx: Context) -> LevelsOverRanks | WholeLevels:
        """Return the levels of the ranks' parts, or of one rank's whole graph; collective."""
        full = ctx.rows("ghosts", "degree")
        whole = ctx.comm.size == 1 and suits(len(full.targets))
        return (WholeLevels if whole else LevelsOverRanks)(ctx, full, self)


class TrussLevels:
    """Base of both kinds of levels.

    Attributes:
        most: int64, by number of a vertex: last level at which an edge left it, -2 without edges.
        edges: over all ranks, edges that were left when the last level began.
        floor: lower bound of the trussness less 2 of the edges that are left.
    """

    def __init__(self, ctx: Context, full: DegreeRows):
        self.ctx, self.full, self.edges, self.floor = ctx, full, 0, 0
        self.most = np.where(np.diff(full.offsets) > 0, 0, -2)

    def stopped(self) -> bool:
        """Return True if the round limit is reached; collective.

        Raises:
            Cancelled: a rank was asked to stop.
        """
        ctx = self.ctx
        if ctx.total(int(ctx.progress.cancelled())):
            raise Cancelled(f"the run was cancelled after round {ctx.rounds}; its answer is incomplete")
        return ctx.max_rounds is not None and ctx.rounds >= ctx.max_rounds

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of both ends of each edge, shape (edges, 2), and the level at which it left or may."""
        raise NotImplementedError

    def edges_within(self, k: int) -> EdgeValues:
        """Return the trussness of the edges in the k-truss, at most that of the last level; collective."""
        return _in_order(self.ctx, *self.pairs_within(k))

    def pairs_within(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the original ids of both ends of this rank's edges in the k-truss, and their trussness; collective."""
        full = self.full
        ids = np.empty(full.slots, np.int64)
        ids[full.place] = self.ctx.local.original[: full.masters]
        ghosts, (originals,) = full.exchange(np.ones(full.slots, np.bool_), ids)
        ids[ghosts] = originals
        ends, level = self.levels()
        inside = level >= k - 2
        return ids[ends[inside]], level[inside].astype(np.int64) + 2


def _in_order(ctx: Context, ends: np.ndarray, truss: np.ndarray) -> EdgeValues:
    """Return the edges of all ranks with their trussness; collective."""
    threads = ctx.backend.host_threads
    return EdgeValues.in_order(ends, truss, "truss", ctx.comm, names=ctx.names, threads=threads, alone=False)


class WholeLevels(TrussLevels):
    """Levels on one rank by ``whole_peel.py``."""

    def __init__(self, ctx: Context, full, kernel):
        super().__init__(ctx, full)
        self.edges_here = kernel.peel(full)

    def to_the_end(self) -> bool:
        """Peel all levels; False if the round limit ended it."""
        level = self.edges_here.least(-1)
        while level < NONE:
            self.edges = self.left()
            if not self.peel(level):
                return False
            level = self.edges_here.least(level)
        return True

    def through(self, level: int) -> bool:
        """Peel the edges with up to ``level`` triangles; False if the round limit ended it."""
        self.floor = max(level, 0)
        if level >= 0:
            np.maximum(self.edges_here.support, level, out=self.edges_here.support)
            if not self.peel(level):
                return False
        self.floor = level + 1
        return True

    def peel(self, level: int) -> bool:
        """Run the rounds of a level; False if the round limit ended it."""
        ctx, ended, self.floor = self.ctx, False, level
        while not ended:
            if self.stopped():
                return False
            left = self.left()
            rounds = AT_ONCE if ctx.max_rounds is None else min(ctx.max_rounds - ctx.rounds, AT_ONCE)
            used, ended = self.edges_here.peel(level, rounds)
            ctx.rounds += used
            ctx.progress.round(ctx.rounds, 0, left - self.left(), "push")
        return True

    def left(self) -> int:
        """Return the number of edges that are left."""
        return self.edges_here.left

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of both ends of each edge, shape (edges, 2), and the level at which it left or may."""
        peel = self.edges_here
        return peel.ends.reshape(-1, 2), np.where(peel.state == 0, self.floor, peel.support)

    def truss(self) -> np.ndarray:
        """Return the largest level plus 2 of an edge at each master."""
        ends, level = self.levels()
        for numbers in ends.T:
            np.maximum.at(self.most, numbers, level)
        return self.most[self.full.place] + 2


class LevelsOverRanks(TrussLevels):
    """Edges by entries of their higher ends; those that leave are sent to the owners of both ends."""

    def __init__(self, ctx: Context, full, kernel):
        super().__init__(ctx, full)
        self.kernel, self.support = kernel, kernel.supports(full)
        self.left_at: list[tuple[np.ndarray, np.ndarray, int]] = []
        full.values[:] = ALIVE

    def to_the_end(self) -> bool:
        """Peel all levels; False if the round limit ended it; collective."""
        full = self.full
        while left := self.left():
            self.edges = left
            kept = full.values == ALIVE
            if 2 * np.count_nonzero(kept) < len(kept):
                full.keep(kept)
                self.support = self.support[kept]
                kept = kept[kept]
            least = int(self.support[kept & full.lower].min(initial=LEAVING))
            if not self.through(int(self.ctx.comm.allreduce(np.array([least]), "min")[0])):
                return False
        return True

    def through(self, level: int) -> bool:
        """Peel the edges with up to ``level`` triangles; False if the round limit ended it; collective."""
        full, ctx, self.floor = self.full, self.ctx, max(level, 0)
        leaving = np.flatnonzero(full.lower & (full.values == ALIVE) & (self.support <= level))
        while ctx.total(len(leaving)):
            if self.stopped():
                return False
            leaving = self._left_by(leaving, level)
        self.floor = level + 1
        return True

    def _left_by(self, leaving: np.ndarray, level: int) -> np.ndarray:
        """Let edges leave, and return those that have no more triangles than the level now; collective."""
        full, ctx = self.full, self.ctx
        full.values[leaving] = LEAVING
        self.left_at.append((full.sources[leaving], full.targets[leaving], level))
        other_ends = full.copy_to_reverse(leaving)
        losing, losses = full.to_owners(*self.kernel.destroyed(full, leaving))
        np.subtract.at(self.support, losing, losses.astype(np.int32))
        for ends in (leaving, other_ends):
            full.values[ends] = 0
            self.most[full.sources[ends]] = level
        ctx.rounds += 1
        ctx.progress.round(ctx.rounds, 0, len(leaving), "push")
        return np.unique(losing[(full.values[losing] == ALIVE) & (self.support[losing] <= level)])

    def left(self) -> int:
        """Return the number of edges that are left over all ranks; collective."""
        return self.ctx.total(int(np.count_nonzero(self.full.values == ALIVE))) // 2

    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of both ends of each edge, shape (edges, 2), and the level at which it left or may."""
        full = self.full
        alive = full.lower & (full.values == ALIVE)
        parts = [*self.left_at, (full.sources[alive], full.targets[alive], self.floor)]
        ends = [np.concatenate([part[side] for part in parts]) for side in (0, 1)]
        return np.stack(ends, axis=1), np.repeat([level for *_, level in parts], [len(part[0]) for part in parts])

    def truss(self) -> np.ndarray:
        """Return the largest level plus 2 of an edge at each master."""
        most = self.most.copy()
        most[self.full.sources[self.full.values == ALIVE]] = self.floor
        return most[self.full.place] + 2


class LevelsOnReplicas:
    """Levels of a graph that each rank peels alone, of which it returns its vertices and a share of the edges."""

    def __init__(self, ctx: Context, kernel: Trusses):
        self.ctx, comm, whole = ctx, SerialComm(), whole_graph_of(ctx.local, ctx.comm)
        self.alone = Context(whole, comm, ctx.backend, Record(comm), ctx.progress, max_rounds=ctx.max_rounds)
        with ctx.comm.together():
            self.whole = kernel.on_parts(self.alone)

    @property
    def edges(self) -> int:
        """Edges that were left when the last level began."""
        return self.whole.edges

    def to_the_end(self) -> bool:
        """Peel all levels; False if the round limit ended it; collective."""
        with self.ctx.comm.together():
            finished = self.whole.to_the_end()
        self.ctx.rounds = self.alone.rounds
        return finished

    def through(self, level: int) -> bool:
        """Peel the edges with up to ``level`` triangles; False if the round limit ended it; collective."""
        with self.ctx.comm.together():
            finished = self.whole.through(level)
        self.ctx.rounds = self.alone.rounds
        return finished

    def left(self) -> int:
        """Return the number of edges that are left."""
        return self.whole.left()

    def truss(self) -> np.ndarray:
        """Return the largest level plus 2 of an edge at each master."""
        return self.whole.truss()[self.ctx.local.gids[: self.ctx.local.masters]]

    def edges_within(self, k: int) -> EdgeValues:
        """Return the trussness of the edges in the k-truss, at most that of the last level; collective."""
        share = slice(self.ctx.comm.rank, None, self.ctx.comm.size)
        return _in_order(self.ctx, *(part[share] for part in self.whole.pairs_within(k)))
