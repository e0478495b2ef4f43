"""Core numbers by peeling.   [Batagelj & Zaversnik 2003; Dhulipala et al., SPAA 2017: one k at a time]"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.errors import UsageError
from dgraph.program import ADD, INF, MIN, Field, Global, Program, maximum, minimum, where
from dgraph.program.way import Way


class Peel(Program):
    """Drop every vertex with at most k neighbours left, until none is; then k grows, past levels that nobody is at.

    ``core`` is what is left of a vertex's degree, and from the moment it is dropped its core number. No vertex that is
    left has a lower one than ``bound``; one that was dropped since may have had it.
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

    def live(self, v, g):
        return v.core > self.first + g.k

    def cond(self, v, g):
        return v.core > self.first + g.k

    def edge(self, u, e, v):
        return {"lost": 1}

    def apply(self, v, g):
        """``fresh``: the first round at this k, which looks at every vertex that is left."""
        k = self.first + g.k
        left = where(self.single & (g.round == 0), True, v.core > k - g.fresh)
        rest = maximum(v.core - v.lost, k)
        drop = left & (rest <= k)
        least = where(left & ~drop, rest, INF)
        return {"core": where(left, rest, v.core), "active": drop, "dropped": drop, "least": least}

    def step(self, g):
        quiet = g.active == 0
        bound = where(g.fresh > 0, g.least, minimum(g.bound, g.least))
        return {
            "k": where(quiet, maximum(g.k + 1, bound - self.first), g.k),
            "bound": bound,
            "fresh": quiet,
            "whole": quiet,
            "done": (g.dropped >= g.n) | (self.single & quiet),
        }


class Estimate(Peel):
    """The same by another way: estimates that begin with degrees, and fall until each has as many neighbours of as high
    a one as it says."""

    kernel = "estimates"


VARIANTS = {"peeling": Way("kcore --variant peeling", anywhere=True), "estimates": Way("kcore --variant estimates")}
"""peeling: what has few neighbours left is dropped, level by level. estimates: Montresor et al. 2013."""


@algorithm(
    "kcore",
    Parameter("k", int, None, "only find the k-core of this k (default: every core number)"),
    Parameter(
        "variant", str, "peeling", "how; estimates that fall are for several GPUs",
        choices=tuple(VARIANTS),
    ),
)  # fmt: skip
class KCore(Algorithm):
    """Core numbers of an undirected graph, or the members of one k-core."""

    undirected = True

    @property
    def way(self):
        return VARIANTS[self.variant]

    def check(self):
        if self.k is not None and self.k < 0:
            raise UsageError(f"k = {self.k} names no core; give k ≥ 0, or none for every core number")

    def run(self, ctx):
        first = 0 if self.k is None else max(self.k - 1, 0)
        kind = Estimate if self.variant == "estimates" else Peel
        program = kind(first=first, single=self.k is not None).walked(self.way)
        if ctx.largest(ctx.local.largest_degree) >= 2**31:
            program = program.retype(core="int64")
        state = ctx.run(program)
        limit = limited(state.finished, state.rounds)
        if self.k is None:
            mine, size = state.counted("largest", "core") or _largest(state["core"])
            most = ctx.largest(mine)
            summary = {"largest_core": most, "largest_core_size": ctx.total(size if mine == most else 0)}
            return Answer({"core_number": lambda: state["core"].astype(np.int64)}, summary, state.finished, limit)
        core = state["core"].astype(np.int64)
        inside = (core >= self.k) if self.k > 0 else np.ones(len(core), bool)
        summary = {"k": self.k, "members": ctx.total(int(inside.sum()))}
        return Answer({"in_core": inside.astype(np.int64)}, summary, state.finished, limit)


def _largest(values: np.ndarray) -> tuple[int, int]:
    """The largest value, 0 or more, and how many have it."""
    most = int(values.max(initial=0))
    return most, int((values == most).sum())
