"""Shortest paths by weights from many sources: distances from each of them (``many_sources/searches.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgraph.algorithms.base import PREDECESSOR, Answer, Parameter, ResultColumn, algorithm
from dgraph.algorithms.many_sources.named_search import MIN_ONLY, NAMED_OR_DRAWN, NEAREST, NamedSearch
from dgraph.algorithms.many_sources.nearest_source import nearest_by_weights
from dgraph.algorithms.many_sources.results import LEVELS
from dgraph.algorithms.sssp_parts.sssp_predecessors import predecessors_of_each
from dgraph.engine.rounds.context import Context
from dgraph.result.columns import Column


@algorithm(
    "multi_source_sssp",
    *NAMED_OR_DRAWN,
    Parameter("cutoff", float, None, "largest distance to find (default: all)", least=0),
    MIN_ONLY,
    Parameter("return_predecessors", bool, False, "also return predecessors from each source: the smallest valid ids"),
    columns={
        "distance_S": ResultColumn("sum of weights from source S; null: unreached", "number", nullable=True),
        "predecessor_S": ResultColumn("vertex before it on a path from source S; null: none", "vertex", nullable=True),
        "distance": ResultColumn("with min_only, sum of weights from the nearest source", "number", nullable=True),
        "source": NEAREST,
        "predecessor": PREDECESSOR,
    },
)
class MultiSourceSssp(NamedSearch):
    """Shortest paths from many sources at a time: distances from each of them; weights must be 0 or more.

    Columns: ``distance_S`` (int64 or the dtype of float weights, ``UNREACHED`` or infinite without a path) for each
    source S, in the order of the sources; with ``return_predecessors`` then ``predecessor_S`` (-1 if there is none) for
    each, at the cost of one more pass over the edges a source. With ``min_only``: ``distance`` from the nearest source,
    ``source``, the one to which the predecessors lead, and ``predecessor``, the smallest on a shortest path (-1 if
    there is none).
    """

    cutoff: float | None
    min_only: bool
    return_predecessors: bool

    weighted = wants_weights = True
    resumes = False
    kernel, keep = "searches", LEVELS

    def options(self) -> dict[str, Any]:
        """Return the name that errors of weights show, and the largest distance."""
        return {"name": self.name, "cutoff": self.cutoff}

    def nearest(self, ctx: Context, sources: np.ndarray) -> Answer:
        """Search once from all sources; collective."""
        return nearest_by_weights(ctx, sources, self.name, self.cutoff)

    def predecessors(self, ctx: Context, sources: np.ndarray, distances: Sequence[Column]) -> list[Column]:
        """Find the predecessors from one source after the other; collective."""
        return predecessors_of_each(ctx, sources, distances) if self.return_predecessors else []
