"""Shortest paths by weights from many sources: distances from each of them (``many_sources/searches.py``)."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.base import Algorithm, Answer, ResultColumn, algorithm
from dgraph.algorithms.many_sources.drawn_sources import NAMED_OR_DRAWN, named_columns, named_or_drawn

COLUMN = ResultColumn("sum of weights from source S; null: unreached", "number", nullable=True)
"""Column of source S."""


@algorithm(
    "multi_source_sssp",
    *NAMED_OR_DRAWN,
    columns={"distance_S": COLUMN},
)
class MultiSourceSssp(Algorithm):
    """Shortest paths from many sources at a time: distances from each of them; weights must be 0 or more.

    Columns: ``distance_S`` (int64 or the dtype of float weights, ``UNREACHED`` or infinite without a path) for each
    source S, in the order of the sources.
    """

    sources: Any
    k: int
    random_state: int
    weighted = wants_weights = True
    resumes = False

    def run(self, ctx):
        """Search from each source; collective."""
        sources = named_or_drawn(ctx, self)
        found, reached = ctx.backend.row_kernel("searches").distances(ctx, sources, self.name)
        fields, self.columns = named_columns(ctx, sources, "distance", COLUMN, found)
        return Answer(fields, {"sources": len(sources), "reached": reached})
