"""Recipe: a graph that is not made yet, of which any rank can make any piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dgraph.graph.block import gid_type

Edges = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Sources and targets (uint32 where n ≤ 2**32, else int64) and weights, or None."""


@dataclass(frozen=True)
class Formula:
    """An edge as a function that a kernel computes, with the same bits as ``Recipe.edges``.

    Attributes:
        name: of the function in ``backend/cuda/graph_build/draw_edges.cuh``, which says what the numbers mean.
        whole: integers below 2**64, at most ``WHOLE``.
        real: floats, at most ``REAL``.
        weighted: whether it gives int32 weights, too, as a function of an edge's ends.
    """

    name: str
    whole: tuple[int, ...] = ()
    real: tuple[float, ...] = ()
    weighted: bool = False


WHOLE, REAL = 12, 6


@dataclass(frozen=True)
class Recipe:
    """What a generator returns.

    Attributes:
        n: vertices, numbered 0 .. n-1.
        items: edges before any is dropped, numbered 0 .. items-1.
        directed: whether an edge is one arc.
        edges: ``edges(first, last)`` makes the edges of items first .. last-1: a pure function, so slices of any
            cut, put end to end, are the same list.
        note: what was generated, one sentence for the load line.
        formula: the same, for kernels.
        parallel: parallel edges are part of the graph, and are kept.
        ones: where the bits of both ends of an edge are drawn one by one (R-MAT): the shares of ones among those of the
            source and of the target. None: edges are made otherwise, or ids tell of hubs.
        span: ids that an edge joins lie no farther apart, in a ring; None: any.
    """

    n: int
    items: int
    directed: bool
    edges: Callable[[int, int], Edges]
    note: str
    formula: Formula
    parallel: bool = False
    ones: tuple[float, float] | None = None
    span: int | None = None


def empty_ends(n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Two uninitialised arrays for the ends of ``count`` edges of a graph of n vertices."""
    return np.empty(count, gid_type(n)), np.empty(count, gid_type(n))
