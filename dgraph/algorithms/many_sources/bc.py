"""Betweenness centrality by Brandes' method: eight sources at a time by hops (``paths_kernel.py``), one with weights.

[Brandes, J. Math. Sociol. 2001; with drawn sources: Brandes & Pich, Int. J. Bifurcation Chaos 2007]
"""

from __future__ import annotations

import numpy as np

from dgraph.algorithms.base import Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.many_sources.betweenness.sampling import PARAMETERS, Betweenness
from dgraph.algorithms.vertex_values import lids_of
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError


@algorithm(
    "bc",
    *PARAMETERS,
    Parameter("targets", "vertices", None, "vertices to which paths count, from sources (default: all)", weights=False),
    Parameter("endpoints", bool, False, "count a path for its two ends too"),
    aliases=("betweenness_centrality",),
    columns={"bc": ResultColumn("betweenness centrality", "number")},
)
class Bc(Betweenness):
    """Betweenness centrality: the share of shortest paths between other vertices that pass through a vertex.

    Column: ``bc`` (float64), as ``networkx.betweenness_centrality``. With ``k`` or ``epsilon`` it is an estimate, and
    the summary has its ``error_bound``. With ``targets`` only paths from ``sources`` to these count, as in
    ``networkx.betweenness_centrality_subset``.
    """

    needs_rows = "own"
    edge_rule = EdgeRule("ignored", "once", stripped=("parallel",))

    def check(self) -> None:
        """Refuse targets of an estimate or with ends, too."""
        super().check()
        if self.targets is None:
            return
        drawn = [name for name in ("k", "epsilon") if getattr(self, name) is not None] + ["endpoints"] * self.endpoints
        if drawn:
            raise UsageError(f"targets name the paths that count, and {drawn[0]} has no meaning there; leave one out")
        if not len(self.targets):
            raise UsageError("targets is empty, so no path counts; give ids of the graph, or leave it out")

    def run(self, ctx: Context) -> Answer:
        """Sum dependencies of all or of the drawn sources, and scale them; collective."""
        drawn, n = self.sample(ctx), ctx.local.n
        exact = self.targets is not None
        summed = ctx.solver("path sums" if self.weighted or exact else "dependencies").solve(ctx, drawn.sources, self)
        depth = {} if summed.depth is None else {"depth": summed.depth}
        lids = lids_of(ctx.local, drawn.sources)
        others, source = self._scales(n, n if exact else len(drawn.sources), ctx.local.directed)
        ends = n if self.endpoints else n - 1
        factor = 1.0 if self.normalized else max(ends * (ends - 1), 0) / (1 if ctx.local.directed else 2)
        return Answer({"bc": summed.scaled(lids[lids >= 0], source, others)}, drawn.facts(factor) | depth)

    def _scales(self, n: int, k: int, directed: bool) -> tuple[float, float]:
        """Return the factors of vertices that are no sources and of sources, which have no dependency on themselves.

        They are those of NetworkX 3.6: a drawn source takes part in k - 1 searches, every other vertex in k.
        """
        ends = n if self.endpoints else n - 1
        if ends < 2:
            return 1.0, 1.0
        searches = ends if k == n else k
        pairs, weight = (1, ends - 1) if self.normalized else (ends, 1 if directed else 2)
        own = searches - (k < n and not self.endpoints)
        return pairs / (searches * weight), pairs / (own * weight) if own else np.nan
