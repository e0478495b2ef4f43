"""Minimum spanning forest: the edges that ``kernels/forest`` finds, a row for each vertex whose tree joined another."""

from __future__ import annotations

from dgraph.algorithms.base import Algorithm, Answer, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.engine.rounds.context import Context

END = "end of the edge by which this vertex's tree was joined to another; null: none"


@algorithm(
    "mst",
    aliases=("minimum_spanning_tree", "minimum_spanning_forest"),
    columns={
        "weight": ResultColumn("weight of that edge", "number", nullable=True),
        "source": ResultColumn(f"smaller {END}", "vertex", nullable=True),
        "target": ResultColumn(f"larger {END}", "vertex", nullable=True),
    },
)
class Mst(Algorithm):
    """Minimum spanning forest: the lightest edges that join all vertices of each component. Directions are ignored.

    One row for each vertex, and an edge in all rows but one of each component: ``weight`` (int64 or float64; 1 without
    weights), ``source`` and ``target`` (int64). Other rows have ``UNREACHED`` or infinity, and -1. Of equally heavy
    edges the one with the smaller ends is taken. The summary has the exact sum of the weights.
    """

    undirected = weighted = True
    edge_rule = AS_SIMPLE
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Find the forest; collective."""
        ctx.check_weights()
        ctx.weighted = ctx.local.out.weight_type is not None
        columns, weight, edges = ctx.solver("forest").solve(ctx)
        return Answer(columns, {"weight": weight, "edges": edges, "components": ctx.local.n - edges})
