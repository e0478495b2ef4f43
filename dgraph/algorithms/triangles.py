"""Triangles and local clustering coefficients, from one count of triangles at each vertex (``kernels/wedges``)."""

from __future__ import annotations

from dgraph.algorithms.base import COUNT, Algorithm, Answer, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.engine.rounds.context import Context


@algorithm(
    "triangles",
    columns={"triangles": ResultColumn("triangles at the vertex")},
    aliases=("triangle_count",),
)
class Triangles(Algorithm):
    """Number of triangles at each vertex.

    Column: ``triangles`` (int64). The summary has the number of triangles of the graph.
    """

    undirected = True
    edge_rule = AS_SIMPLE
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Count; collective."""
        counts, corners = ctx.solver("wedges").solve(ctx).triangles()
        return Answer({"triangles": counts}, {"triangles": corners // 3})


@algorithm(
    "lcc",
    COUNT,
    columns={"lcc": ResultColumn("share of pairs of neighbours that are joined", "number")},
)
class Lcc(Algorithm):
    """Local clustering coefficient: the share of pairs of neighbours that are joined; 0 with less than two neighbours.

    With ``count="arcs"`` on a directed graph the share of ordered pairs of neighbours with an arc between them, as in
    LDBC Graphalytics; neighbours are those of in-edges and out-edges.

    Column: ``lcc`` (float64). The summary has the mean over all vertices.
    """

    undirected = True
    edge_rule = AS_SIMPLE
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Count triangles, or arcs between neighbours, and divide; collective."""
        shares, total = ctx.solver("neighbour arcs" if self.arcs else "wedges").solve(ctx).shares()
        return Answer({"lcc": shares}, {"mean": total / max(ctx.local.n, 1)})
