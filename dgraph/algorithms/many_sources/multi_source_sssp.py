"""Shortest paths by weights from many sources: distances from each of them (``many_sources/searches.py``)."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.base import ResultColumn, algorithm
from dgraph.algorithms.many_sources.named_search import NAMED_OR_DRAWN, NamedSearch
from dgraph.algorithms.many_sources.results import LEVELS


@algorithm(
    "multi_source_sssp",
    *NAMED_OR_DRAWN,
    columns={"distance_S": ResultColumn("sum of weights from source S; null: unreached", "number", nullable=True)},
)
class MultiSourceSssp(NamedSearch):
    """Shortest paths from many sources at a time: distances from each of them; weights must be 0 or more.

    Columns: ``distance_S`` (int64 or the dtype of float weights, ``UNREACHED`` or infinite without a path) for each
    source S, in the order of the sources.
    """

    weighted = wants_weights = True
    resumes = False
    kernel, keep = "searches", LEVELS

    def options(self) -> dict[str, Any]:
        """Return the name that errors of weights show."""
        return {"name": self.name}
