"""``Recipe``: a graph as a function from edge numbers to edges, so that any rank can make any slice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dgraph.graph.block import gid_type

Edges = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Sources and targets (uint32 if n ≤ 2**32, else int64), and weights or None."""


@dataclass(frozen=True)
class Formula:
    """Edge function in a form that GPU kernels compute, bit for bit equal to ``Recipe.edges``.

    Attributes:
        name: of the function in ``backend/cuda/graph_build/draw_edges.cuh``, which documents the parameters.
        whole: integers below 2**64, at most ``WHOLE``.
        real: floats, at most ``REAL``.
        weighted: True if it also gives int32 weights, as a function of an edge's ends.
    """

    name: str
    whole: tuple[int, ...] = ()
    real: tuple[float, ...] = ()
    weighted: bool = False


WHOLE, REAL = 12, 6


@dataclass(frozen=True)
class Recipe:
    """Result of a generator.

    Attributes:
        n: vertices, numbered 0 .. n-1.
        items: edges before any is dropped, numbered 0 .. items-1.
        directed: True if an edge is one arc.
        edges: ``edges(first, last)`` makes the edges of items first .. last-1: a pure function, so that the slices of
            any cut concatenate to the same list.
        note: description for the load line, one sentence.
        formula: the edge function for GPU kernels.
        parallel: True if parallel edges are part of the graph, and are kept.
        ones: if the bits of both ends are drawn one by one (R-MAT): the shares of ones among the bits of the source and
            of the target. None: degrees do not follow from the bits of the ids.
        span: largest distance between the ids of an edge, in a ring; None: unbounded.
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
    """Return two uninitialised arrays for the ends of ``count`` edges of a graph of n vertices."""
    return np.empty(count, gid_type(n)), np.empty(count, gid_type(n))
