"""Personalised PageRank of many sources in one pass: ranks of walks that restart at each (``rank_lanes.py``).

A walk restarts at one source, or at the vertices of one personalisation by their weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.many_sources.drawn_sources import check_vertices
from dgraph.algorithms.many_sources.named_search import NAMED_OR_DRAWN, named_columns, named_or_drawn, names_of
from dgraph.algorithms.many_sources.rank_lanes import Restarts
from dgraph.algorithms.pagerank import LIMITS, check_limits
from dgraph.algorithms.vertex_values import normalized
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError


@algorithm(
    "multi_source_pagerank",
    *NAMED_OR_DRAWN,
    Parameter(
        "personalizations",
        "vertices",
        None,
        "in place of sources: an option for each walk, with the vertices where it restarts, or id=weight",
        groups=True,
    ),
    *LIMITS,
    columns={"pagerank_S": ResultColumn("share of time of the walk that restarts at S", "number")},
)
class MultiSourcePagerank(Algorithm):
    """Personalised PageRank of many sources at a time, by weights where there are some; walks restart at one each.

    Columns: ``pagerank_S`` (float64) for each source S, in the order of the sources, as of ``pagerank`` with the
    personalisation S: the rank of vertices without out-edges goes to S, too. With ``personalizations``, a list of
    vertices or of dicts of vertex → weight: ``pagerank_0``, ``pagerank_1``, … in their order.
    """

    sources: Any
    k: int
    random_state: int
    personalizations: Any
    alpha: float
    tol: float
    max_iter: int
    weighted = True
    resumes = False

    def check(self):
        """Refuse parameters with which the iteration is undefined or cannot end."""
        check_limits(self.alpha, self.tol, self.max_iter)
        if self.sources is not None and self.personalizations is not None:
            raise UsageError("sources and personalizations both say where walks restart; leave one of them out")

    def run(self, ctx: Context) -> Answer:
        """Iterate to the tolerance or the limit for each source; collective."""
        column = type(self).columns["pagerank_S"]
        if self.personalizations is None:
            restarts = Restarts.at_sources(named_or_drawn(ctx, self))
            ids = names_of(ctx, restarts.vertices)
        else:
            restarts = restarts_of(ctx, self.personalizations)
            column = replace(column, help="share of time of the walk that restarts by personalisation S")
            ids = range(restarts.count)
        ranked = ctx.solver("rank lanes").solve(ctx, restarts, self.alpha, self.tol, self.max_iter)
        fields, self.columns = named_columns("pagerank_S", column, ids, ranked.columns)  # type: ignore[misc]
        change, rounds = float(max(ranked.changes, default=0.0)), max(ranked.iterations, default=0)
        late = sum(change >= self.tol for change in ranked.changes) if self.tol else 0
        limit = f"{rounds} rounds, after which {late} of {restarts.count} sources change by tol = {self.tol:g} or more"
        summary = {"sources": restarts.count, "change": change, "iterations": rounds}
        return Answer(fields, summary, not late, limit if late else None)


def restarts_of(ctx: Context, personalizations: Sequence[Mapping[int, float] | Sequence[int]]) -> Restarts:
    """Return the restarts of walks, each at vertices with weights or of equal weight; collective.

    Raises:
        UsageError: a vertex that the graph does not have, or weights that are negative, not finite or all 0.
    """
    rows = [normalized(f"personalizations[{number}]", row) for number, row in enumerate(personalizations)]
    vertices = np.array([vertex for row in rows for vertex in row], np.int64)
    check_vertices(ctx, "personalizations", vertices)
    walks = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return Restarts(vertices, walks, np.array([share for row in rows for share in row.values()]), len(rows))
