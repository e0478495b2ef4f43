"""Distances that exceed the largest float: they are infinite, as those of pairs without a path, and are refused.

An arc from a vertex that a row reaches to one that it does not reach exists only if a sum overflowed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph.algorithms.weight_checks import overflow_error
from dgraph.graph.halo import NumberedRows

CELLS = 1 << 22
"""Pairs of a row and an arc that are compared at a time."""


def refuse_overflowed(distances: np.ndarray, rows: NumberedRows, called: Callable[[int], int | str]) -> None:
    """Refuse a matrix of which a distance overflowed; collective.

    Args:
        distances: this rank's rows (stop - first, n), on the host.
        rows: the arcs.
        called: collective; makes an original id a vertex's name.

    Raises:
        DataError: on every rank alike; the text names the smallest vertex after which a sum overflowed.
    """
    whole, via = rows.gathered(), rows.n
    sources = np.repeat(np.arange(rows.n), np.diff(whole.offsets))
    strip = max(1, CELLS // max(len(sources), rows.n))
    for low in range(0, len(distances), strip):
        part = distances[low : low + strip]
        wrong = ~(part < np.inf)
        lost = (~wrong[:, sources] & wrong[:, whole.targets]).any(axis=0)
        below = np.flatnonzero((part == -np.inf).any(axis=0))
        via = min(via, int(sources[lost].min(initial=rows.n)), int(below.min(initial=rows.n)))
    via = int(rows.comm.allreduce(np.array([via], np.int64), "min")[0])
    if via < rows.n:
        raise overflow_error(called(int(rows.ids[via])), float(np.finfo(distances.dtype).max))
