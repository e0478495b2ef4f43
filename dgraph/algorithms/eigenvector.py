"""Eigenvector centrality by power iteration [Bonacich 1972], with the conventions of NetworkX.

A score is the sum of the scores of in-neighbours, times the weights of their edges. An iteration adds the old scores,
so that the signs of bipartite graphs do not alternate. Weights are divided by their mean: unlike in NetworkX the
iterations do not depend on their unit, and the limit is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.vertex_values import shares_of
from dgraph.algorithms.weight_checks import largest_and_mean, refuse_mean
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.program import ADD, ALL, Field, Global, Program, sqrt

NEED = "eigenvector adds up scores in proportion to weights, so weights must be ≥ 0"
"""Reason in the error for a negative weight."""


class PowerIteration(Program):
    """Power iteration over all vertices until the L1 change of the scores, of Euclidean norm 1, falls below ``tol``.

    A round scales the sums of the last one, since their norm is known only when all have been added up; so the scores
    of iteration k come with round k + 1.

    Attributes:
        unit: reciprocal of the mean weight.
        tol: bound of the L1 change.
        max_iter: most iterations.
        sum: given: start; then the sums of an iteration.
        score: scores of the last iteration, of norm 1.
        inflow: sum over in-edges.
        square: square of the norm of the sums.
        change: L1 change of the scores.
    """

    unit: float = 1.0
    tol: float = 1e-6
    max_iter: int = 100
    domain = ALL
    residual = "change"
    residual_from = 2

    sum = Field("float64", given=True)
    score = Field("float64")
    inflow = Field("float64", reduce=ADD)
    square = Global("float64", reduce=ADD)
    change = Global("float64", reduce=ADD)

    def init(self, v, g):
        """Start from the given values."""
        return {"score": 0.0, "square": v.sum * v.sum}

    def edge(self, u, e, v):
        """Add the score of the source, times the weight."""
        return {"inflow": u.sum * e.weight}

    def apply(self, v, g):
        """Scale the last sum, and compute the next one from it."""
        norm = sqrt(g.square)
        score, following = v.sum / norm, (v.sum + self.unit * v.inflow) / norm
        return {"score": score, "sum": following, "square": following * following, "change": abs(score - v.score)}

    def step(self, g):
        """End at the tolerance or after ``max_iter`` iterations; the first round scales the start."""
        return {"done": (g.round > 1) & ((g.change < self.tol) | (g.round > self.max_iter))}


@algorithm(
    "eigenvector",
    Parameter("tol", float, 1e-6, "stop when the L1 change of the scores is below this"),
    Parameter("max_iter", int, 100, "most iterations", least=1),
    Parameter("nstart", "vertices", None, "scores to start from, id=weight, 0 elsewhere (default: equal ones)"),
    columns={"eigenvector": ResultColumn("sum of the scores of in-neighbours, of Euclidean norm 1", "number")},
    aliases=("eigenvector_centrality",),
)
class Eigenvector(Algorithm):
    """Eigenvector centrality, by weights where there are some: a vertex scores by the scores of those that point to it.

    Column: ``eigenvector`` (float64), of Euclidean norm 1.
    """

    tol: float
    max_iter: int
    nstart: Any
    weighted = residual = True
    edge_rule = EdgeRule("counted", "each")

    def check(self):
        """Refuse a tolerance that cannot be met."""
        if not self.tol > 0:
            raise UsageError(f"tol = {self.tol} can never be met; give a number > 0")

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the limit; collective."""
        most, mean = largest_and_mean(ctx, NEED)
        refuse_mean(most, mean, "eigenvector divides by it")
        if self.nstart is None:
            start = np.full(ctx.local.masters, 1.0 / max(ctx.local.n, 1))
        else:
            start = shares_of(ctx, "nstart", self.nstart)
        program = PowerIteration(unit=1.0 / mean if mean else 1.0, tol=self.tol, max_iter=self.max_iter)
        state = ctx.run(program, {"sum": start})
        change, iterations = state.globals["change"], max(state.rounds - 1, 0)
        met = state.finished and change < self.tol
        reason = f"{iterations} iterations with an L1 change of {change:.3g}, above tol = {self.tol:g}"
        summary = {"change": change, "iterations": iterations}
        return Answer({"eigenvector": state.column("score")}, summary, met, None if met else reason)
