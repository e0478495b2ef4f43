"""Johnson's algorithm: potentials make weights ≥ 0, then each rank searches from the vertices of its own rows.

[Johnson 1977] Each rank holds all arcs, 12 to 28 bytes an arc, which is little beside its rows of the matrix unless
the graph is dense; the plan counts them. Rows are written as they are found, so they may lie in a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.algorithms.apsp_parts.matrix_rows import MatrixRows

STRIPS = 64
"""Strips of rows, between which a run can be cancelled."""

LONG = 100_000_000
"""Vertices and arcs of all searches from which on rows are searched in strips."""


@dataclass(frozen=True)
class WholeRows:
    """Arcs of the whole graph.

    Attributes:
        offsets: int64 (n + 1,).
        targets: uint32 (arcs,).
        costs: weights ≥ 0 that order a search, float64; None if every arc costs 1.
        weights: the arcs' own, float64; None where they are ``costs``.
        negative: True if some weight is negative.
    """

    offsets: np.ndarray
    targets: np.ndarray
    costs: np.ndarray | None
    weights: np.ndarray | None
    negative: bool


def johnson(rows: MatrixRows, matrix: np.ndarray, kernel: Any, h: np.ndarray | None, step: Callable[[], None]) -> None:
    """Fill this rank's rows of the matrix; collective.

    Args:
        rows: the arcs.
        matrix: (stop - first, n), on the host.
        kernel: searches from many sources.
        h: potentials; None if weights are ≥ 0.
        step: called on every rank after each strip of rows.
    """
    comm = rows.comm
    counts = np.bincount(rows.source - rows.first, minlength=rows.stop - rows.first)
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(comm.allgatherv(counts)))])
    targets = np.concatenate(comm.allgatherv(rows.target.astype(np.uint32)))
    costs = weights = None
    if rows.weight is not None:
        costs = np.concatenate(comm.allgatherv(rows.weight))
    if costs is not None and h is not None:
        weights = costs
        costs = np.maximum(weights + np.repeat(h, np.diff(offsets)) - h[targets], 0.0)
    whole = WholeRows(offsets, targets, costs, weights, h is not None)
    strips = STRIPS if rows.n * (rows.n + len(targets)) > LONG else 1
    cuts = len(matrix) * np.arange(strips + 1) // strips
    for low, high in pairwise(cuts.tolist()):
        if low < high:
            kernel.search(matrix[low:high], rows.first + low, whole)
        step()
