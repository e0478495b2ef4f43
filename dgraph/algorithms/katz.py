"""Katz centrality [Katz 1953]: the number of walks that end at a vertex, each step of which counts ``alpha`` times."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.vertex_values import values_of
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.program import ADD, ALL, Field, Global, Program

BEYOND = 1e300
"""L1 change from which on the scores grow without bound."""


class AttenuatedWalks(Program):
    """Iteration x ← alpha Aᵀ x + beta over all vertices until the L1 change of x falls below ``tol``.

    Attributes:
        alpha: factor of each step of a walk.
        tol: bound of the L1 change.
        max_iter: most rounds.
        beta: given: score of the vertex without walks.
        score: given: start; then the scores.
        inflow: sum over in-edges.
        change: L1 change of the scores in the last round.
    """

    alpha: float = 0.1
    tol: float = 1e-6
    max_iter: int = 1000
    domain = ALL
    residual = "change"

    beta = Field("float64", given=True)
    score = Field("float64", given=True)
    inflow = Field("float64", reduce=ADD)
    change = Global("float64", reduce=ADD)

    def init(self, v, g):
        """Start from the given scores."""
        return {}

    def edge(self, u, e, v):
        """Add the score of the source, times the weight."""
        return {"inflow": u.score * e.weight}

    def apply(self, v, g):
        """Add the score without walks."""
        score = self.alpha * v.inflow + v.beta
        return {"score": score, "change": abs(score - v.score)}

    def step(self, g):
        """End at the tolerance, at ``max_iter`` rounds, or where scores grow without bound."""
        return {"done": (g.change < self.tol) | (g.change > BEYOND) | (g.round >= self.max_iter)}


@algorithm(
    "katz",
    Parameter("alpha", float, 0.1, "factor of each step of a walk; below 1 / the largest eigenvalue"),
    Parameter("beta", float, 1.0, "score of a vertex without walks"),
    Parameter("betas", "vertices", None, "scores of some vertices in place of beta, id=score"),
    Parameter("tol", float, 1e-6, "stop when the L1 change of the scores is below this"),
    Parameter("max_iter", int, 1000, "most rounds", least=1),
    Parameter("nstart", "vertices", None, "scores to start from, id=score (default: 0 everywhere)"),
    Parameter("normalized", bool, True, "scale the scores to the Euclidean norm 1"),
    columns={"katz": ResultColumn("attenuated number of walks that end at the vertex", "number")},
    aliases=("katz_centrality",),
)
class Katz(Algorithm):
    """Katz centrality, by weights where there are some: the number of walks to a vertex, long ones counting less.

    Column: ``katz`` (float64), of Euclidean norm 1 if ``normalized``.
    """

    alpha: float
    beta: float
    betas: Any
    tol: float
    max_iter: int
    nstart: Any
    normalized: bool
    weighted = residual = True
    edge_rule = EdgeRule("counted", "each")

    def check(self):
        """Refuse a tolerance that cannot be met, and numbers that are not finite."""
        if not self.tol > 0:
            raise UsageError(f"tol = {self.tol} can never be met; give a number > 0")
        numbers = {"alpha": [self.alpha], "beta": [self.beta]}
        numbers |= {name: list(_pairs(getattr(self, name)).values()) for name in ("betas", "nstart")}
        for name, values in numbers.items():
            if not all(map(isfinite, values)):
                raise UsageError(f"{name} is not finite; give finite numbers")

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the limit; collective."""
        arrays = {
            "beta": values_of(ctx, "betas", _pairs(self.betas), self.beta),
            "score": values_of(ctx, "nstart", _pairs(self.nstart)),
        }
        state = ctx.run(AttenuatedWalks(alpha=self.alpha, tol=self.tol, max_iter=self.max_iter), arrays)
        scores, change = state["score"], state.globals["change"]
        met = state.finished and change < self.tol
        if self.normalized:
            with np.errstate(over="ignore"):
                norm = ctx.total(float(np.square(scores).sum())) ** 0.5
            scores = scores / norm if 0 < norm < np.inf else scores
        reason = f"{state.rounds} rounds with an L1 change of {change:.3g}, above tol = {self.tol:g}"
        if change > BEYOND:
            reason += f": alpha = {self.alpha:g} is not below 1 / the largest eigenvalue; give less"
        summary = {"change": change, "iterations": state.rounds}
        return Answer({"katz": scores}, summary, met, None if met else reason)


def _pairs(vertices: Any) -> dict[int, float]:
    """Return vertex → number; vertices without numbers have 1, as in other parameters."""
    return vertices if isinstance(vertices, dict) else dict.fromkeys(vertices or (), 1.0)
