"""Breadth-first searches from many sources in one pass: hops from each of them (``many_sources/reach_kernel.py``)."""

from __future__ import annotations

from dgraph.algorithms.base import ResultColumn, algorithm
from dgraph.algorithms.many_sources.named_search import NAMED_OR_DRAWN, NamedHopSearch, depth_limit
from dgraph.algorithms.many_sources.results import LEVELS


@algorithm(
    "multi_source_bfs",
    *NAMED_OR_DRAWN,
    depth_limit("visit vertices up to this many hops (default: all)"),
    columns={"distance_S": ResultColumn("hops from source S; null: unreached", nullable=True)},
)
class MultiSourceBfs(NamedHopSearch):
    """Breadth-first searches from many sources at a time: hops from each of them.

    Columns: ``distance_S`` (int64, ``UNREACHED`` without a path) for each source S, in the order of the sources.
    """

    kernel, keep = "levels", LEVELS
