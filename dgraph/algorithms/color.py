"""Vertex colouring by local maxima.   [Jones & Plassmann 1993; Che et al., "Graph Coloring on the GPU" (003)]"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.engine.rounds.driver import State
from dgraph.errors import UsageError
from dgraph.program import ADD, Field, Program, mixed, where
from dgraph.program.traversal import Traversal


class Coloring(Program):
    """Whoever has no neighbour left that is ahead of it takes the round's colour, and tells those that it is ahead of.

    003's rounds find the largest of each vertex's uncoloured neighbours anew; here ``left`` counts those ahead, once
    for all, and falls as they get their colours, so that an edge is looked at twice and the colours are the same.

    ``first`` is the colour of the first round. It ends when fewer than ``few`` got a colour, or after ``limit`` rounds.
    """

    first: int = 0
    few: int = 1
    limit: int = 2**62
    monotone = True

    color = Field("int32")
    left = Field("int64")
    told = Field("int64", reduce=ADD)

    def init(self, v, g):
        return {"color": -1, "left": 0, "active": True}

    def ahead(self, u, v):
        """Whether ``u`` takes its colour before ``v`` may."""
        raise UsageError(f"{type(self).__name__} has no ahead(self, u, v)")

    def cond(self, v, g):
        return v.color < 0

    def edge(self, u, e, v):
        return {"told": where(self.ahead(u, v), 1, 0)}

    def apply(self, v, g):
        """In the first round everybody tells, later those that got the last round's colour."""
        left = where(g.round == 0, v.told, v.left - v.told)
        free = (v.color < 0) & (left == 0)
        return {"left": left, "color": where(free, self.first + g.round, v.color), "active": free}

    def over(self, g):
        """Whether the last round was to be the last; ``g.active``: how many it coloured."""
        return (g.active < self.few) | (g.round >= self.limit)

    def step(self, g):
        return {"whole": False, "done": (g.active == 0) | self.over(g)}


class ByKey(Coloring):
    """The larger key goes first, a random number that no other vertex has."""

    random_state: int = 1

    key = Field("int64")

    def init(self, v, g):
        return super().init(v, g) | {"key": mixed(v.id, self.random_state)}

    def ahead(self, u, v):
        return u.key > v.key


class ByDegree(ByKey):
    """The larger degree goes first, the larger key between equal ones."""

    def ahead(self, u, v):
        return (u.out_degree > v.out_degree) | ((u.out_degree == v.out_degree) & super().ahead(u, v))


class Rest(ByKey):
    """Those that have no colour yet."""

    color = Field("int32", given=True)

    def init(self, v, g):
        return {"left": 0, "key": mixed(v.id, self.random_state), "active": v.color < 0}


class Tallest(Coloring):
    """Who has a neighbour left of its own degree is never coloured: 003's first phase."""

    def ahead(self, u, v):
        return (u.out_degree >= v.out_degree) & (u.id != v.id)


VARIANTS = {
    "jones-plassmann": Traversal("color --variant jones-plassmann", anywhere=True),
    "degree": Traversal("color --variant degree", anywhere=True),
    "hybrid": Traversal("color --variant hybrid", anywhere=True),
    "steal": Traversal("color --variant steal", "push", "steal"),
}
"""jones-plassmann: by random numbers. degree: by degrees, and random numbers between equal ones. hybrid: 003's two
phases, by degrees while those tell neighbours apart, then by random numbers. steal: the first, by queues of blocks."""

FEW = 1024
"""The first phase of ``hybrid`` ends when fewer than one vertex in so many got a colour."""


@algorithm(
    "color",
    Parameter("variant", str, "jones-plassmann", "who goes first; steal is for GPUs", choices=tuple(VARIANTS)),
    Parameter("switch_round", int, None, "hybrid: rounds by degree (default: while they colour 1 vertex in 1024)"),
    Parameter("random_state", int, 1, "seed of the random numbers"),
)
class Color(Algorithm):
    """Vertex colouring: neighbours have different colours, counted from 0. Loops are not heeded."""

    variant: str
    switch_round: int | Callable | None
    random_state: int
    undirected = True

    @property
    def traversal(self):
        return VARIANTS[self.variant]

    def check(self):
        if self.switch_round is not None and self.variant != "hybrid":
            raise UsageError(f"switch_round is about variant hybrid, and this one is {self.variant}; leave it out")
        if not -(2**63) <= self.random_state < 2**63:
            raise UsageError(f"random_state = {self.random_state} does not fit 64 bits; give another one")
        if isinstance(self.switch_round, int) and self.switch_round < 0:
            raise UsageError(f"switch_round = {self.switch_round} is no number of rounds; give 0 or more")

    def run(self, ctx):
        if self.variant != "hybrid" or self.switch_round == 0:
            kind = ByDegree if self.variant == "degree" else ByKey
            return self._answer(ctx, ctx.run(kind(random_state=self.random_state).with_traversal(self.traversal)))
        begun = ctx.run(self._tallest(ctx.local.n).with_traversal(self.traversal))
        if not begun.finished:
            return self._answer(ctx, begun)
        rest = Rest(first=self._largest(ctx, begun) + 1, random_state=self.random_state)
        return self._answer(ctx, ctx.run(rest.with_traversal(self.traversal), {"color": begun.raw("color")}))

    def _tallest(self, n: int) -> Program:
        """The first phase, which ends as it was asked to."""
        if self.switch_round is None:
            return Tallest(few=max(n // FEW, 1))
        if isinstance(self.switch_round, int):
            return Tallest(limit=self.switch_round)
        program = Tallest()
        program.__dict__["over"] = self.switch_round
        return program

    def _answer(self, ctx, state: State) -> Answer:
        limit = limited(state.finished, ctx.rounds)
        summary = {"colors": self._largest(ctx, state) + 1}
        return Answer({"color": lambda: state["color"].astype(np.int64)}, summary, state.finished, limit)

    @staticmethod
    def _largest(ctx, state: State) -> int:
        """The largest colour so far, -1 where there is none."""
        counted = state.counted("largest", "color")
        if counted is None:
            return ctx.largest(int(state["color"].max(initial=-1)))
        most, many = counted
        return ctx.largest(most if many else -1)
