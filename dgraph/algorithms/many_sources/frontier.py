"""Frontiers of searches from many sources: which masters may be reached next.

Kernels of this folder run on one thread for one batch of sources; threads take different batches.
"""

from __future__ import annotations

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INNER

DENSE = 12
"""A frontier with more than one in this many edges is large: every master is a candidate then."""


@njit(**INNER)
def candidates(frontier, size, pushed_offsets, pushed, limit, marked, listed):
    """Write the masters that an edge of ``frontier[:size]`` enters to ``listed``; return their number.

    Returns -1 if the frontier has more than ``limit`` edges. ``marked`` is 0 before and after.
    """
    edges = 0
    for i in range(size):
        u = frontier[i]
        edges += pushed_offsets[u + 1] - pushed_offsets[u]
        if edges > limit:
            return -1
    count = 0
    for i in range(size):
        u = frontier[i]
        for e in range(pushed_offsets[u], pushed_offsets[u + 1]):
            v = pushed[e]
            if marked[v] == 0:
                marked[v] = 1
                listed[count] = v
                count += 1
    for i in range(count):
        marked[listed[i]] = 0
    return count
