"""Programs of breadth-first search: levels, levels with predecessors, and predecessors below known levels.

:class:`Levels` searches in the direction that a round takes; :class:`Tree` and :class:`SmallestTree` find predecessors
too. :class:`Parents` and its kin are one round over levels that are there already. ``bfs.py`` chooses among them.
"""

from __future__ import annotations

import copy

import numpy as np

from dgraph.algorithms.base import OnePass
from dgraph.program import ADD, ALL, INF, MIN, Field, Global, Program, where
from dgraph.result.columns import UNREACHED


class Levels(Program):
    """Level-synchronous BFS. An edge proposes the round number, so messages carry the reached vertices and no values.

    Attributes:
        source: original id.
        limit: deepest level to visit.
    """

    source: int = 0
    limit: int = UNREACHED

    end_figure = "reached", "level"

    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        """Put the source on level 0."""
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here & (self.limit > 0)}

    def cond(self, v, g):
        """Accept one proposal per vertex."""
        return v.level == INF

    def edge(self, u, e, v, g):
        """Propose the level of this round."""
        return {"level": g.round + 1}

    def step(self, g):
        """End when no vertex was reached, or at the depth limit."""
        return {"done": (g.active == 0) | (g.round >= self.limit)}


class LevelsToTarget(Levels):
    """Level-synchronous BFS that ends with the level of a target.

    Attributes:
        target: original id.
        met: 1 in the round that reached the target.
    """

    target: int = 0

    met = Global("int64", reduce=ADD)

    def apply(self, v, g):
        """Activate the vertices of this round's level, and look for the target among them."""
        reached = v.level == g.round + 1
        return {"active": reached, "met": reached & (v.id == self.target)}

    def step(self, g):
        """End also when the target was reached."""
        return {"done": (g.active == 0) | (g.round >= self.limit) | (g.met > 0)}


class NearestLevels(Levels):
    """Level-synchronous BFS from several vertices: hops from the nearest of them.

    Attributes:
        start: given: True for a source.
    """

    start = Field("bool", given=True)

    def init(self, v, g):
        """Put the sources on level 0."""
        return {"level": where(v.start, 0, INF), "active": v.start & (self.limit > 0)}


class Tree(Levels):
    """Search in which a vertex keeps the original id of the vertex that reached it first, below :data:`NO_PARENT`.

    Attributes:
        parent: of the source and the unreached INF.
    """

    parent = Field("uint32", reduce=MIN)

    def edge(self, u, e, v, g):
        """Propose the level of this round with ``u`` as the parent."""
        return {"level": g.round + 1, "parent": u.id}


class SmallestTree(Tree):
    """Search in which a vertex keeps the smallest original id among those that reach it first.

    A pull over in-neighbours in ascending order stops at the first one in the frontier.
    """

    def cond(self, v, g):
        """Accept proposals of one round."""
        return (v.level == INF) | (v.level == g.round + 1)


class Hops(Program):
    """Label-correcting BFS for ranks that run local rounds between exchanges: a level may still fall.

    Attributes:
        source: original id.
        limit: deepest level to visit.
    """

    source: int = 0
    limit: int = UNREACHED
    directions = ("push",)
    local_rounds = True
    end_figure = "reached", "level"

    level = Field("int32", reduce=MIN)

    def init(self, v, g):
        """Put the source on level 0."""
        here = v.id == self.source
        return {"level": where(here, 0, INF), "active": here & (self.limit > 0)}

    def edge(self, u, e, v):
        """Propose the source's level plus one, up to the depth limit."""
        return {"level": where(u.level < self.limit, u.level + 1, INF)}


class CloserHops(Hops):
    """Label-correcting BFS from the levels of a graph to which edges were added.

    Attributes:
        touched: given: True if an added edge leaves the vertex.
    """

    local_rounds = False

    level = Field("int32", reduce=MIN, given=True)
    touched = Field("bool", given=True)

    def init(self, v, g):
        """Activate the reached sources of added edges."""
        return {"active": v.touched & (v.level < self.limit)}

    def priority(self, v):
        """Process vertices by level, so that few levels fall twice."""
        return v.level


class ParentSearch(OnePass):
    """Smallest original id among the in-neighbours one level up, in one round.

    Levels are read from ``hops``, an 8-bit copy, so that more of them fit the cache; levels above :data:`DEEPEST` need
    :meth:`deep`.

    Attributes:
        depth: field that edges read.
    """

    depth = "hops"

    level = Field("int32", given=True)
    hops = Field("uint8")
    parent = Field("int64", reduce=MIN)

    def deep(self) -> ParentSearch:
        """Return a copy that reads the levels themselves."""
        program = copy.copy(self)
        program.depth, program.fields = "level", {k: self.fields[k] for k in ("level", "parent")}
        return program

    def init(self, v, g):
        """Copy the level into ``hops``."""
        return {"hops": where(v.level == INF, INF, v.level)} if self.depth == "hops" else {}

    def edge(self, u, e, v):
        """Propose ``u`` if it is one level up."""
        return {"parent": where(getattr(u, self.depth) + 1 == getattr(v, self.depth), u.id, INF)}


class Parents(ParentSearch):
    """Pull variant: every vertex below level 1 scans its in-edges, up to the first valid parent if they are sorted.

    Attributes:
        source: original id, the parent of all vertices on level 1.
        settled: deepest level whose parents need no search.
    """

    source: int = 0
    settled = 1
    domain = ALL
    monotone = True

    def init(self, v, g):
        """Set the parent of vertices on level 1."""
        return super().init(v, g) | {"parent": where(v.level == self.settled, self.source, INF)}

    def cond(self, v, g):
        """Skip unreached vertices and those with a known parent."""
        return (getattr(v, self.depth) > self.settled) & (getattr(v, self.depth) != INF)


class ParentsBelowSources(Parents):
    """Pull variant after a search from several vertices: those on level 1 scan their in-edges, too.

    Attributes:
        source: parent of the sources: none.
    """

    source: int = UNREACHED
    settled = 0


class PushedParents(ParentSearch):
    """Push variant, for ranks without in-edges (CSC): every reached vertex proposes itself to its neighbours."""

    directions = ("push",)

    def init(self, v, g):
        """Activate the reached vertices."""
        return super().init(v, g) | {"active": v.level != INF}


class CloserParents(OnePass):
    """Parents after levels fell: a vertex whose level fell, or from which an added edge leads, proposes itself.

    A vertex with its former level keeps its parent unless a smaller id proposes itself. One whose level fell has only
    new valid parents: along a former edge from a vertex with its former level it would have had that level before.

    Attributes:
        moved: given: True if the vertex proposes itself.
        parent: given: the former parent; INF where there is none, or the level fell.
    """

    directions = ("push",)

    level = Field("int32", given=True)
    moved = Field("bool", given=True)
    parent = Field("int64", reduce=MIN, given=True)

    def init(self, v, g):
        """Activate the vertices that propose themselves."""
        return {"active": v.moved & (v.level != INF)}

    def edge(self, u, e, v):
        """Propose ``u`` if it is one level up."""
        return {"parent": where(u.level + 1 == v.level, u.id, INF)}


NO_PARENT = np.iinfo(np.uint32).max
"""Parent in :class:`Tree` where there is none."""

DEEPEST, MEAN = 253, 8
"""Deepest level that fits ``hops`` in 8 bits (255 is INF, so a level plus one must stay below), and the mean degree
from which a search is expected not to exceed it."""


def signed(column: np.ndarray) -> np.ndarray:
    """Return the column of predecessors of :class:`Tree`, with -1 for ``NO_PARENT``."""
    return np.where(column == NO_PARENT, -1, column.astype(np.int64))


def parents(ids: np.ndarray) -> np.ndarray:
    """Return a column of predecessors, with -1 for ``UNREACHED``."""
    column = np.multiply(ids == UNREACHED, -1 - UNREACHED, dtype=np.int64)  # faster than np.where, as in ``widened``
    column += ids
    return column
