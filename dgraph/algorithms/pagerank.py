"""PageRank by power iteration, with the conventions of NetworkX and LDBC Graphalytics.

The rank of dangling vertices is spread evenly, or by the personalisation. Other vertices pass their rank along their
out-edges: in proportion to the weights if the graph has some, as in NetworkX; else in equal parts, as in LDBC
Graphalytics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.engine.rounds.context import Context
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.out_weights import out_weights
from dgraph.program import ADD, ALL, Field, Global, Program, where

SINGLE = dict.fromkeys(("rank", "share", "inflow"), "float32")
"""Dtypes of single precision, for :meth:`Program.retype`: half the memory and half the bytes between ranks."""

LEAST = 2.0**-23
"""Smallest useful ``tol`` in single precision.

Each float32 rank may be rounded by 2⁻²⁴ of itself and ranks sum to 1, so rounding alone may change the vector by this.
"""

NEED = "pagerank follows edges with a probability in proportion to their weights, so weights must be ≥ 0"
"""Reason in the error for a negative weight."""

SUMS = {"double": (2.0**-1022, 2.0**960), "single": (2.0**-126, 2.0**90)}
"""Precision → range of the sum of a vertex's out-weights.

A rank divided by a sum in this range is neither infinite nor subnormal. Without personalisation ranks are at least
0.15 · 2⁻³².
"""


class PageRank(Program):
    """Power iteration over all vertices until the L1 change of the rank vector falls below ``tol``.

    Attributes:
        alpha: damping factor: the probability to follow an edge.
        tol: bound of the L1 change.
        max_iter: most rounds.
        rank: PageRank of the vertex; ranks sum to 1.
        share: rank sent along each out-edge.
        inflow: sum of the shares of in-neighbours.
        dangling: total rank of vertices without out-edges.
        change: L1 change of the rank vector in the last round.
    """

    alpha: float = 0.85
    tol: float = 1e-6
    max_iter: int = 100
    domain = ALL

    rank = Field("float64")
    share = Field("float64")
    inflow = Field("float64", reduce=ADD)
    dangling = Global("float64", reduce=ADD)
    change = Global("float64", reduce=ADD)

    def leaving(self, v):
        """Return the divisor of the vertex's rank; 0 marks a dangling vertex."""
        return v.out_degree

    def state(self, v, rank):
        """Return the fields and the dangling term of a vertex with this rank."""
        leaving = self.leaving(v)
        sink = leaving == 0
        return {"rank": rank, "share": where(sink, 0.0, rank / leaving), "dangling": where(sink, rank, 0.0)}

    def teleport(self, v, g):
        """Return the probability that a jump ends at ``v``."""
        return 1.0 / g.n

    def init(self, v, g):
        """Start from equal ranks."""
        return self.state(v, 1.0 / g.n)

    def edge(self, u, e, v):
        """Add the share of the source."""
        return {"inflow": u.share}

    def apply(self, v, g):
        """Compute the new rank from jumps, in-neighbours and dangling vertices."""
        jump = self.teleport(v, g)
        rank = (1.0 - self.alpha) * jump + self.alpha * (v.inflow + g.dangling * jump)
        return self.state(v, rank) | {"change": abs(rank - v.rank)}

    def step(self, g):
        """End at the tolerance or at ``max_iter`` rounds."""
        return {"done": (g.change < self.tol) | (g.round >= self.max_iter)}


class PersonalizedPageRank(PageRank):
    """PageRank whose jumps follow a given distribution.

    Attributes:
        weight: given: the probability that a jump ends at the vertex; sums to 1.
    """

    weight = Field("float64", given=True)

    def teleport(self, v, g):
        """Return the given probability."""
        return v.weight


class WeightedPageRank(PageRank):
    """PageRank that follows edges in proportion to their weights; ``share`` is rank per unit of weight.

    Attributes:
        out_weight: given: the sum of the vertex's out-weights.
    """

    out_weight = Field("float64", given=True)

    def leaving(self, v):
        """Return the sum of the vertex's out-weights."""
        return v.out_weight

    def edge(self, u, e, v):
        """Add the share of the source, times the weight."""
        return {"inflow": u.share * e.weight}


class WeightedPersonalizedPageRank(WeightedPageRank, PersonalizedPageRank):
    """PageRank with weighted edges and a given jump distribution."""


PROGRAMS: dict[tuple[bool, bool], type[PageRank]] = {
    (False, False): PageRank,
    (True, False): PersonalizedPageRank,
    (False, True): WeightedPageRank,
    (True, True): WeightedPersonalizedPageRank,
}
"""(personalised, weighted edges) → program."""


class Continued:
    """Field and start of an iteration from an earlier answer.

    Attributes:
        start: given: the rank to start from; sums to 1.
    """

    start = Field("float64", given=True)

    def init(self, v, g):
        """Start from the given ranks."""
        return self.state(v, v.start)


class ContinuedPageRank(Continued, PageRank):
    """PageRank from an earlier answer."""


class ContinuedPersonalizedPageRank(Continued, PersonalizedPageRank):
    """PageRank with a given jump distribution, from an earlier answer."""


class ContinuedWeightedPageRank(Continued, WeightedPageRank):
    """PageRank with weighted edges, from an earlier answer."""


class ContinuedWeightedPersonalizedPageRank(Continued, WeightedPersonalizedPageRank):
    """PageRank with weighted edges and a given jump distribution, from an earlier answer."""


CONTINUED: dict[tuple[bool, bool], type[PageRank]] = {
    (False, False): ContinuedPageRank,
    (True, False): ContinuedPersonalizedPageRank,
    (False, True): ContinuedWeightedPageRank,
    (True, True): ContinuedWeightedPersonalizedPageRank,
}
"""(personalised, weighted edges) → program that starts from an earlier answer."""


@algorithm(
    "pagerank",
    Parameter("alpha", float, 0.85, "damping factor: probability to follow an edge", aliases=("damping",)),
    Parameter("tol", float, 1e-6, "stop when the L1 change of the rank vector is below this; 0: run max_iter rounds"),
    Parameter("max_iter", int, 100, "most rounds"),
    Parameter(
        "personalization", "vertices", None, "vertices to jump to, with equal probability or id=weight (default: all)"
    ),
    Parameter(
        "precision",
        str,
        "double",
        "precision of ranks; single halves memory and message sizes",
        choices=("double", "single"),
    ),
    columns={"pagerank": ResultColumn("share of time of the random walk", "number")},
)
class Pagerank(Algorithm):
    """PageRank, by weights where there are some: the share of time that a random walk spends at each vertex.

    Column: ``pagerank`` (float64, or float32 in single precision), which sums to 1.
    """

    weighted = continues = True
    edge_rule = EdgeRule("counted", "each")

    alpha: float
    tol: float
    max_iter: int
    personalization: Any
    precision: str

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the round limit; collective."""
        settings = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        fields = SINGLE if self.precision == "single" else {}
        given = {} if self.personalization is None else {"weight": self._jumps(ctx)}
        if ctx.local.out.weight_type is not None:
            given["out_weight"] = self._out_weights(ctx)
        which, state = ("weight" in given, "out_weight" in given), None
        if ctx.previous is not None and self.tol > 0:
            start = {"start": _start(ctx)}
            more = {"start": "float32"} if fields else {}
            state = ctx.run(CONTINUED[which](**settings).retype(**fields, **more), given | start)
            if not (state.finished and state.globals["change"] < self.tol):
                state, ctx.previous.used = None, False  # a limit counts iterations from equal ranks
        if state is None:
            state = ctx.run(PROGRAMS[which](**settings).retype(**fields), given)
        change = state.globals["change"]
        met = self.tol == 0 or change < self.tol or self.max_iter == 0
        summary = {"sum": ctx.total(state.total("rank")), "change": change, "iterations": state.rounds}
        limit = None if met else f"{state.rounds} rounds with an L1 change of {change:.3g}, above tol = {self.tol:g}"
        return Answer({"pagerank": state.column("rank")}, summary, met and state.finished, limit)

    def check(self):
        """Refuse parameters with which the iteration is undefined or cannot end."""
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha = {self.alpha} is not a probability; give 0 … 1")
        if not self.tol >= 0:
            raise UsageError(f"tol = {self.tol} can never be met; give a number ≥ 0")
        if self.precision == "single" and 0 < self.tol < LEAST:
            raise UsageError(
                f"tol = {self.tol:g} may never be met in single precision, where rounding alone changes the vector by "
                f"up to {LEAST:.2g}; give more, or precision double"
            )
        if self.max_iter < 1:
            raise UsageError(f"max_iter = {self.max_iter} leaves nothing to do; give 1 or more")

    def _out_weights(self, ctx: Context) -> np.ndarray:
        """Return the sum of the out-weights of each master; collective.

        Raises:
            DataError: a sum by which ranks cannot be divided, or a negative or infinite weight.
        """
        largest_and_mean(ctx, NEED)
        sums = out_weights(ctx.local, ctx.comm)
        low, high = SUMS[self.precision]
        least, most = ctx.local.out_weight_range
        if not ctx.total(not (low <= least and most <= high)):
            return sums
        outside = np.flatnonzero((sums != 0) & ~((sums >= low) & (sums <= high)))[:1]
        mine = [int(ctx.local.original[outside[0]]), float(sums[outside[0]])] if outside.size else None
        found = [each for each in ctx.comm.allgather_json(mine) if each]
        if found:
            vertex, out = min(found)
            raise DataError(
                f"the weights of the edges that leave vertex {ctx.called(vertex)} sum to {out:g}; "
                f"pagerank divides by that sum, which in {self.precision} precision is 0 or lies between {low:.3g} "
                f"and {high:.3g}; multiply all weights by one number, which changes no rank, or make the graph without "
                "weights"
            )
        return sums

    def _jumps(self, ctx: Context) -> np.ndarray:
        """Return this rank's part of the jump distribution, float64 (masters,); collective.

        Raises:
            UsageError: a vertex that the graph does not have, or weights that are negative, not finite or all 0.
        """
        jumps = self.personalization
        pairs = jumps if isinstance(jumps, dict) else dict.fromkeys(jumps, 1.0)
        ids = np.array(sorted(pairs), np.int64)
        values = np.array([float(pairs[i]) for i in ids.tolist()])
        if not np.isfinite(values).all() or not (values >= 0).all() or not values.any():
            raise UsageError("personalization needs vertices with finite weights ≥ 0 that are not all 0")
        values /= values.max()  # so that the sum is finite
        original = ctx.local.original[: ctx.local.masters]
        at = np.minimum(np.searchsorted(ids, original), ids.size - 1)
        here = ids[at] == original
        found = np.zeros(ids.size, np.int64)
        found[at[here]] = 1
        missing = ids[ctx.comm.allreduce(found) == 0]
        if missing.size:
            raise UsageError(f"personalization names vertex {missing[0]}, which the graph does not have; leave it out")
        return np.where(here, values[at] / values.sum(), 0.0)


def _start(ctx: Context) -> np.ndarray:
    """Return the ranks of the previous answer, 1/n for new vertices, scaled to the sum 1: float64 (masters,)."""
    assert ctx.previous is not None
    ranks = ctx.previous.taken("pagerank", 1.0 / ctx.local.n).astype(np.float64)
    return ranks / ctx.total(float(ranks.sum()))
