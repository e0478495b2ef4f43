"""Personalised PageRank of many sources in one pass: ranks of walks that restart at each (``rank_lanes.py``)."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.base import Algorithm, Answer, ResultColumn, algorithm
from dgraph.algorithms.many_sources.drawn_sources import check_sources, sources_of
from dgraph.algorithms.many_sources.named_search import NAMED_OR_DRAWN, named_columns
from dgraph.algorithms.pagerank import LIMITS, check_limits
from dgraph.engine.rounds.context import Context


@algorithm(
    "multi_source_pagerank",
    *NAMED_OR_DRAWN,
    *LIMITS,
    columns={"pagerank_S": ResultColumn("share of time of the walk that restarts at S", "number")},
)
class MultiSourcePagerank(Algorithm):
    """Personalised PageRank of many sources at a time, by weights where there are some; walks restart at one each.

    Columns: ``pagerank_S`` (float64) for each source S, in the order of the sources, as of ``pagerank`` with the
    personalisation S: the rank of vertices without out-edges goes to S, too.
    """

    sources: Any
    k: int
    random_state: int
    alpha: float
    tol: float
    max_iter: int
    weighted = True
    resumes = False

    def check(self):
        """Refuse parameters with which the iteration is undefined or cannot end."""
        check_limits(self.alpha, self.tol, self.max_iter)

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the limit for each source; collective."""
        if self.sources is None:
            sources = sources_of(ctx, min(self.k, ctx.local.n), self.random_state)
        else:
            sources = check_sources(ctx, self.sources, self.name)
        ranked = ctx.solver("rank lanes").solve(ctx, sources, self.alpha, self.tol, self.max_iter)
        described = next(iter(type(self).columns.items()))
        fields, self.columns = named_columns(ctx, sources, *described, ranked.columns)  # type: ignore[misc]
        change, rounds = float(max(ranked.changes, default=0.0)), max(ranked.iterations, default=0)
        late = sum(change >= self.tol for change in ranked.changes) if self.tol else 0
        limit = f"{rounds} rounds, after which {late} of {len(sources)} sources change by tol = {self.tol:g} or more"
        summary = {"sources": len(sources), "change": change, "iterations": rounds}
        return Answer(fields, summary, not late, limit if late else None)
