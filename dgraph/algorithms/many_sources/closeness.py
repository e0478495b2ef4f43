"""Closeness centrality: searches from 512 sources at a time (``reach.py``), by weights from 8 (``searches.py``).

A search from s adds d(s, v) to every vertex v that it reaches. Searches from all vertices give v its inward distances;
searches from k drawn sources an estimate [Eppstein & Wang, J. Graph Algorithms Appl. 2004].
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.many_sources.drawn_sources import PIECE, RANDOM_STATE, K, sources_of
from dgraph.algorithms.vertex_values import lids_of
from dgraph.algorithms.weight_checks import refuse_through
from dgraph.engine.rounds.context import Context


@algorithm(
    "closeness",
    K,
    RANDOM_STATE,
    Parameter(
        "wf_improved", bool, True, "multiply by the share of vertices that reach the vertex, for graphs in parts"
    ),
    Parameter("weighted", bool, False, "distances are sums of weights, which must be 0 or more"),
    aliases=("closeness_centrality",),
    columns={"closeness": ResultColumn("closeness centrality", "number")},
)
class Closeness(Algorithm):
    """Closeness centrality: the inverse of the mean distance from the vertices that reach a vertex.

    Column: ``closeness`` (float64), as ``networkx.closeness_centrality``: distances are inward, by hops or
    weights.
    """

    k: int | None
    random_state: int
    wf_improved: bool
    weighted: bool  # type: ignore[misc]
    keep, limit = "", None
    needs_rows = "own"
    edge_rule = AS_SIMPLE

    def run(self, ctx: Context) -> Answer:
        """Search from all or from the drawn sources; collective."""
        sources = sources_of(ctx, self.k, self.random_state)
        reached = ctx.solver("searches" if self.weighted else "reach").solve(ctx, sources, self)
        if self.weighted:
            passed = ctx.local.original[: ctx.local.masters][np.isinf(reached.far)]
            refuse_through(ctx, passed, float(np.finfo(np.float64).max), "the sum of distances to")
        depth = {} if self.weighted else {"depth": reached.depth}
        near, drawn = np.zeros(ctx.local.masters), np.zeros(ctx.local.masters, bool)
        lids = lids_of(ctx.local, sources)
        drawn[lids[lids >= 0]] = True
        for first in range(0, len(near), PIECE):
            piece = slice(first, first + PIECE)
            count, far, others = reached.reached[piece], reached.far[piece], len(sources) - drawn[piece]
            np.divide(count, far, out=near[piece], where=far > 0)
            if self.wf_improved:
                near[piece] *= count / np.maximum(others, 1)  # a source that is the only one is reached by none
        return Answer({"closeness": near}, {"sources": len(sources)} | depth)
