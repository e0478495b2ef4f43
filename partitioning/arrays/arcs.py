"""Iterate over a rank's arcs in pieces of bounded size, and group their values by owner."""

from __future__ import annotations

import numpy as np

CHUNK = 1 << 18
"""Arcs in a piece: a few tens of MB of temporaries."""


def rounds(edges, comm) -> int:
    """Return the largest number of pieces on any rank; collective. Ranks with fewer take part with empty ones."""
    return -(-comm.largest(len(edges.targets)) // CHUNK)


def span(edges, number: int) -> tuple[int, int]:
    """Return the positions ``start .. stop`` of one piece in this rank's targets; empty beyond the end."""
    arcs = len(edges.targets)
    return min(number * CHUNK, arcs), min((number + 1) * CHUNK, arcs)


def rows(edges, start: int, stop: int) -> tuple[int, int, np.ndarray]:
    """Return the rows ``low .. high`` of arcs ``start .. stop``, and the number of these arcs in each."""
    if start == stop:
        return 0, 0, np.zeros(0, np.int64)
    low = int(np.searchsorted(edges.offsets, start, side="right")) - 1
    high = int(np.searchsorted(edges.offsets, stop, side="left"))
    return low, high, np.diff(np.clip(edges.offsets[low : high + 1], start, stop))


def ends(edges, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """Return source and target gids of arcs ``start .. stop``, in the dtype of ``targets``."""
    low, high, counts = rows(edges, start, stop)
    gids = np.arange(edges.first + low, edges.first + high, dtype=edges.targets.dtype)
    return np.repeat(gids, counts), edges.targets[start:stop]


def pieces(edges):
    """Yield source and target gids of all arcs here, piece by piece; not collective."""
    for start in range(0, len(edges.targets), CHUNK):
        yield ends(edges, start, min(start + CHUNK, len(edges.targets)))


def group_by_owner(owners: np.ndarray, size: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the stable order that groups by owner (None: already grouped), and the groups' cuts, (size + 1,)."""
    cuts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=size))])
    if np.all(owners[1:] >= owners[:-1]):
        return None, cuts
    from partitioning.arrays.kernels import order

    places = np.empty(owners.size, np.int64)
    order(owners, cuts[:-1].copy(), places)
    return places, cuts


def grouped(values: np.ndarray, order: np.ndarray | None, cuts: np.ndarray) -> list[np.ndarray]:
    """Split values into the groups that :func:`group_by_owner` found, one array each."""
    values = values if order is None else values[order]
    return [values[cuts[r] : cuts[r + 1]] for r in range(len(cuts) - 1)]
