"""Kernels of whole rows that find nothing: ``estimate`` runs algorithms with them, to see what else they run."""

from __future__ import annotations

from typing import Any

import numpy as np

NONE = np.zeros(0, np.int64)


class NoCounts:
    """Stands for a counter of triangles."""

    def whole(self, local: Any) -> tuple[dict[str, np.ndarray], int, float]:
        """Return columns of zeros, and their sums."""
        zeros = np.zeros(local.masters, np.int64)
        return {"triangles": zeros, "lcc": zeros.astype(np.float64)}, 0, 0.0


class NoDistances:
    """Stands for all pairs of distances."""

    def whole(self, local: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts of reached vertices and the farthest distances."""
        return np.zeros(local.masters, np.int64), np.zeros(local.masters)


class NoForest:
    """Stands for a finder of light edges."""

    def whole(self, local: Any) -> tuple[dict[str, np.ndarray], int, int]:
        """Return columns of a forest, its weight and its edges."""
        return dict.fromkeys(("weight", "source", "target"), NONE), 0, 0


class NoPeel:
    """Stands for rounds that peel edges."""

    left = 0
    support = state = ends = NONE

    def least(self, above: int) -> int:
        """Return that no edge is left."""
        return np.iinfo(np.int32).max

    def peel(self, level: int, rounds: int) -> tuple[int, bool]:
        """Return no rounds."""
        return 0, True


class NoEdgeTriangles:
    """Stands for a counter of triangles at edges."""

    def supports(self, full: Any) -> np.ndarray:
        """Return triangles of edges."""
        return np.zeros(len(full.targets), np.int32)

    def peel(self, full: Any) -> NoPeel:
        """Return rounds without edges."""
        return NoPeel()

    def destroyed(self, full: Any, leaving: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return edges of triangles."""
        return NONE, NONE, NONE

    def arcs_among_neighbours(self, full: Any) -> np.ndarray:
        """Return arcs of masters."""
        return np.zeros(len(full.rows.mine), np.int64)


class ByPrograms:
    """Stands for a finder of strongly connected components where programs find them."""

    def __init__(self, _: Any = None):
        pass

    def found(self, ctx: Any, ahead: Any, behind: Any) -> None:
        """Return None."""
