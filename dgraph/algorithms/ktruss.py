"""k-truss: edges are peeled by their triangles, level by level, on all ranks at once [Cohen 2008; Wang & Cheng 2012].

An edge lies in the k-truss if k - 2 of its triangles do. Every edge begins with its number of triangles. At each level
all edges with no more triangles than the level leave together; each triangle that they destroy is taken from its edges
that are left, by the owners of these. An edge is so looked at once for all, when it leaves. The levels are in
``edge_triangles/truss_levels.py``.
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm, limited
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.engine.rounds.context import Context

LEVELS = 2**31 - 2
"""Level at which every edge leaves: numbers of triangles are int32."""


@algorithm(
    "ktruss",
    Parameter("k", int, None, "find members of the k-truss (default: the largest k of every vertex)", least=2),
    columns={
        "truss": ResultColumn("largest k whose k-truss has an edge at the vertex; 0: no edge"),
        "in_truss": ResultColumn("with k: 1 if the vertex has an edge in the k-truss, else 0"),
    },
    aliases=("k_truss", "ktruss_subgraph"),
)
class Ktruss(Algorithm):
    """Truss decomposition: the largest k of an edge at each vertex; every edge is in k - 2 triangles of the k-truss.

    Columns: ``truss`` (int64): 2 with edges but no triangle, 0 without edges. With ``k`` instead ``in_truss`` (int64, 0
    or 1). ``result.edges`` has the trussness of every edge (int64); with ``k`` the edges of the k-truss, and ``k``. The
    summary has the number of edges of the (largest) k-truss. It runs on CPUs.
    """

    k: int | None
    undirected = True
    edge_rule = AS_SIMPLE
    resumes = False

    def run(self, ctx: Context) -> Answer:
        """Peel edges to the end or to the round limit; collective."""
        solver = ctx.solver("trusses")
        with ctx.record("compute"):
            peel = solver.solve(ctx)
            finished = peel.to_the_end() if self.k is None else peel.through(min(self.k - 3, LEVELS))
        truss = peel.truss()
        limit = limited(finished, ctx.rounds)
        if self.k is None:
            k = ctx.largest(int(truss.max(initial=0)))
            summary = {"k": k, "edges": peel.edges}
            return Answer({"truss": truss}, summary, finished, limit, edges=peel.edges_within(2))
        inside = (truss >= self.k).astype(np.int64)
        summary = {"members": ctx.total(int(inside.sum())), "edges": peel.left()}
        return Answer({"in_truss": inside}, summary, finished, limit, edges=peel.edges_within(self.k))
