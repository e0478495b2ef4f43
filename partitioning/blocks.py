"""Contiguous blocks of vertices that hold equally many arcs: outgoing (oec) or incoming (iec) edge-cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partitioning import arcs
from partitioning.placement import Placement
from partitioning.register import policy

SLACK = 1.05
"""Rows stay on the ranks that loaded them if none has more than this times the mean: then no arc need move."""


@dataclass(frozen=True)
class Blocks:
    """Rank r owns gids ``bounds[r] .. bounds[r + 1] - 1``; ``bounds`` int64, shape (P + 1,), from 0 to n."""

    bounds: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.bounds[1:-1], gids, side="right").astype(np.int32)


@policy("oec", "outgoing edge-cut: contiguous blocks balanced by out-arcs, arcs at their source's owner")
def oec(edges, comm, reason="asked for") -> Placement:
    return Placement("oec", reason, "outgoing", Blocks(bounds_by_out_arcs(edges, comm)))


@policy("iec", "incoming edge-cut: contiguous blocks balanced by in-arcs, arcs at their target's owner")
def iec(edges, comm, reason="asked for") -> Placement:
    return Placement("iec", reason, "incoming", Blocks(bounds_by_in_arcs(edges, comm)))


def bounds_by_out_arcs(edges, comm) -> np.ndarray:
    """Bounds of P blocks, each with about as many (vertices + arcs leaving them) as the next; collective."""
    return _bounds(edges.offsets, comm)


def bounds_by_in_arcs(edges, comm) -> np.ndarray:
    """Bounds of P blocks, each with about as many (vertices + arcs entering them) as the next; collective."""
    if not edges.directed:
        return bounds_by_out_arcs(edges, comm)
    return _bounds(in_offsets(edges, comm), comm)


def in_offsets(edges, comm) -> np.ndarray:
    """Running sum, from 0, of the in-degrees of this rank's n / P vertices (not those of its rows); collective."""
    starts = np.arange(comm.size + 1, dtype=np.int64) * edges.n // comm.size
    first, stop = starts[comm.rank], starts[comm.rank + 1]
    offsets = np.zeros(stop - first + 1, np.int64)
    for number in range(arcs.rounds(edges, comm)):
        start, end = arcs.span(edges, number)
        targets = np.sort(edges.targets[start:end])
        cuts = np.searchsorted(targets, starts)
        for part in comm.alltoallv([targets[cuts[r] : cuts[r + 1]] for r in range(comm.size)]):
            np.add.at(offsets, part.astype(np.int64) - first + 1, 1)
    return np.cumsum(offsets, out=offsets)


def _bounds(offsets, comm) -> np.ndarray:
    """Cut consecutive rows, spread over the ranks in order, where the running cost passes each multiple of 1 / P.

    A row costs its arcs and one more: so a long run of isolated vertices is shared out too.
    """
    size, rank = comm.size, comm.rank
    cost = offsets + np.arange(len(offsets))
    shares = comm.allgather(np.array([len(offsets) - 1, cost[-1]], np.int64))
    firsts, before = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(shares, axis=0)]).T
    total = int(before[-1])
    if shares[:, 1].max() * size <= SLACK * total:
        return firsts
    goals = np.array([total * k // size for k in range(1, size)], np.int64)
    here = (goals >= before[rank]) & (goals < before[rank + 1])
    goals = goals[here] - before[rank]
    above = np.searchsorted(cost, goals, side="right")
    row = np.where(goals - cost[above - 1] <= cost[above] - goals, above - 1, above)
    bounds = np.zeros(size + 1, np.int64)
    bounds[1:-1][here] = firsts[rank] + row
    bounds[-1] = firsts[-1] if rank == 0 else 0
    return comm.allreduce(bounds)
