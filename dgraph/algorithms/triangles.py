"""Triangles and local clustering coefficients, from one count of triangles at each vertex (``edge_triangles``)."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import COUNT, Algorithm, Answer, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE


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

    def run(self, ctx):
        """Count; collective."""
        from dgraph.algorithms.edge_triangles.oriented_rows import triangles_at, whole_counts

        whole = whole_counts(ctx)
        if whole is not None:
            return Answer({"triangles": whole[0]["triangles"]}, {"triangles": whole[1] // 3})
        counts, _ = triangles_at(ctx)
        return Answer({"triangles": counts}, {"triangles": ctx.total(int(counts.sum())) // 3})


@algorithm(
    "lcc",
    COUNT,
    columns={"lcc": ResultColumn("share of pairs of neighbours that are joined", "number")},
    aliases=("clustering",),
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

    def run(self, ctx):
        """Count triangles and divide; collective."""
        from dgraph.algorithms.edge_triangles.oriented_rows import whole_counts

        whole = None if self.arcs else whole_counts(ctx)
        if whole is not None:
            return Answer({"lcc": whole[0]["lcc"]}, {"mean": whole[2] / max(ctx.local.n, 1)})
        closed, degree = _arcs(ctx) if self.arcs else _pairs(ctx)
        pairs = degree * (degree - 1)
        shares = np.divide(closed, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
        return Answer({"lcc": shares}, {"mean": ctx.total(float(shares.sum())) / max(ctx.local.n, 1)})


def _pairs(ctx) -> tuple[np.ndarray, np.ndarray]:
    """Return joined ordered pairs of neighbours of each master, and its distinct neighbours; collective."""
    from dgraph.algorithms.edge_triangles.oriented_rows import triangles_at

    counts, degree = triangles_at(ctx)
    return 2.0 * counts, degree


def _arcs(ctx) -> tuple[np.ndarray, np.ndarray]:
    """Return arcs between neighbours of each master, and its distinct neighbours; collective."""
    from dgraph.algorithms.edge_triangles.full_rows import FullRows

    kernel = ctx.backend.row_kernel("edge triangles")
    with ctx.record("compute"):
        full = FullRows(ctx.local, ctx.comm)
        return kernel.arcs_among_neighbours(full).astype(np.float64), full.degrees
