"""Search trees of any valid predecessors, found with the levels in one program on one GPU.

A vertex keeps the proposal that reached it first. In a level-synchronous search that is a valid predecessor, so no pass
over edges follows the search; which of several it is depends on the order of threads. ``bfs --predecessors any`` and
``python -m dgraph graph500`` use it.
"""

from __future__ import annotations

import numpy as np

from dgraph.engine.rounds.context import Context
from dgraph.program import INF, MIN, Field, Global, Program, where
from dgraph.result.columns import UNREACHED

LEVEL = 1 << 32
"""One level in :class:`FirstParents`; original ids are smaller."""


class FirstParents(Program):
    """Level-synchronous BFS in which a vertex keeps the level and the id of the vertex that reached it first.

    Attributes:
        source: original id.
        limit: deepest level to visit.
        tree: LEVEL times the level, plus the parent's original id; for the source, its own id.
        base: LEVEL times the level of this round's proposals.
    """

    source: int = 0
    limit: int = UNREACHED

    tree = Field("int64", reduce=MIN)
    base = Global("int64", init=LEVEL)

    def init(self, v, g):
        """Put the source on level 0."""
        here = v.id == self.source
        return {"tree": where(here, v.id, INF), "active": here & (self.limit > 0)}

    def cond(self, v, g):
        """Accept one proposal per vertex."""
        return v.tree == INF

    def edge(self, u, e, v, g):
        """Propose the level of this round with ``u`` as the parent."""
        return {"tree": g.base + u.id}

    def step(self, g):
        """Count the level; end when no vertex was reached, or at the depth limit."""
        return {"base": g.base + LEVEL, "done": (g.active == 0) | (g.round >= self.limit)}


class FirstParentsOnly(Program):
    """Search without levels, in 32 bits: a vertex keeps the original id of the vertex that reached it first.

    Attributes:
        source: original id, its own parent.
        parent: the largest uint32 for an unreached vertex, which is -1 as an int32.
    """

    source: int = 0

    parent = Field("uint32", reduce=MIN)

    def init(self, v, g):
        """Make the source its own parent."""
        here = v.id == self.source
        return {"parent": where(here, v.id, INF), "active": here}

    def cond(self, v, g):
        """Accept one proposal per vertex."""
        return v.parent == INF

    def edge(self, u, e, v):
        """Propose ``u``."""
        return {"parent": u.id}


def first_found(ctx: Context) -> bool:
    """Return True if these programs may run: on one GPU, whose vertices keep one proposal, with ids below LEVEL."""
    return ctx.comm.size == 1 and ctx.few_rounds and ctx.local.largest_id < LEVEL - 1


def tree_levels(tree: np.ndarray) -> np.ndarray:
    """Return the column of levels of :class:`FirstParents`."""
    return np.where(tree == UNREACHED, tree, tree >> 32)


def tree_parents(tree: np.ndarray) -> np.ndarray:
    """Return the column of predecessors of :class:`FirstParents`, with -1 for the source and the unreached."""
    return np.where((tree == UNREACHED) | (tree < LEVEL), -1, tree & (LEVEL - 1))
