"""Breadth-first searches from many sources in one pass: hops from each of them (``many_sources/reach_kernel.py``)."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.many_sources.drawn_sources import NAMED_OR_DRAWN, named_columns, named_or_drawn
from dgraph.algorithms.many_sources.results import ENDLESS, LEVELS

COLUMN = ResultColumn("hops from source S; null: unreached", nullable=True)
"""Column of source S."""


@algorithm(
    "multi_source_bfs",
    *NAMED_OR_DRAWN,
    Parameter("depth_limit", int, None, "visit vertices up to this many hops (default: all)", least=0),
    columns={"distance_S": COLUMN},
)
class MultiSourceBfs(Algorithm):
    """Breadth-first searches from many sources at a time: hops from each of them.

    Columns: ``distance_S`` (int64, ``UNREACHED`` without a path) for each source S, in the order of the sources.
    """

    sources: Any
    k: int
    random_state: int
    depth_limit: int | None
    whole_rows = True

    def run(self, ctx):
        """Search; collective."""
        sources = named_or_drawn(ctx, self)
        limit = ENDLESS if self.depth_limit is None else self.depth_limit
        found = ctx.backend.row_kernel("levels").search(ctx, sources, keep=LEVELS, limit=limit)
        fields, self.columns = named_columns(ctx, sources, "distance", COLUMN, found.hops())
        reached = ctx.total(found.pairs)
        return Answer(fields, {"sources": len(sources), "reached": reached, "depth": found.depth})
