"""Colouring in rounds of one colour each [Jones & Plassmann 1993; Che et al., "Graph Coloring on the GPU" (003)].

In each round, every uncoloured vertex without an uncoloured neighbour of higher priority takes the round's colour. The
paper searches the largest uncoloured neighbour anew in every round; here each vertex counts its neighbours of higher
priority once and decrements the count as they are coloured. An edge is then visited twice in the whole run, and the
colours are the same.
"""

from __future__ import annotations

from collections.abc import Callable

from dgraph.errors import UsageError
from dgraph.program import ADD, Field, Program, mixed, where

FEW = 1024
"""The first phase of ``hybrid`` ends after a round that colours fewer than one vertex in this many."""


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


def degree_phase(n: int, switch_round: int | Callable | None) -> Program:
    """Return the first phase of ``hybrid`` on ``n`` vertices, with the end that ``switch_round`` asks for."""
    if switch_round is None:
        return DegreePhase(few=max(n // FEW, 1))
    if isinstance(switch_round, int):
        return DegreePhase(limit=switch_round)
    program = DegreePhase()
    program.__dict__["over"] = switch_round
    return program
