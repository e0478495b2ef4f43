"""Edge-cuts by contiguous blocks of vertices with equally many arcs: outgoing (oec) or incoming (iec)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from partitioning.arrays import arcs
from partitioning.placement import LookUp, Placement
from partitioning.policy_register import policy

SLACK = 1.05
"""Imbalance up to which rows stay on the ranks that loaded them, so that no arc has to move."""


@dataclass(frozen=True)
class Blocks(LookUp):
    """Owners by contiguous blocks: part p owns gids ``bounds[p] .. bounds[p + 1] - 1``.

    ``bounds``: int64, shape (parts + 1,), from 0 to n.
    """

    bounds: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        """Return the parts that own these gids."""
        return np.searchsorted(self.bounds[1:-1], gids, side="right").astype(np.int32)


@policy("oec", "outgoing edge-cut: contiguous blocks balanced by out-arcs, arcs at their source's owner")
def oec(edges, parts, comm) -> Placement:
    """Place blocks of vertices balanced by out-arcs; collective."""
    return out_blocks(edges, parts, comm.allgather(share(edges.offsets)), comm)


@policy("iec", "incoming edge-cut: contiguous blocks balanced by in-arcs, arcs at their target's owner")
def iec(edges, parts, comm) -> Placement:
    """Place blocks of vertices balanced by in-arcs; collective."""
    return Placement("iec", "incoming", parts, Blocks(bounds_by_in_arcs(edges, parts, comm)))


def out_blocks(edges, parts, shares, comm) -> Placement:
    """Place blocks of vertices balanced by out-arcs, given every rank's :func:`share` of rows; collective."""
    return Placement("oec", "outgoing", parts, Blocks(_bounds(edges.offsets, parts, shares, comm)))


def bounds_by_out_arcs(edges, parts, comm) -> np.ndarray:
    """Return bounds of blocks with about equally many vertices plus out-arcs; collective."""
    return bounds_by_cost(edges.offsets, parts, comm)


def bounds_by_in_arcs(edges, parts, comm) -> np.ndarray:
    """Return bounds of blocks with about equally many vertices plus in-arcs; collective."""
    if not edges.directed:
        return bounds_by_out_arcs(edges, parts, comm)
    count = getattr(edges, "in_offsets", None)  # graphs built on GPUs provide in-degrees before their arcs exist
    if count is not None:
        return bounds_by_cost(count(), parts, comm)
    starts = np.arange(comm.size + 1, dtype=np.int64) * edges.n // comm.size
    return bounds_by_cost(in_offsets(edges, starts, comm), parts, comm)


def in_offsets(edges, starts, comm) -> np.ndarray:
    """Return the running sum, from 0, of the in-degrees of this rank's gids, ``starts[rank] .. starts[rank + 1] - 1``.

    Collective.
    """
    from partitioning.arrays.kernels import count

    first, stop = int(starts[comm.rank]), int(starts[comm.rank + 1])
    offsets = np.zeros(stop - first + 1, np.int64)
    for number in range(arcs.rounds(edges, comm)):
        start, end = arcs.span(edges, number)
        targets = edges.targets[start:end]
        order, cuts = arcs.group_by_owner(np.searchsorted(starts[1:-1], targets, side="right"), comm.size)
        for part in comm.alltoallv(arcs.grouped(targets, order, cuts)):
            count(part, first, offsets)
    return np.cumsum(offsets, out=offsets)


def bounds_by_cost(offsets, parts, comm) -> np.ndarray:
    """Cut consecutive rows, spread over the ranks in order, into parts of about equal cost; collective.

    A row costs its arcs (``offsets``: their running sum here, from 0) plus one, so that a long run of isolated vertices
    is divided, too.
    """
    return _bounds(offsets, parts, comm.allgather(share(offsets)), comm)


def share(offsets) -> np.ndarray:
    """Return the number of rows here, and their cost."""
    rows = len(offsets) - 1
    return np.array([rows, int(offsets[rows]) + rows], np.int64)


def _bounds(offsets, parts, shares, comm) -> np.ndarray:
    rank = comm.rank

    def cost(row: int) -> int:
        return int(offsets[row]) + row

    rows = len(offsets) - 1
    firsts, before = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(shares, axis=0)]).T
    total = int(before[-1])
    if parts == comm.size and shares[:, 1].max() * parts <= SLACK * total:
        return firsts
    bounds = np.zeros(parts + 1, np.int64)
    for k in range(1, parts):
        goal = total * k // parts - int(before[rank])
        if 0 <= goal < cost(rows):
            above = bisect_right(range(rows + 1), goal, key=cost)
            bounds[k] = firsts[rank] + above - (goal - cost(above - 1) <= cost(above) - goal)
    bounds[-1] = firsts[-1] if rank == 0 else 0
    return comm.allreduce(bounds)
