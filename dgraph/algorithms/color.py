"""Vertex colouring by local maxima [Jones & Plassmann 1993; Che et al., "Graph Coloring on the GPU" (003)].

Vertices have a total priority order. In each round, every uncoloured vertex without an uncoloured neighbour of higher
priority takes the round's colour. Paper 003 searches the largest uncoloured neighbour anew in every round; here each
vertex counts its neighbours of higher priority once and decrements the count as they are coloured. An edge is then
visited twice in the whole run, and the colours are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm, limited
from dgraph.engine.rounds.return_state import State, as_int64
from dgraph.errors import UsageError
from dgraph.program import ADD, Field, Program, mixed, where
from dgraph.program.traversal import Traversal


class Coloring(Program):
    """Base of the colouring programs; subclasses define the priority order in :meth:`ahead`.

    Attributes:
        first: colour of the first round.
        few: the run ends after a round that colours fewer vertices than this.
        limit: the run ends after this many rounds.
        color: colour of the vertex; -1 without one.
        waiting: uncoloured neighbours of higher priority.
        notices: neighbours of higher priority, in the first round; later, those coloured in the last round.
    """

    first: int = 0
    few: int = 1
    limit: int = 2**62
    monotone = True

    color = Field("int32")
    waiting = Field("int64")
    notices = Field("int64", reduce=ADD)

    def init(self, v, g):
        """Activate all vertices, so that the first round counts neighbours of higher priority."""
        return {"color": -1, "waiting": 0, "active": True}

    def ahead(self, u, v):
        """Return the condition that ``u`` is coloured before ``v``."""
        raise UsageError(f"{type(self).__name__} has no ahead(self, u, v)")

    def cond(self, v, g):
        """Skip coloured vertices."""
        return v.color < 0

    def edge(self, u, e, v):
        """Notify neighbours of lower priority."""
        return {"notices": where(self.ahead(u, v), 1, 0)}

    def apply(self, v, g):
        """Colour the vertex if it waits for no neighbour; only newly coloured vertices notify in the next round."""
        waiting = where(g.round == 0, v.notices, v.waiting - v.notices)
        free = (v.color < 0) & (waiting == 0)
        return {"waiting": waiting, "color": where(free, self.first + g.round, v.color), "active": free}

    def over(self, g):
        """Return the condition that ends the run early; ``g.active`` vertices were coloured in the last round."""
        return (g.active < self.few) | (g.round >= self.limit)

    def step(self, g):
        """End when a round coloured no vertex, or early; the first ``apply`` visits all vertices."""
        return {"whole": False, "done": (g.active == 0) | self.over(g)}


class ByKey(Coloring):
    """Colour by random priorities: a larger ``key`` goes first. Keys are pairwise different.

    Attributes:
        random_state: seed of the keys.
    """

    random_state: int = 1

    key = Field("int64")

    def init(self, v, g):
        """Draw the key from the original id."""
        return super().init(v, g) | {"key": mixed(v.id, self.random_state)}

    def ahead(self, u, v):
        """Compare keys."""
        return u.key > v.key


class ByDegree(ByKey):
    """Colour by degree, larger first; ties are broken by keys."""

    def ahead(self, u, v):
        """Compare degrees, then keys."""
        return (u.out_degree > v.out_degree) | ((u.out_degree == v.out_degree) & super().ahead(u, v))


class KeyPhase(ByKey):
    """Second phase of ``hybrid``: colour the remaining vertices by random priorities."""

    color = Field("int32", given=True)

    def init(self, v, g):
        """Activate the uncoloured vertices."""
        return {"waiting": 0, "key": mixed(v.id, self.random_state), "active": v.color < 0}


class DegreePhase(Coloring):
    """First phase of ``hybrid``: colour by degree alone; a vertex waits for neighbours of equal degree, too."""

    def ahead(self, u, v):
        """Compare degrees; loops do not count."""
        return (u.out_degree >= v.out_degree) & (u.id != v.id)


VARIANTS = {
    "jones-plassmann": Traversal("color --variant jones-plassmann", on_cpu=True),
    "degree": Traversal("color --variant degree", on_cpu=True),
    "hybrid": Traversal("color --variant hybrid", on_cpu=True),
    "steal": Traversal("color --variant steal", "push", "steal"),
}
"""Variant → traversal strategy.

jones-plassmann: random priorities. degree: degrees, ties broken at random. hybrid: the two phases of paper 003, by
degrees first, then by random priorities. steal: jones-plassmann with work stealing between thread blocks.
"""

FEW = 1024
"""The first phase of ``hybrid`` ends after a round that colours fewer than one vertex in this many."""


@algorithm(
    "color",
    Parameter("variant", str, "jones-plassmann", "priority order; steal needs a GPU", choices=tuple(VARIANTS)),
    Parameter("switch_round", int, None, "hybrid: rounds by degree (default: while they colour 1 vertex in 1024)"),
    Parameter("random_state", int, 1, "seed of the random priorities"),
)
class Color(Algorithm):
    """Vertex colouring: neighbours have different colours, numbered from 0. Loops are ignored.

    Column: ``color`` (int64). ``switch_round`` may also be a function of ``g`` that returns the condition that ends the
    first phase; see :meth:`Coloring.over`.
    """

    variant: str
    switch_round: int | Callable | None
    random_state: int
    undirected = True

    @property
    def traversal(self):
        """Traversal strategy of the variant."""
        return VARIANTS[self.variant]

    def check(self):
        """Refuse a seed that does not fit 64 bits, and ``switch_round`` without hybrid or below 0."""
        if self.switch_round is not None and self.variant != "hybrid":
            raise UsageError(f"switch_round is for the variant hybrid, and this one is {self.variant}; leave it out")
        if not -(2**63) <= self.random_state < 2**63:
            raise UsageError(f"random_state = {self.random_state} does not fit 64 bits; give another one")
        if isinstance(self.switch_round, int) and self.switch_round < 0:
            raise UsageError(f"switch_round = {self.switch_round} is not a number of rounds; give 0 or more")

    def run(self, ctx):
        """Colour the graph in one phase, or in the two of ``hybrid``; collective."""
        if self.variant != "hybrid" or self.switch_round == 0:
            kind = ByDegree if self.variant == "degree" else ByKey
            return self._answer(ctx, ctx.run(kind(random_state=self.random_state).with_traversal(self.traversal)))
        partial = ctx.run(self._degree_phase(ctx.local.n).with_traversal(self.traversal))
        if not partial.finished:
            return self._answer(ctx, partial)
        rest = KeyPhase(first=self._largest(ctx, partial) + 1, random_state=self.random_state)
        return self._answer(ctx, ctx.run(rest.with_traversal(self.traversal), {"color": partial.raw("color")}))

    def _degree_phase(self, n: int) -> Program:
        """Return the first phase of ``hybrid`` with the end that ``switch_round`` asks for."""
        if self.switch_round is None:
            return DegreePhase(few=max(n // FEW, 1))
        if isinstance(self.switch_round, int):
            return DegreePhase(limit=self.switch_round)
        program = DegreePhase()
        program.__dict__["over"] = self.switch_round
        return program

    def _answer(self, ctx, state: State) -> Answer:
        limit = limited(state.finished, ctx.rounds)
        summary = {"colors": self._largest(ctx, state) + 1}
        return Answer({"color": state.column("color", as_int64)}, summary, state.finished, limit)

    @staticmethod
    def _largest(ctx, state: State) -> int:
        """Return the largest colour over all ranks, -1 if no vertex has one; collective."""
        counted = state.counted("largest", "color")
        if counted is None:
            return ctx.largest(int(state["color"].max(initial=-1)))
        most, many = counted
        return ctx.largest(most if many else -1)
