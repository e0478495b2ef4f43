"""Compiled loops of ``distances.py``: one pass over a rank's masters."""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.result.columns import UNREACHED


@njit(cache=True, nogil=True)
def widen(values, end, out_degree, column):
    """Write integer distances as int64 into ``column``, with ``UNREACHED`` for ``end``.

    Returns:
        Reached vertices, their largest distance (0 if there are none), and the sum of their out-degrees.
    """
    reached, farthest, arcs = 0, 0, 0
    for v in range(len(values)):  # without branches, so that it becomes vector instructions
        here = values[v] != end
        column[v] = values[v] if here else UNREACHED
        reached += here
        farthest = max(farthest, values[v] if here else 0)
        arcs += out_degree[v] if here else 0
    return reached, farthest, arcs


@njit(cache=True, nogil=True)
def finite(values, out_degree):
    """Return the number of finite distances, the largest of them, and the sum of their vertices' out-degrees."""
    reached, farthest, arcs = 0, 0.0, 0
    for v in range(len(values)):
        if np.isfinite(values[v]):
            reached += 1
            farthest = max(farthest, values[v])
            arcs += out_degree[v]
    return reached, farthest, arcs
