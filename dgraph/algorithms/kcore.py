"""Core numbers by peeling.   [Batagelj & Zaversnik 2003; Dhulipala et al., SPAA 2017: one k at a time]"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.engine.rounds.driver import State
from dgraph.errors import UsageError
from dgraph.program import ADD, INF, MIN, Field, Global, Program, maximum, minimum, where
from dgraph.program.traversal import Traversal


class Peel(Program):
    """Drop every vertex with at most k neighbours left, until none is; then k grows, past levels that nobody is at.

    ``core`` is what is left of a vertex's degree, and from the moment it is dropped its core number. No vertex that is
    left is at a lower k than ``bound``; one that was dropped since may have been.
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
        return {"core": v.out_degree, "active": False}

    def zero(self, v):
        """The number of neighbours at which ``v`` is dropped when k is 0."""
        return self.first

    def level(self, v, g):
        """The number of neighbours at which ``v`` is dropped now."""
        return self.zero(v) + g.k

    def lowest(self, v, g):
        """Who has fewer neighbours left was dropped before this k."""
        return self.level(v, g)

    def live(self, v, g):
        return v.core > self.level(v, g)

    def cond(self, v, g):
        return v.core > self.level(v, g)

    def edge(self, u, e, v):
        return {"lost": 1}

    def apply(self, v, g):
        """``fresh``: the first round at this k, which looks at every vertex that is left."""
        level = self.level(v, g)
        left = where(self.single & (g.round == 0), True, v.core >= where(g.fresh > 0, self.lowest(v, g), level + 1))
        rest = maximum(v.core - v.lost, level)
        drop = left & (rest <= level)
        least = where(left & ~drop, rest - self.zero(v), INF)
        return {"core": where(left, rest, v.core), "active": drop, "dropped": drop, "least": least}

    def next(self, g, bound):
        """The k after this one."""
        return maximum(g.k + 1, bound)

    def step(self, g):
        quiet = g.active == 0
        bound = where(g.fresh > 0, g.least, minimum(g.bound, g.least))
        return {
            "k": where(quiet, self.next(g, bound), g.k),
            "bound": bound,
            "fresh": quiet,
            "whole": quiet,
            "done": (g.dropped >= g.n) | (self.single & quiet),
        }


class Shells(Peel):
    """The same by steps of ``first + 1`` levels at once, the last of which is ``first + k``: ``core`` comes to the last
    level of the step that drops a vertex, ``start`` to how many neighbours it had left when that step began.

    Vertices without neighbours are in no step, and keep ``core`` 0.
    """

    kernel = "shells"

    start = Field("int32")
    k = Global("int64", init=1)

    def init(self, v, g):
        alone = v.out_degree == 0
        return {"core": v.out_degree, "start": v.out_degree, "dropped": where(alone, 1, 0), "active": False}

    def lowest(self, v, g):
        return g.k

    def apply(self, v, g):
        """``start`` is written in the first round of a step."""
        begins = (g.fresh > 0) & (v.core >= self.lowest(v, g))
        return super().apply(v, g) | {"start": where(begins, v.core, v.start)}

    def next(self, g, bound):
        return maximum(g.k + 1, bound) + self.first


class Within(Peel):
    """The levels of every step of :class:`Shells`, all steps side by side: whoever another step drops has no say.

    ``top`` is the last level of a vertex's step; in it, k counts from the first.
    """

    kernel = "shells"
    sparse = True

    core = Field("int32", given=True)
    top = Field("int32", given=True)

    def init(self, v, g):
        return {"dropped": where(v.top == 0, 1, 0), "active": False}

    def zero(self, v):
        return maximum(v.top - self.first, 1)

    def cond(self, v, g):
        return True

    def edge(self, u, e, v):
        return {"lost": where(u.top == v.top, 1, 0)}


class Estimate(Peel):
    """The same by another way: estimates that begin with degrees, and fall until each has as many neighbours of as high
    a one as it says."""

    kernel = "estimates"


PEELED = Traversal("kcore --variant peeling", anywhere=True)
VARIANTS = {
    "auto": PEELED,
    "peeling": PEELED,
    "shells": Traversal("kcore --variant shells", anywhere=True),
    "estimates": Traversal("kcore --variant estimates"),
}
"""peeling: what has few neighbours left is dropped, level by level. shells: by steps of levels, then the levels of all
steps side by side. estimates: Montresor et al. 2013. auto: shells on several GPUs, where there may be many levels."""

STEP = 16
"""Levels of a step of ``shells``."""

HUB, MEAN = 64 * STEP, STEP
"""The largest degree, and the mean one, from which core numbers may come to many steps."""


@algorithm(
    "kcore",
    Parameter("k", int, None, "only find the k-core of this k (default: every core number)"),
    Parameter(
        "variant", str, "auto", "how; shells and estimates are for several GPUs",
        choices=tuple(VARIANTS),
    ),
)  # fmt: skip
class KCore(Algorithm):
    """Core numbers of an undirected graph, or the members of one k-core."""

    variant: str
    k: int | None
    undirected = True

    @classmethod
    def on_gpus(cls, ranks):
        return {"variant": "shells"} if ranks > 1 else {}

    @property
    def traversal(self):
        return VARIANTS[self.variant]

    def check(self):
        if self.k is not None and self.k < 0:
            raise UsageError(f"k = {self.k} names no core; give k ≥ 0, or none for every core number")

    def run(self, ctx):
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
        """What "auto" comes to. Between GPUs a round costs more than an edge that is looked at twice."""
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
        within = Within(first=STEP - 1).retype(core=dtype, top=dtype).with_traversal(self.traversal)
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
        return Answer({"core_number": lambda: state["core"].astype(np.int64)}, summary, state.finished, limit)


def _largest(values: np.ndarray) -> tuple[int, int]:
    """The largest value, 0 or more, and how many have it."""
    most = int(values.max(initial=0))
    return most, int((values == most).sum())
