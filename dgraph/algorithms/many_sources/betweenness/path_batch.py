"""Arrays of a batch of searches that count shortest paths (``paths_kernel.py``), and their first values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INNER


class Batch(NamedTuple):
    """Arrays of a batch; those of all batches have one more axis in front.

    Attributes:
        cells: counters, int64 (CELLS,).
        now: bitmaps of levels, uint8 (PLANES, slots); ``seen``: lanes that reached a master, uint8 (masters,).
        paths, share: float64 (slots, lanes).
        marked: masters that are candidates, uint8 (masters,); ``candidates``: uint32 (masters,).
        log, lanes: vertices by level, and their lanes, uint32 and uint8; ``levels``: where each level begins, int64.
        factors: by which numbers of paths of a level were scaled, float64 (levels, LANES).
        most: largest number of paths of a level, by lane, float64 (LANES,).
        sums: scratch of a thread, float64 (1, LANES); ``buffer``, ``buffer_lanes``: vertices that it buffers.
    """

    cells: np.ndarray
    now: np.ndarray
    seen: np.ndarray
    paths: np.ndarray
    share: np.ndarray
    marked: np.ndarray
    candidates: np.ndarray
    log: np.ndarray
    lanes: np.ndarray
    levels: np.ndarray
    factors: np.ndarray
    most: np.ndarray
    sums: np.ndarray
    buffer: np.ndarray
    buffer_lanes: np.ndarray


@njit(**INNER)
def batch_of(arrays, group, t):
    """Return the arrays of a batch, with the scratch of thread ``t``."""
    A, g = arrays, group
    return Batch(
        A.cells[g], A.now[g], A.seen[g], A.paths[g], A.share[g], A.marked[g], A.candidates[g], A.log[g], A.lanes[g],
        A.levels[g], A.factors[g], A.most[g], A.sums[t], A.buffer[t], A.buffer_lanes[t],
    )  # fmt: skip


@njit(**INNER)
def begin(sources, B):
    """Log the sources (slots; -1: of another rank) as level 0 of cleared arrays."""
    now, count = B.now[0], 0
    for k in range(len(sources)):
        if sources[k] >= 0:
            v = np.uint32(sources[k])
            B.seen[v] |= 1 << k
            now[v] |= 1 << k
            B.paths[v, k] = 1.0
    for k in range(len(sources)):
        if sources[k] >= 0:
            v = np.uint32(sources[k])
            if now[v] & ((1 << k) - 1) == 0:
                B.log[count], B.lanes[count] = v, now[v]
                count += 1
    B.levels[0], B.levels[1] = 0, count


@njit(**INNER)
def clear_all(member, mates, B):
    """Clear this member's part of the arrays of a batch."""
    slots = len(B.paths)
    first, last = slots * member // mates, slots * (member + 1) // mates
    B.now[:, first:last] = 0
    B.paths[first:last] = 0.0
    B.seen[first : min(last, len(B.seen))] = 0
