"""The compiled part of ``distances.py``."""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.result.columns import UNREACHED


@njit(cache=True, nogil=True)
def widen(values, end, out_degree, column):
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
    reached, farthest, arcs = 0, 0.0, 0
    for v in range(len(values)):
        if np.isfinite(values[v]):
            reached += 1
            farthest = max(farthest, values[v])
            arcs += out_degree[v]
    return reached, farthest, arcs
