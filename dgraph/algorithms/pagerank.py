"""PageRank by power iteration, with the conventions of NetworkX and LDBC Graphalytics.

The rank of dangling vertices is spread evenly, or by the personalisation. Other vertices pass their rank along their
out-edges: in proportion to the weights if the graph has some, as in NetworkX; else in equal parts, as in LDBC
Graphalytics.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.vertex_values import shares_of
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.return_state import State
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
    residual = "change"

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

    def spread(self, v, jump):
        """Return the share of the dangling vertices' rank that ``v`` gets: that of jumps."""
        return jump

    def init(self, v, g):
        """Start from equal ranks."""
        return self.state(v, 1.0 / g.n)

    def edge(self, u, e, v):
        """Add the share of the source."""
        return {"inflow": u.share}

    def apply(self, v, g):
        """Compute the new rank from jumps, in-neighbours and dangling vertices."""
        jump = self.teleport(v, g)
        rank = (1.0 - self.alpha) * jump + self.alpha * (v.inflow + g.dangling * self.spread(v, jump))
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


class DanglingPageRank(PageRank):
    """PageRank that spreads the rank of dangling vertices by a distribution of its own.

    Attributes:
        sink: given: the share of that rank that the vertex gets; sums to 1.
    """

    sink = Field("float64", given=True)

    def spread(self, v, jump):
        """Return the given share."""
        return v.sink


class ContinuedPageRank(PageRank):
    """PageRank from given ranks, such as an earlier answer.

    Attributes:
        start: given: the rank to start from; sums to 1.
    """

    start = Field("float64", given=True)

    def init(self, v, g):
        """Start from the given ranks."""
        return self.state(v, v.start)


PARTS: dict[str, type[PageRank]] = {
    "start": ContinuedPageRank,
    "sink": DanglingPageRank,
    "out_weight": WeightedPageRank,
    "weight": PersonalizedPageRank,
}
"""Given field → the class that reads it."""


@cache
def program_of(*fields: str) -> type[PageRank]:
    """Return the program that reads these given fields, one class of ``PARTS`` each."""
    parts = [part for name, part in PARTS.items() if name in fields]
    name = "".join(part.__name__.removesuffix("PageRank") for part in parts) + "PageRank"
    return type(name, (*parts, PageRank), {"__doc__": "PageRank of several given fields."}) if parts else PageRank


LIMITS = (
    Parameter("alpha", float, 0.85, "damping factor: probability to follow an edge", aliases=("damping",)),
    Parameter("tol", float, 1e-6, "stop when the L1 change of the rank vector is below this; 0: run max_iter rounds"),
    Parameter("max_iter", int, 100, "most rounds"),
)
"""Parameters of iterations, which :func:`check_limits` checks."""


def check_limits(alpha: float, tol: float, max_iter: int) -> None:
    """Refuse parameters with which the iteration is undefined or cannot end."""
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha = {alpha} is not a probability; give 0 … 1")
    if not tol >= 0:
        raise UsageError(f"tol = {tol} can never be met; give a number ≥ 0")
    if max_iter < 1:
        raise UsageError(f"max_iter = {max_iter} leaves nothing to do; give 1 or more")


@algorithm(
    "pagerank",
    *LIMITS,
    Parameter(
        "personalization", "vertices", None, "vertices to jump to, with equal probability or id=weight (default: all)"
    ),
    Parameter("nstart", "vertices", None, "ranks to start from, id=rank, 0 elsewhere (default: equal ones)"),
    Parameter(
        "dangling",
        "vertices",
        None,
        "vertices that get the rank of those without out-edges, equally or by id=weight (default: as jumps)",
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

    weighted = continues = residual = True
    edge_rule = EdgeRule("counted", "each")

    alpha: float
    tol: float
    max_iter: int
    personalization: Any
    nstart: Any
    dangling: Any
    precision: str

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the round limit; collective."""
        settings = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        fields = SINGLE if self.precision == "single" else {}
        named = {"weight": "personalization", "sink": "dangling", "start": "nstart"}
        arrays = {
            field: shares_of(ctx, name, getattr(self, name))
            for field, name in named.items()
            if getattr(self, name) is not None
        }
        if ctx.local.out.weight_type is not None:
            arrays["out_weight"] = divisors(ctx, self.precision)
        state = None
        if ctx.previous is not None and self.tol > 0:
            if self.nstart is not None:
                raise UsageError("nstart and previous both name ranks to start from; leave one of them out")
            state = self._iterated(ctx, settings, fields, arrays | {"start": _start(ctx)})
            if not (state.finished and state.globals["change"] < self.tol):
                state, ctx.previous.used = None, False  # a limit counts iterations from equal ranks
        if state is None:
            state = self._iterated(ctx, settings, fields, arrays)
        change = state.globals["change"]
        met = self.tol == 0 or change < self.tol or self.max_iter == 0
        summary = {"sum": ctx.total(state.total("rank")), "change": change, "iterations": state.rounds}
        limit = None if met else f"{state.rounds} rounds with an L1 change of {change:.3g}, above tol = {self.tol:g}"
        return Answer({"pagerank": state.column("rank")}, summary, met and state.finished, limit)

    def check(self):
        """Refuse parameters with which the iteration is undefined or cannot end."""
        check_limits(self.alpha, self.tol, self.max_iter)
        if self.precision == "single" and 0 < self.tol < LEAST:
            raise UsageError(
                f"tol = {self.tol:g} may never be met in single precision, where rounding alone changes the vector by "
                f"up to {LEAST:.2g}; give more, or precision double"
            )

    def _iterated(self, ctx: Context, settings: dict, fields: dict, arrays: dict[str, np.ndarray]) -> State:
        """Return the state at the end of the program that reads the given fields; collective."""
        if "start" in arrays and fields:
            fields = fields | {"start": "float32"}
        return ctx.run(program_of(*arrays)(**settings).retype(**fields), arrays)


def divisors(ctx: Context, precision: str) -> np.ndarray:
    """Return the sum of the out-weights of each master; collective.

    Raises:
        DataError: a sum by which ranks cannot be divided, or a negative or infinite weight.
    """
    largest_and_mean(ctx, NEED)
    sums = out_weights(ctx.local, ctx.comm)
    low, high = SUMS[precision]
    least, most = ctx.local.out_weight_range
    if not ctx.total(not (low <= least and most <= high)):
        return sums
    outside = np.flatnonzero((sums != 0) & ~((sums >= low) & (sums <= high)))[:1]
    mine = [int(ctx.local.original[outside[0]]), float(sums[outside[0]])] if outside.size else None
    vertices = list(filter(None, ctx.comm.allgather_json(mine)))
    if vertices:
        vertex, weight = min(vertices)
        raise DataError(
            f"the weights of the edges that leave vertex {ctx.called(vertex)} sum to {weight:g}; "
            f"pagerank divides by that sum, which in {precision} precision is 0 or lies between {low:.3g} "
            f"and {high:.3g}; multiply all weights by one number, which changes no rank, or make the graph without "
            "weights"
        )
    return sums


def _start(ctx: Context) -> np.ndarray:
    """Return the ranks of the previous answer, 1/n for new vertices, scaled to the sum 1: float64 (masters,)."""
    assert ctx.previous is not None
    ranks = ctx.previous.taken("pagerank", 1.0 / ctx.local.n).astype(np.float64)
    return ranks / ctx.total(float(ranks.sum()))
