"""Peeling by steps of several levels, which saves rounds on several GPUs.

:class:`Shells` finds the step that drops a vertex. :class:`ShellLevels` then peels the levels of all steps at the same
time, since a vertex of another step cannot change the level.
"""

from __future__ import annotations

from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
from dgraph.program import Field, Global, maximum, where
from dgraph.program.traversal import Traversal

STEP = 16
"""Levels of a step."""


class Shells(Peel):
    """Peel ``first + 1`` levels per step; the last level of a step is ``first + k``.

    Vertices without neighbours belong to no step and keep ``core`` 0.

    Attributes:
        core: at the end, the last level of the step that dropped the vertex.
        start: remaining degree when that step began.
    """

    kernel = "shells"

    start = Field("int32")
    k = Global("int64", init=1)

    def init(self, v, g):
        """Start from the degree; isolated vertices count as dropped."""
        isolated = v.out_degree == 0
        return {"core": v.out_degree, "start": v.out_degree, "dropped": where(isolated, 1, 0), "active": False}

    def lowest(self, v, g):
        """Return the first level of the step."""
        return g.k

    def apply(self, v, g):
        """Peel, and write ``start`` in the first round of a step."""
        begins = (g.fresh > 0) & (v.core >= self.lowest(v, g))
        return super().apply(v, g) | {"start": where(begins, v.core, v.start)}

    def next(self, g, bound):
        """Return the first level of the next step."""
        return maximum(g.k + 1, bound) + self.first


class ShellLevels(Peel):
    """Peel the levels of all steps of :class:`Shells` at the same time; only edges inside a step count.

    Attributes:
        core: given: the remaining degree when the vertex's step began.
        top: given: the last level of the vertex's step; k counts from its first level.
    """

    kernel = "shells"
    sparse = True

    core = Field("int32", given=True)
    top = Field("int32", given=True)

    def init(self, v, g):
        """Count isolated vertices as dropped."""
        return {"dropped": where(v.top == 0, 1, 0), "active": False}

    def zero(self, v):
        """Return the first level of the vertex's step."""
        return maximum(v.top - self.first, 1)

    def cond(self, v, g):
        """Accept all proposals: dropped vertices are sorted out by ``apply``."""
        return True

    def edge(self, u, e, v):
        """Count a dropped neighbour of the same step."""
        return {"lost": where(u.top == v.top, 1, 0)}


def by_shells(ctx: Context, dtype: str, traversal: Traversal) -> State:
    """Find all core numbers in fields of this dtype; collective."""
    within = ShellLevels(first=STEP - 1).retype(core=dtype, top=dtype).with_traversal(traversal)
    ctx.ahead(within)
    shells = ctx.run(Shells(first=STEP - 1).retype(core=dtype, start=dtype).with_traversal(traversal))
    if not shells.finished:
        return shells
    return ctx.run(within, {"core": shells.raw("start"), "top": shells.raw("core")})
