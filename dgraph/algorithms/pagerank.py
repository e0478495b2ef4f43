"""PageRank, dangling mass spread evenly or by the personalisation, as NetworkX and LDBC Graphalytics have it.

A vertex passes its rank on along its out-edges: in proportion to their weights where the graph has some, as NetworkX
does; else in equal parts, as LDBC Graphalytics does on every graph.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, algorithm
from dgraph.algorithms.weight_checks import largest_and_mean
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.out_weights import out_weights
from dgraph.program import ADD, ALL, Field, Global, Program, where

SINGLE = dict.fromkeys(("rank", "share", "inflow"), "float32")
"""For :meth:`Program.retype`: fields take half as much memory, and as many bytes between ranks."""

LEAST = 2.0**-23
"""Ranks that are float32 may each be rounded by 2⁻²⁴ of themselves, and sum to 1: so much they may go on changing."""

NEED = "pagerank follows an edge with a chance in proportion to its weight, and no chance is below 0"

SUMS = {"double": (2.0**-1022, 2.0**960), "single": (2.0**-126, 2.0**90)}
"""By precision, between what a vertex's weights may sum to: a rank divided by such a sum is neither infinite nor
rounded to a subnormal number, ranks being at least 0.15 · 2⁻³² where all vertices are jumped to."""


class PageRank(Program):
    """Power iteration in float64; ``tol`` bounds the L1 change of the whole vector. What crosses edges is ``share``."""

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
        """What a vertex divides its rank by; 0: it has no edge to follow."""
        return v.out_degree

    def state(self, v, rank):
        leaving = self.leaving(v)
        sink = leaving == 0
        return {"rank": rank, "share": where(sink, 0.0, rank / leaving), "dangling": where(sink, rank, 0.0)}

    def teleport(self, v, g):
        return 1.0 / g.n

    def init(self, v, g):
        return self.state(v, 1.0 / g.n)

    def edge(self, u, e, v):
        return {"inflow": u.share}

    def apply(self, v, g):
        jump = self.teleport(v, g)
        rank = (1.0 - self.alpha) * jump + self.alpha * (v.inflow + g.dangling * jump)
        return self.state(v, rank) | {"change": abs(rank - v.rank)}

    def step(self, g):
        return {"done": (g.change < self.tol) | (g.round >= self.max_iter)}


class PersonalizedPageRank(PageRank):
    """The same, jumping to vertices in proportion to ``weight`` (which sums to 1)."""

    weight = Field("float64", given=True)

    def teleport(self, v, g):
        return v.weight


class WeightedPageRank(PageRank):
    """The same, where an edge is followed in proportion to its weight. ``share`` is a rank by the sum of weights."""

    out_weight = Field("float64", given=True)

    def leaving(self, v):
        return v.out_weight

    def edge(self, u, e, v):
        return {"inflow": u.share * e.weight}


class WeightedPersonalizedPageRank(WeightedPageRank, PersonalizedPageRank):
    """Both: edges are followed by their weights, jumps are made by ``weight``."""


PROGRAMS: dict[tuple[bool, bool], type[PageRank]] = {
    (False, False): PageRank,
    (True, False): PersonalizedPageRank,
    (False, True): WeightedPageRank,
    (True, True): WeightedPersonalizedPageRank,
}
"""By whether jumps are weighted, and whether edges are."""


@algorithm(
    "pagerank",
    Parameter("alpha", float, 0.85, "damping: the chance to follow an edge", aliases=("damping",)),
    Parameter("tol", float, 1e-6, "stop when the whole vector changes by less (L1); 0: run max_iter rounds"),
    Parameter("max_iter", int, 100, "rounds at most"),
    Parameter("personalization", "vertices", None, "vertices to jump to, all alike or id=weight (default: every one)"),
    Parameter(
        "precision",
        str,
        "double",
        "of ranks: single takes half the memory, and half the bytes between ranks",
        choices=("double", "single"),
    ),
)
class Pagerank(Algorithm):
    """PageRank: the share of time a random walk spends at each vertex."""

    weighted = True

    precision: str

    def run(self, ctx):
        settings = {"alpha": self.alpha, "tol": self.tol, "max_iter": self.max_iter}
        fields = SINGLE if self.precision == "single" else {}
        given = {} if self.personalization is None else {"weight": self._jumps(ctx)}
        if ctx.local.out.weight_type is not None:
            given["out_weight"] = self._out_weights(ctx)
        program = PROGRAMS["weight" in given, "out_weight" in given]
        state = ctx.run(program(**settings).retype(**fields), given)
        change = state.globals["change"]
        met = self.tol == 0 or change < self.tol or self.max_iter == 0
        mine = state.counted("total", "rank")
        whole = ctx.total(float(state["rank"].sum(dtype=np.float64)) if mine is None else mine)
        summary = {"sum": whole, "change": change, "iterations": state.rounds}
        limit = None if met else f"{state.rounds} rounds with an L1 change of {change:.3g}, above tol = {self.tol:g}"
        return Answer({"pagerank": lambda: state["rank"]}, summary, met and state.finished, limit)

    def check(self):
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha = {self.alpha} is no probability; give 0 … 1")
        if not self.tol >= 0:
            raise UsageError(f"tol = {self.tol} can never be met; give a number ≥ 0")
        if self.precision == "single" and 0 < self.tol < LEAST:
            raise UsageError(
                f"tol = {self.tol:g} may never be met in single precision, where rounding alone changes the vector by "
                f"up to {LEAST:.2g}; give more, or precision double"
            )
        if self.max_iter < 1:
            raise UsageError(f"max_iter = {self.max_iter} leaves nothing to do; give 1 or more")

    def _out_weights(self, ctx) -> np.ndarray:
        """What the weights of the edges that leave each master sum to; refused where ranks cannot be divided by it."""
        largest_and_mean(ctx, NEED)
        sums = out_weights(ctx.local, ctx.comm)
        low, high = SUMS[self.precision]
        with ctx.comm.together():
            outside = np.flatnonzero((sums != 0) & ~((sums >= low) & (sums <= high)))
            if outside.size:
                at = outside[0]
                raise DataError(
                    f"the weights of the edges that leave vertex {ctx.local.original[at]} sum to {sums[at]:g}; "
                    f"pagerank divides by that sum, which in {self.precision} precision is 0 or lies between {low:.3g} "
                    f"and {high:.3g}; multiply all weights by one number, which changes no rank, or give --weights unit"
                )
        return sums

    def _jumps(self, ctx) -> np.ndarray:
        """This rank's part of the jump vector."""
        given = self.settings()["personalization"]
        pairs = dict(given) if isinstance(given, dict) else dict.fromkeys(np.atleast_1d(given).tolist(), 1.0)
        ids = np.array(sorted(pairs), np.int64)
        values = np.array([float(pairs[i]) for i in ids.tolist()])
        if not ids.size or not np.isfinite(values).all() or (values < 0).any() or values.sum() <= 0:
            raise UsageError("personalization needs vertices with weights ≥ 0 that are not all 0")
        original = ctx.local.original[: ctx.local.masters]
        at = np.minimum(np.searchsorted(ids, original), ids.size - 1)
        here = ids[at] == original
        found = np.zeros(ids.size, np.int64)
        found[at[here]] = 1
        missing = ids[ctx.comm.allreduce(found) == 0]
        if missing.size:
            raise UsageError(f"personalization names vertex {missing[0]}, which the graph does not have; leave it out")
        return np.where(here, values[at] / values.sum(), 0.0)
