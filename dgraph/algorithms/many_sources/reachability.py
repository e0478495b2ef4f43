"""Vertices that many sources reach, found in one pass with a bit for each source (``reach_kernel.py``)."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.many_sources.drawn_sources import NAMED_OR_DRAWN, named_columns, named_or_drawn
from dgraph.algorithms.many_sources.results import BITS, ENDLESS

COLUMN = ResultColumn("1: a path leads from source S to the vertex; 0: none")
"""Column of source S."""


@algorithm(
    "reachability",
    *NAMED_OR_DRAWN,
    Parameter("depth_limit", int, None, "follow paths of up to this many edges (default: all)", least=0),
    columns={"reached_S": COLUMN},
)
class Reachability(Algorithm):
    """Reachability from many sources at a time: the vertices to which a path leads from each of them.

    Columns: ``reached_S`` (int64, 1 or 0) for each source S, in the order of the sources; a source reaches itself.
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
        found = ctx.backend.row_kernel("reach").search(ctx, sources, keep=BITS, limit=limit)
        fields, self.columns = named_columns(ctx, sources, "reached", COLUMN, found.marks(len(sources)))
        reached = ctx.total(found.pairs)
        return Answer(fields, {"sources": len(sources), "reached": reached, "depth": found.depth})
