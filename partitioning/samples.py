"""Estimates from a sample of arcs, which cost milliseconds where a partitioner costs seconds."""

from __future__ import annotations

import numpy as np

from partitioning.arrays.hashing import hash64
from partitioning.placement import Placement

ARCS = 1 << 15
"""Arcs that all ranks sample together for a cut; of a graph with fewer, all are taken."""

WEDGES = 1 << 12
"""Pairs of arcs from one vertex that all ranks sample together."""


def cut(edges, placement: Placement, comm) -> float:
    """Estimate the share of the arcs whose ends have different owners; collective."""
    here = len(edges.targets)
    positions = np.arange(here) if edges.arcs <= ARCS else _positions(edges, -(-ARCS * here // edges.arcs))
    of_src, of_dst = placement.owner(_rows(edges, positions) + edges.first), placement.owner(edges.targets[positions])
    crossing = float(np.mean(of_src != of_dst)) * here if here else 0.0
    return float(comm.allreduce(np.array([crossing]))[0]) / max(edges.arcs, 1)


def closed_wedges(edges, comm) -> tuple[int, int]:
    """Count sampled wedges u ← v → w with an arc u → w; collective.

    Returns:
        The closed wedges, and for comparison the arcs between as many u and w of different wedges: those that the
        degrees alone explain.
    """
    sample = _positions(edges, WEDGES * len(edges.targets) // max(edges.arcs, 1))
    rows = _rows(edges, sample)
    starts, lengths = edges.offsets[rows], edges.offsets[rows + 1] - edges.offsets[rows]
    seconds = starts + (sample - starts + 1 + sample % np.maximum(lengths - 1, 1)) % lengths
    ends = np.stack([edges.targets[sample], edges.targets[seconds]]).astype(np.int64)[:, lengths > 1]
    first, second = np.concatenate([part.reshape(2, -1) for part in comm.allgatherv(ends.ravel())], axis=1)
    others = np.roll(second, len(second) // 2)
    closed, by_chance = comm.allreduce(np.array([_arcs_between(edges, first, u) for u in (second, others)]))
    return int(closed), int(by_chance)


def _positions(edges, count: int) -> np.ndarray:
    """Return ``count`` random positions among this rank's arcs, sorted; the same in every run."""
    # by a hash: the import of numpy.random takes 10 ms of each rank
    draws = hash64(hash64(np.array([edges.first])) + np.arange(count, dtype=np.uint64))
    return np.sort((draws % np.uint64(max(len(edges.targets), 1))).astype(np.int64))


def _rows(edges, positions: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges.offsets, positions, side="right") - 1


def _arcs_between(edges, sources: np.ndarray, targets: np.ndarray) -> int:
    """Count the pairs whose source has its row here and an arc to the target: binary search in all rows at once."""
    mine = (sources >= edges.first) & (sources < edges.first + len(edges.offsets) - 1) & (sources != targets)
    rows, targets = sources[mine] - edges.first, targets[mine]
    low, stop, last = edges.offsets[rows], edges.offsets[rows + 1], len(edges.targets) - 1
    high = stop
    while np.any(low < high):
        middle = (low + high) // 2
        smaller = (low < high) & (edges.targets[np.minimum(middle, last)] < targets)
        low, high = np.where(smaller, middle + 1, low), np.where(smaller, high, middle)
    present = low < stop
    return int(np.count_nonzero(edges.targets[low[present]] == targets[present]))
