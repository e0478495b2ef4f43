"""The compiled part of ``distances.py``."""

import numpy as np
from numba import njit

from dgraph.algorithms.distances import UNREACHED


@njit(cache=True, nogil=True)
def widen(values, end, out_degree, column):
    reached, farthest, arcs = 0, 0, 0
    for v in range(len(values)):
        if values[v] == end:
            column[v] = UNREACHED
        else:
            column[v] = values[v]
            reached += 1
            farthest = max(farthest, column[v])
            arcs += out_degree[v]
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
