"""Hubs and authorities by power iteration [Kleinberg 1999], by edge weights where there are some, as in NetworkX.

An authority is pointed to by good hubs, and a hub points to good authorities: a = Aᵀh and h = Aa, scaled to the sum 1.
One program adds up scores along edges; its reverse walks them backwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.neighbor_sums import InSums, OutSums
from dgraph.algorithms.vertex_values import shares_of
from dgraph.algorithms.weight_checks import largest_and_mean, refuse_mean
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError

NEED = "hits adds up scores in proportion to weights, so weights must be ≥ 0"
"""Reason in the error for a negative weight."""


@algorithm(
    "hits",
    Parameter("tol", float, 1e-8, "stop when the L1 change of the hubs is below this"),
    Parameter("max_iter", int, 100, "most iterations, of two rounds each", least=1),
    Parameter("nstart", "vertices", None, "hubs to start from, id=score, 0 elsewhere (default: equal ones)"),
    Parameter("normalized", bool, True, "scale both scores to the sum 1; else authorities to the Euclidean norm 1"),
    columns={
        "authorities": ResultColumn("authority, by the hubs that point to the vertex", "number"),
        "hubs": ResultColumn("hub, by the authorities that the vertex points to", "number"),
    },
)
class Hits(Algorithm):
    """Hubs and authorities: vertices that point to good authorities, and vertices that good hubs point to.

    Columns: ``authorities`` and ``hubs`` (float64); each sums to 1, or to 0 without edges of positive weight. With
    ``normalized=False`` they are singular vectors as of NetworkX: authorities of Euclidean norm 1, and hubs the sums of
    the authorities that they point to.
    """

    tol: float
    max_iter: int
    nstart: Any
    normalized: bool
    weighted = residual = True
    edge_rule = EdgeRule("counted", "each")
    resumes = False

    def check(self):
        """Refuse a tolerance that cannot be met."""
        if not self.tol > 0:
            raise UsageError(f"tol = {self.tol} can never be met; give a number > 0")

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the limit; collective."""
        effect = "changes no score" if self.normalized else "changes no authority, and hubs in proportion"
        refuse_mean(*largest_and_mean(ctx, NEED), "hits adds up products with weights", effect)
        limit = self.max_iter if ctx.max_rounds is None else min(self.max_iter, max(ctx.max_rounds // 2, 1))
        hubs = np.full(ctx.local.masters, 1.0 / max(ctx.local.n, 1))
        if self.nstart is not None:
            hubs = shares_of(ctx, "nstart", self.nstart)
        iterations, change = 0, np.inf
        while change >= self.tol and iterations < limit:
            authorities = _shares(ctx, InSums(), hubs)
            before, hubs = hubs, _shares(ctx, OutSums(), authorities)
            change, iterations = ctx.total(float(np.abs(hubs - before).sum())), iterations + 1
            if ctx.record.residuals:
                ctx.record.rounds.describe_last({"residual": [change, change]})  # of both rounds of the iteration
        if not self.normalized:
            norm = ctx.total(float(np.square(authorities).sum())) ** 0.5
            authorities = authorities / norm if norm else authorities
            hubs = ctx.run(OutSums(), {"score": authorities})["sum"]
        met = change < self.tol
        reason = f"{iterations} iterations with an L1 change of {change:.3g}, above tol = {self.tol:g}"
        columns = {"authorities": authorities, "hubs": hubs}
        return Answer(columns, {"change": change, "iterations": iterations}, met, None if met else reason)


def _shares(ctx: Context, program: InSums, scores: np.ndarray) -> np.ndarray:
    """Return the program's sums of these scores, scaled to the sum 1; collective."""
    sums = ctx.run(program, {"score": scores})["sum"]
    whole = ctx.total(float(sums.sum()))
    return sums / whole if whole else np.zeros_like(sums)
