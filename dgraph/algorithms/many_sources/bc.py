"""Betweenness centrality by Brandes' method: eight sources at a time by hops (``paths_kernel.py``), one with weights.

[Brandes, J. Math. Sociol. 2001; with drawn sources: Brandes & Pich, Int. J. Bifurcation Chaos 2007]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.edge_rule import EdgeRule
from dgraph.algorithms.many_sources.betweenness.sampling import SAMPLING, check_sampling, sample
from dgraph.algorithms.many_sources.drawn_sources import lids_of
from dgraph.engine.rounds.context import Context

NORMALIZED = Parameter("normalized", bool, True, "divide by the number of pairs of other vertices")
WEIGHTED = Parameter("weighted", bool, False, "paths are shortest by the weights of edges, which must be above 0")


@algorithm(
    "bc",
    *SAMPLING,
    WEIGHTED,
    NORMALIZED,
    Parameter("endpoints", bool, False, "count a path for its two ends too"),
    aliases=("betweenness_centrality",),
    columns={"bc": ResultColumn("betweenness centrality", "number")},
)
class Bc(Algorithm):
    """Betweenness centrality: the share of shortest paths between other vertices that pass through a vertex.

    Column: ``bc`` (float64), as ``networkx.betweenness_centrality``. With ``k`` or ``epsilon`` it is an estimate, and
    the summary has its ``error_bound``.
    """

    k: int | None
    random_state: int
    weighted: bool  # type: ignore[misc]
    normalized: bool
    endpoints: bool
    epsilon: float | None
    delta: float
    sources: Any
    needs_rows = "own"
    edge_rule = EdgeRule("ignored", "once", stripped=("parallel",))

    def check(self):
        """Refuse sources that are chosen twice, or have values."""
        check_sampling(self)

    def run(self, ctx: Context) -> Answer:
        """Sum dependencies of all or of the drawn sources, and scale them; collective."""
        drawn, n = sample(ctx, self), ctx.local.n
        kernel = ctx.solver("path sums" if self.weighted else "dependencies")
        options = {"name": self.name, "weighted": True} if self.weighted else {}
        summed = kernel.solve(ctx, drawn.sources, endpoints=self.endpoints, **options)
        depth = {} if summed.depth is None else {"depth": summed.depth}
        lids = lids_of(ctx.local, drawn.sources)
        others, source = self._scales(n, len(drawn.sources), ctx.local.directed)
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

        def factor(count: int) -> float:
            if not count:
                return np.nan
            return 1 / (count * (ends - 1)) if self.normalized else ends / (count * (1 if directed else 2))

        return factor(searches), factor(searches - (k < n and not self.endpoints))
