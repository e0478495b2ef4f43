"""Distances as users get them, and what is said of them, in one pass over a rank's masters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

UNREACHED = np.iinfo(np.int64).max
"""An integer distance where there is no path."""


@dataclass(frozen=True)
class Distances:
    """This rank's distances.

    Attributes:
        column: shape (masters,); integers as int64, ``UNREACHED`` where there is no path; floats as they were.
        reached: vertices with a path.
        farthest: the largest distance among them; 0 if there are none.
        arcs: edges that leave them, in the whole graph.
    """

    column: np.ndarray
    reached: int
    farthest: float
    arcs: int


def distances(values: np.ndarray, out_degree: np.ndarray) -> Distances:
    """Of ``values`` (masters,), whose dtype's largest value, or infinity, means that there is no path.

    Args:
        out_degree: int64 (masters,), in the whole graph.
    """
    from dgraph.algorithms.distance_kernels import finite, widen  # loads the compiler

    if values.dtype.kind == "f":
        return Distances(values, *finite(values, out_degree))
    column = np.empty(len(values), np.int64)
    return Distances(column, *widen(values, np.iinfo(values.dtype).max, out_degree, column))
