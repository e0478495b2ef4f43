"""Breadth-first searches from many sources in one pass: hops from each of them (``many_sources/reach_kernel.py``)."""

from __future__ import annotations

from dgraph.algorithms.base import ResultColumn, algorithm
from dgraph.algorithms.many_sources.named_search import MIN_ONLY, NAMED_OR_DRAWN, NEAREST, NamedHopSearch, depth_limit
from dgraph.algorithms.many_sources.nearest_source import nearest_by_hops
from dgraph.algorithms.many_sources.results import LEVELS


@algorithm(
    "multi_source_bfs",
    *NAMED_OR_DRAWN,
    depth_limit("visit vertices up to this many hops (default: all)"),
    MIN_ONLY,
    columns={
        "distance_S": ResultColumn("hops from source S; null: unreached", nullable=True),
        "distance": ResultColumn("with min_only, hops from the nearest source; null: unreached", nullable=True),
        **NEAREST,
    },
)
class MultiSourceBfs(NamedHopSearch):
    """Breadth-first searches from many sources at a time: hops from each of them.

    Columns: ``distance_S`` (int64, ``UNREACHED`` without a path) for each source S, in the order of the sources.
    With ``min_only``: ``distance`` from the nearest source, ``source``, the one to which the predecessors lead, and
    ``predecessor``, the smallest on a shortest path; -1 if there is none.
    """

    kernel, keep, nearest = "levels", LEVELS, staticmethod(nearest_by_hops)
