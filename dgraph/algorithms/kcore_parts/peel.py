"""Peeling: one level at a time [Batagelj & Zaversnik 2003; Dhulipala et al., SPAA 2017]."""

from __future__ import annotations

from dgraph.program import ADD, INF, MIN, Field, Global, Program, maximum, minimum, where


class Peel(Program):
    """Drop every vertex with at most k remaining neighbours until there is none, then raise k past empty levels.

    Attributes:
        first: number of neighbours at which a vertex is dropped when ``k`` is 0.
        single: True to stop after the first level.
        core: remaining degree; the core number once the vertex is dropped.
        lost: neighbours dropped in the last round.
        k: current level, above ``first``.
        fresh: 1 in the first round at this k, which visits all remaining vertices.
        dropped: vertices dropped so far.
        least: smallest remaining degree seen in the last round.
        bound: lower bound of the levels of remaining vertices; the next level may be empty, which costs one round.
    """

    first: int = 0
    single: bool = False
    monotone = True
    kernel = "cores"

    core = Field("int32")
    lost = Field("int64", reduce=ADD)
    k = Global("int64")
    fresh = Global("int64", init=1)
    dropped = Global("int64", reduce=ADD, keep=True)
    least = Global("int64", reduce=MIN)
    bound = Global("int64")

    def init(self, v, g):
        """Start from the degree."""
        return {"core": v.out_degree, "active": False}

    def zero(self, v):
        """Return the number of neighbours at which ``v`` is dropped when k is 0."""
        return self.first

    def level(self, v, g):
        """Return the number of neighbours at which ``v`` is dropped now."""
        return self.zero(v) + g.k

    def lowest(self, v, g):
        """Return the smallest ``core`` of a vertex that was not dropped before this k."""
        return self.level(v, g)

    def live(self, v, g):
        """Keep visiting vertices above the current level."""
        return v.core > self.level(v, g)

    def cond(self, v, g):
        """Count lost neighbours of remaining vertices only."""
        return v.core > self.level(v, g)

    def edge(self, u, e, v):
        """Count a dropped neighbour."""
        return {"lost": 1}

    def apply(self, v, g):
        """Subtract lost neighbours and drop the vertex at the current level."""
        level = self.level(v, g)
        left = where(self.single & (g.round == 0), True, v.core >= where(g.fresh > 0, self.lowest(v, g), level + 1))
        rest = maximum(v.core - v.lost, level)
        drop = left & (rest <= level)
        least = where(left & ~drop, rest - self.zero(v), INF)
        return {"core": where(left, rest, v.core), "active": drop, "dropped": drop, "least": least}

    def next(self, g, bound):
        """Return the k after this one."""
        return maximum(g.k + 1, bound)

    def step(self, g):
        """Raise k once a round drops no vertex; end when all are dropped."""
        empty = g.active == 0
        bound = where(g.fresh > 0, g.least, minimum(g.bound, g.least))
        return {
            "k": where(empty, self.next(g, bound), g.k),
            "bound": bound,
            "fresh": empty,
            "whole": empty,
            "done": (g.dropped >= g.n) | (self.single & empty),
        }
