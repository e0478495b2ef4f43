"""Vertices that many sources reach, in one pass with a bit for each source (``reach_kernel.py``)."""

from __future__ import annotations

from dgraph.algorithms.base import ResultColumn, algorithm
from dgraph.algorithms.many_sources.named_search import NAMED_OR_DRAWN, NamedHopSearch, depth_limit
from dgraph.algorithms.many_sources.results import BITS


@algorithm(
    "reachability",
    *NAMED_OR_DRAWN,
    depth_limit("follow paths of up to this many edges (default: all)"),
    columns={"reached_S": ResultColumn("1: a path leads from source S to the vertex; 0: none")},
)
class Reachability(NamedHopSearch):
    """Reachability from many sources at a time: the vertices to which a path leads from each of them.

    Columns: ``reached_S`` (int64, 1 or 0) for each source S, in the order of the sources; a source reaches itself.
    """

    kernel, keep = "reach", BITS
