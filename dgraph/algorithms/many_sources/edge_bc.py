"""Betweenness of edges: dependencies of arcs, summed over sources (``path_sums.py``) [Brandes 2008]."""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Answer, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import AS_SIMPLE
from dgraph.algorithms.many_sources.betweenness.sampling import PARAMETERS, Betweenness
from dgraph.engine.rounds.context import Context
from dgraph.graph.halo import NumberedRows
from dgraph.result.edge_values import EdgeValues


@algorithm(
    "edge_bc",
    *PARAMETERS,
    aliases=("edge_betweenness_centrality",),
    columns={
        "edge_bc": ResultColumn("largest betweenness of an edge that leaves the vertex; null: no edge", "number", True),
        "target": ResultColumn("other end of that edge", "vertex", nullable=True),
    },
)
class EdgeBc(Betweenness):
    """Edge betweenness centrality: the share of shortest paths between vertices that contain an edge.

    ``result.edges`` and files have a value for each edge, as ``networkx.edge_betweenness_centrality``. Columns:
    ``edge_bc`` (float64, infinite without edges) and ``target`` (int64, else -1) of the edge of largest value at each
    vertex; of equal ones the smallest target. With ``k`` or ``epsilon`` the values are estimates, and the summary has
    their ``error_bound``.
    """

    of_arcs = True
    resumes = False
    edge_rule = AS_SIMPLE

    def run(self, ctx: Context) -> Answer:
        """Sum dependencies of all or of the drawn sources, and scale them; collective."""
        drawn, n, undirected = self.sample(ctx), ctx.local.n, not ctx.local.directed
        summed = ctx.solver("path sums").solve(ctx, drawn.sources, self)
        ends, k = max(n * (n - 1), 1), max(len(drawn.sources), 1)
        factor = 1.0 if self.normalized else ends / (2 if undirected else 1)
        values = summed.arcs * (factor * n / (k * ends))
        kept = summed.replica.kept_arcs
        source, target = summed.replica.sources[kept], summed.replica.targets[kept].astype(np.int64)
        if undirected:
            values = values + summed.replica.of_reverse(values)
        edges, highest = self._edges(ctx, summed.replica, source, target, values, undirected)
        summary = drawn.facts(factor) | {"edges": ctx.total(len(edges.values))}
        return Answer(highest, summary, edges=edges)

    def _edges(
        self, ctx: Context, replica: NumberedRows, source, target, values, undirected: bool
    ) -> tuple[EdgeValues, dict]:
        """Return the values of edges, and the columns of vertices."""
        order = np.lexsort((target, -values, source))
        head = order[np.concatenate([[True], np.diff(source[order]) > 0])[: len(order)]]
        first, rows = replica.first, replica.stop - replica.first
        largest, other = np.full(rows, np.inf), np.full(rows, -1, np.int64)
        largest[source[head] - first], other[source[head] - first] = values[head], replica.ids[target[head]]
        columns = {"edge_bc": replica.to_masters(largest), "target": replica.to_masters(other)}
        once = source < target if undirected else np.ones(len(source), bool)
        ends = replica.ids[source[once]], replica.ids[target[once]]
        return EdgeValues(*ends, values[once], self.name, ctx.comm, ctx.names, ctx.backend.host_threads), columns
