"""Core numbers by peeling [Batagelj & Zaversnik 2003; Dhulipala et al., SPAA 2017: one k at a time].

:class:`Peel` is the method. ``shells`` saves rounds on several GPUs: :class:`Shells` peels several levels per step and
finds only the step that drops a vertex; :class:`ShellLevels` then peels the levels of all steps at the same time, since
a vertex of another step cannot change the level. ``estimates`` replaces peeling by falling h-index estimates.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.engine.rounds.return_state import State, as_int64
from dgraph.errors import UsageError
from dgraph.program import ADD, INF, MIN, Field, Global, Program, maximum, minimum, where
from dgraph.program.traversal import Traversal


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


class Estimate(Peel):
    """Core numbers by h-index estimates, which start from degrees and fall to the fixed point [Montresor et al. 2013].

    An estimate k stands once the vertex has k neighbours whose estimates are k or more.
    """

    kernel = "estimates"


PEELED = Traversal("kcore --variant peeling", on_cpu=True)
"""Traversal of peeling."""

VARIANTS = {
    "auto": PEELED,
    "peeling": PEELED,
    "shells": Traversal("kcore --variant shells", on_cpu=True),
    "estimates": Traversal("kcore --variant estimates"),
}
"""Variant → traversal strategy.

peeling: :class:`Peel`. shells: :class:`Shells`, then :class:`ShellLevels`. estimates: :class:`Estimate`. auto: shells
on several GPUs if degrees allow many levels, else peeling.
"""

STEP = 16
"""Levels of a step of ``shells``."""

HUB, MEAN = 64 * STEP, STEP
"""Largest degree and mean degree from which ``auto`` expects many steps."""


@algorithm(
    "kcore",
    Parameter("k", int, None, "find only the members of the k-core (default: every core number)"),
    Parameter(
        "variant", str, "auto", "method; shells and estimates are for several GPUs",
        choices=tuple(VARIANTS),
    ),
)  # fmt: skip
class KCore(Algorithm):
    """Core numbers of an undirected graph, or the members of one k-core.

    Columns: ``core_number``, or ``in_core`` (0 or 1) if ``k`` is given; int64.
    """

    variant: str
    k: int | None
    undirected = True

    @classmethod
    def on_gpus(cls, ranks):
        """Return the variant that "auto" may choose on ``ranks`` GPUs."""
        return {"variant": "shells"} if ranks > 1 else {}

    @property
    def traversal(self):
        """Traversal strategy of the variant."""
        return VARIANTS[self.variant]

    def check(self):
        """Refuse a negative k."""
        if self.k is not None and self.k < 0:
            raise UsageError(f"k = {self.k} is not a core number; give k ≥ 0, or leave k out for every core number")

    def run(self, ctx):
        """Find the core numbers by the chosen variant; collective."""
        largest = ctx.largest(ctx.local.largest_degree)
        dtype = "int64" if largest >= 2**31 else "int32"
        if self.k is None and self._chosen(ctx, largest) == "shells":
            return self._all(ctx, self._by_shells(ctx, dtype))
        kind = Estimate if self.variant == "estimates" else Peel
        program = kind(first=max((self.k or 0) - 1, 0), single=self.k is not None)
        state = ctx.run(program.retype(core=dtype).with_traversal(self.traversal))
        if self.k is None:
            return self._all(ctx, state)
        core = state["core"].astype(np.int64)
        inside = (core >= self.k) if self.k > 0 else np.ones(len(core), bool)
        summary = {"k": self.k, "members": ctx.total(int(inside.sum()))}
        limit = limited(state.finished, state.rounds)
        return Answer({"in_core": inside.astype(np.int64)}, summary, state.finished, limit)

    def _chosen(self, ctx, largest: int) -> str:
        """Return the variant that "auto" stands for.

        ``shells`` visits edges twice but takes fewer rounds, which are what costs between GPUs.
        """
        if self.variant != "auto":
            return self.variant
        if ctx.began:
            return "shells" if ctx.began == Shells.__name__ else "peeling"
        many = largest >= HUB and ctx.local.arcs >= MEAN * ctx.local.n
        if not (many and ctx.comm.size > 1 and ctx.backend.name == "cuda"):
            return "peeling"
        ctx.record.choose("variant", "shells", "several GPUs, and degrees that allow for many levels")
        return "shells"

    def _by_shells(self, ctx, dtype: str) -> State:
        within = ShellLevels(first=STEP - 1).retype(core=dtype, top=dtype).with_traversal(self.traversal)
        ctx.ahead(within)
        shells = ctx.run(Shells(first=STEP - 1).retype(core=dtype, start=dtype).with_traversal(self.traversal))
        if not shells.finished:
            return shells
        given = {"core": shells.raw("start"), "top": shells.raw("core")}
        return ctx.run(within, given)

    @staticmethod
    def _all(ctx, state: State) -> Answer:
        mine, size = state.counted("largest", "core") or _largest(state["core"])
        most = ctx.largest(mine)
        summary = {"largest_core": most, "largest_core_size": ctx.total(size if mine == most else 0)}
        limit = limited(state.finished, state.rounds)
        return Answer({"core_number": state.column("core", as_int64)}, summary, state.finished, limit)


def _largest(values: np.ndarray) -> tuple[int, int]:
    """Return the largest value, at least 0, and its number of occurrences."""
    most = int(values.max(initial=0))
    return most, int((values == most).sum())
