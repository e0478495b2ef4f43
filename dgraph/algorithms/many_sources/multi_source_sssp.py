"""Shortest paths by weights from many sources: distances from each of them (``many_sources/searches.py``)."""

from __future__ import annotations

from dgraph.algorithms.base import Parameter, ResultColumn, algorithm
from dgraph.algorithms.many_sources.named_search import MIN_ONLY, NAMED_OR_DRAWN, NEAREST, NamedSearch
from dgraph.algorithms.many_sources.nearest_source import nearest_by_weights
from dgraph.algorithms.many_sources.results import LEVELS


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
        **NEAREST,
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

    weighted = wants_weights = True
    resumes = False
    kernel, keep, nearest = "searches", LEVELS, staticmethod(nearest_by_weights)

    @property
    def limit(self) -> float | None:
        """Largest distance."""
        return self.cutoff
