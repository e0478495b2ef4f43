"""Johnson's algorithm: potentials make weights ≥ 0, then each rank searches from the vertices of its own rows.

[Johnson 1977] Each rank holds all arcs, 12 to 28 bytes an arc, which is little beside its rows of the matrix unless
the graph is dense; the plan counts them. Rows are written as they are found, so they may lie in a file.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.graph.halo import NumberedRows

STRIPS = 64
"""Strips of rows, between which a run can be cancelled."""

LONG, LONG_IN_LANES = 100_000_000, 500_000_000
"""Vertices and arcs of all searches from which on rows are searched in strips."""


def johnson(
    rows: NumberedRows, matrix: np.ndarray, kernel: Any, h: np.ndarray | None, step: Callable[[], None],
    search: str = "heap",
) -> None:  # fmt: skip
    """Fill this rank's rows of the matrix; collective.

    Args:
        rows: the arcs.
        matrix: (stop - first, n), on the host.
        kernel: searches from many sources.
        h: potentials; None if weights are ≥ 0.
        step: called on every rank after each strip of rows.
        search: of the kernel's ``searches``.
    """
    whole, reduced = rows.gathered(), None
    if whole.costs is not None and h is not None:
        reduced = np.maximum(whole.costs + np.repeat(h, np.diff(whole.offsets)) - h[whole.targets], 0.0)
    searched = kernel.searching(search, whole, reduced, h, matrix.dtype)
    strips = strips_of(rows.n, len(whole.targets), LONG_IN_LANES if search == "lanes" else LONG)
    cuts = len(matrix) * np.arange(strips + 1) // strips
    for low, high in pairwise(cuts.tolist()):
        if low < high:
            searched(matrix[low:high], rows.first + low)
        step()


def strips_of(n: int, arcs: int, long: int = LONG) -> int:
    """Return the number of strips of a rank's rows."""
    return STRIPS if n * (n + arcs) > long else 1
