"""Clustering coefficients of directed and weighted graphs, as NetworkX defines them [Fagiolo 2007; Onnela et al. 2005].

A triangle of an undirected graph counts by the geometric mean of its edges' weights, divided by the largest weight of
the graph; so every edge has the cube root of its weight as a factor. In a directed graph the factor of two neighbours
is the sum over both directions: 1 or 2 without weights.
"""

from __future__ import annotations

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.weight_checks import any_negative
from dgraph.engine.rounds.context import Context

NEED = "clustering takes geometric means of weights, so weights must be ≥ 0"
"""Reason in the error for a negative weight."""


@algorithm(
    "clustering",
    Parameter(
        "count",
        str,
        "arcs",
        "what counts in a directed graph: arcs, or edges without directions",
        choices=("arcs", "edges"),
    ),
    Parameter("weighted", bool, False, "triangles count by the geometric mean of their weights, which must be ≥ 0"),
    columns={"clustering": ResultColumn("share of pairs of neighbours that are joined, by weight", "number")},
)
class Clustering(Algorithm):
    """Clustering coefficients by directed triangles, and by weights with ``weighted``; as ``lcc`` without either.

    Column: ``clustering`` (float64). The summary has the mean over all vertices.
    """

    count: str
    weighted: bool  # type: ignore[misc]
    undirected = True
    edge_rule = EdgeRule("ignored", "once", stripped=("parallel",))
    needs_rows = "own"
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Add up triangles, and divide; collective."""
        weighted = self.weighted and ctx.local.out.weight_type is not None
        if weighted and any_negative(ctx):
            ctx.refuse_weights(lambda weights: ~(weights >= 0), NEED)
        if self.arcs or weighted:
            ctx.weighted |= weighted
            shares, total = ctx.solver("neighbour products").solve(ctx, self.arcs, weighted)
        else:
            shares, total = ctx.solver("wedges").solve(ctx).shares()
        return Answer({"clustering": shares}, {"mean": total / max(ctx.local.n, 1)})
