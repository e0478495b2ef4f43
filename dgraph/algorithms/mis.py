"""Maximal independent set: the greedy one by priorities, in parallel [Luby 1986; Blelloch, Fineman & Shun 2012].

Vertices have a total priority order: degree, smaller first, then random keys, since low degrees give larger sets
[Burtscher, Devale, Azimi & Jaiganesh 2018]. A vertex joins the set once all neighbours of higher priority are out of
it. The set does not depend on the number of ranks.
"""

from __future__ import annotations

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm, limited
from dgraph.algorithms.edge_rule import STRIPPED
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import as_int64
from dgraph.program import ADD, Field, Program, mixed, where

JOINED = 1 << 40
"""Notice of a neighbour that joined the set; above the sum of all other notices."""


class Independent(Program):
    """Decide each vertex after all neighbours of higher priority.

    Attributes:
        random_state: seed of the keys.
        inside: 1 in the set, 0 outside, -1 undecided.
        waiting: undecided neighbours of higher priority.
        notices: neighbours of higher priority, in the first round; later, those that were decided in the last one.
    """

    random_state: int = 1
    monotone = True
    kernel = "independent"

    inside = Field("int32")
    waiting = Field("int64")
    notices = Field("int64", reduce=ADD)
    key = Field("int64")

    def init(self, v, g):
        """Activate all vertices, so that the first round counts neighbours of higher priority."""
        return {"inside": -1, "waiting": 0, "key": mixed(v.id, self.random_state), "active": True}

    def cond(self, v, g):
        """Skip decided vertices."""
        return v.inside < 0

    def edge(self, u, e, v):
        """Notify neighbours of lower priority."""
        first = (u.out_degree < v.out_degree) | ((u.out_degree == v.out_degree) & (u.key > v.key))
        return {"notices": where(first, where(u.inside == 1, JOINED, 1), 0)}

    def apply(self, v, g):
        """Leave if a neighbour joined; join if no neighbour is left to wait for."""
        waiting = where(g.round == 0, v.notices, v.waiting - v.notices)
        decided = (v.inside < 0) & (waiting <= 0)
        return {"waiting": waiting, "inside": where(decided, where(waiting < 0, 0, 1), v.inside), "active": decided}

    def step(self, g):
        """End when a round decided no vertex; the first ``apply`` visits all vertices."""
        return {"whole": False, "done": g.active == 0}


@algorithm(
    "mis",
    Parameter("random_state", int, 1, "seed of the random priorities of vertices of equal degree"),
    columns={"in_set": ResultColumn("1: member of the set; 0: not")},
    aliases=("maximal_independent_set",),
)
class Mis(Algorithm):
    """Maximal independent set: no two neighbours are in it, and every other vertex has a neighbour in it.

    Column: ``in_set`` (int64, 1 or 0; -1 undecided, after a round limit).
    """

    random_state: int
    undirected = True
    edge_rule = STRIPPED
    one_gpu = "independent"

    def run(self, ctx: Context) -> Answer:
        """Find the set; collective."""
        state = ctx.run(Independent(random_state=self.random_state))
        most, many = state.largest("inside")
        members = ctx.total(many if most == 1 else 0)
        limit = limited(state.finished, state.rounds)
        return Answer({"in_set": state.column("inside", as_int64)}, {"members": members}, state.finished, limit)
