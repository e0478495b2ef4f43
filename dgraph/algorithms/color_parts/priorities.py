"""Colouring in rounds of one colour each [Jones & Plassmann 1993; Che et al., "Graph Coloring on the GPU" (003)].

In each round, every uncoloured vertex without an uncoloured neighbour of higher priority takes the round's colour.
:class:`EachRound` finds those vertices as the paper prints it: the row of every uncoloured vertex is scanned in every
round (Algorithms 1 and 3). :class:`OnceCounted` counts each vertex's neighbours of higher priority once and decrements
the count as they are coloured: an edge is visited twice in the whole run, and the colours are the same.

The paper keeps the largest value of a row and compares; here a row counts its larger values, and a vertex is coloured
at a count of 0. The condition is the same, the count is also defined for pairs (degree, key), and sums start anew in
each round on mirrors, too.
"""

from __future__ import annotations

from collections.abc import Callable

from dgraph.errors import UsageError
from dgraph.program import ADD, Field, Global, Program, mixed, where

FEW = 1024
"""The first phase of ``hybrid`` that counts once ends after a round that colours fewer than one vertex in this many."""

ONCE, EACH = "once", "each"


class Coloring(Program):
    """Base of the colouring programs; subclasses define the priority order in :meth:`ahead`.

    Attributes:
        first: colour of the first round.
        few: the run ends after a round that colours fewer vertices than this.
        limit: the run ends after this many rounds.
        color: colour of the vertex; -1 without one.
        notices: proposals of neighbours of higher priority in this round.
    """

    first: int = 0
    few: int = 1
    limit: int = 2**62
    monotone = True

    color = Field("int32")
    notices = Field("int64", reduce=ADD)

    def init(self, v, g):
        """Activate all vertices, so that the first round counts neighbours of higher priority."""
        return {"color": -1, "active": True}

    def ahead(self, u, v):
        """Return the condition that ``u`` is coloured before ``v``."""
        raise UsageError(f"{type(self).__name__} has no ahead(self, u, v)")

    def cond(self, v, g):
        """Skip coloured vertices."""
        return v.color < 0

    def edge(self, u, e, v):
        """Notify neighbours of lower priority."""
        return {"notices": where(self.ahead(u, v), 1, 0)}


class OnceCounted(Coloring):
    """Coloring whose first round alone scans all rows; later, only newly coloured vertices notify.

    Attributes:
        waiting: uncoloured neighbours of higher priority.
    """

    waiting = Field("int64")

    def init(self, v, g):
        """Wait for no neighbour yet."""
        return super().init(v, g) | {"waiting": 0}

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


class EachRound(Coloring):
    """Coloring whose every round scans the rows of all uncoloured vertices [003, Algorithms 1 and 3].

    Attributes:
        colored: vertices coloured in the last round.
        colored_in_all: vertices coloured in this run.
    """

    colored = Global("int64", reduce=ADD)
    colored_in_all = Global("int64", reduce=ADD, keep=True)

    def apply(self, v, g):
        """Colour the vertex if no uncoloured neighbour precedes it, else scan its row again in the next round."""
        uncolored = v.color < 0
        free = uncolored & (v.notices == 0)
        color = where(free, self.first + g.round, v.color)
        one = where(free, 1, 0)
        return {"color": color, "active": uncolored & ~free, "colored": one, "colored_in_all": one}

    def live(self, v, g):
        """Visit uncoloured vertices alone."""
        return v.color < 0

    def over(self, g):
        """Return the condition that ends the run early."""
        return (g.colored < self.few) | (g.round >= self.limit)

    def step(self, g):
        """End when all vertices are coloured, or early; ``apply`` visits all vertices that :meth:`live` leaves."""
        return {"whole": True, "done": (g.active == 0) | self.over(g)}


class KeyOrder(Coloring):
    """Priority order: a larger random ``key`` goes first. Keys are pairwise different.

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


class DegreeOrder(KeyOrder):
    """Priority order: a larger degree goes first; ties are broken by keys."""

    def ahead(self, u, v):
        """Compare degrees, then keys."""
        return (u.out_degree > v.out_degree) | ((u.out_degree == v.out_degree) & super().ahead(u, v))


class Remaining(KeyOrder):
    """Second phase of ``hybrid``: colour the remaining vertices by random priorities."""

    color = Field("int32", given=True)

    def init(self, v, g):
        """Activate the uncoloured vertices."""
        initial = super().init(v, g) | {"active": v.color < 0}
        del initial["color"]
        return initial


class DegreeAloneOrder(Coloring):
    """First phase of ``hybrid``: colour by degree alone; a vertex waits for neighbours of equal degree, too."""

    def ahead(self, u, v):
        """Compare degrees; loops do not count."""
        return (u.out_degree >= v.out_degree) & (u.id != v.id)


class ByKey(KeyOrder, OnceCounted):
    """``jones-plassmann``."""


class ByDegree(DegreeOrder, OnceCounted):
    """``degree``."""


class DegreePhase(DegreeAloneOrder, OnceCounted):
    """First phase of ``hybrid``."""


class KeyPhase(Remaining, OnceCounted):
    """Second phase of ``hybrid``."""


class ByKeyEachRound(KeyOrder, EachRound):
    """``jones-plassmann`` as printed [003, Algorithm 1]."""


class ByDegreeEachRound(DegreeOrder, EachRound):
    """``degree`` with the rows of all uncoloured vertices in each round."""


class DegreePhaseEachRound(DegreeAloneOrder, EachRound):
    """First phase of ``hybrid`` as printed [003, Algorithm 3, DEGREECOLORING]."""


class KeyPhaseEachRound(Remaining, EachRound):
    """Second phase of ``hybrid`` as printed [003, Algorithm 3, BASECOLORING]."""


BY_KEY = {ONCE: ByKey, EACH: ByKeyEachRound}
BY_DEGREE = {ONCE: ByDegree, EACH: ByDegreeEachRound}
KEY_PHASE = {ONCE: KeyPhase, EACH: KeyPhaseEachRound}
"""``scan`` → program."""


def degree_phase(n: int, switch_round: int | Callable | None, scan: str) -> Program:
    """Return the first phase of ``hybrid`` on ``n`` vertices, with the end that ``switch_round`` asks for.

    By default it ends, with ``scan="each"``, after a round that colours no vertex, the paper's rule, and with ``once``
    after one that colours fewer than n / ``FEW``.
    """
    kind = DegreePhase if scan == ONCE else DegreePhaseEachRound
    if switch_round is None:
        return kind(few=max(n // FEW, 1) if scan == ONCE else 1)
    if isinstance(switch_round, int):
        return kind(limit=switch_round)
    program = kind()
    program.__dict__["over"] = switch_round
    return program
