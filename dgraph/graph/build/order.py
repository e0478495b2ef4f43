"""Renumber vertices by descending degree, so that frequently read values lie together in memory.

The result is a new :class:`EdgeBlock` with :class:`OrderedIds`. Users still pass and get original ids.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dgraph.comm.base import Comm
from dgraph.graph.block import EdgeBlock
from dgraph.graph.build.clean import assemble
from dgraph.graph.build.fingerprint import fingerprint
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.change_record import shifted
from dgraph.graph.ids import VertexIds, remote_look_up
from dgraph.graph.load_options import LoadOptions


def by_degree(block: EdgeBlock, comm: Comm) -> EdgeBlock:
    """Return the same graph with gids by descending (out-)degree, ties by id; collective.

    A rank holds its rows and the distinct degrees, not the degrees of all vertices.
    """
    original_print = fingerprint(block, comm)
    starts = np.append(comm.allgather(np.array([block.first], np.int64))[:, 0], block.n)
    forward = _places(np.diff(block.offsets), comm)
    src = np.repeat(forward, np.diff(block.offsets)).astype(block.targets.dtype)

    def place(gids: np.ndarray) -> np.ndarray:
        return forward[gids - starts[comm.rank]]

    dst = remote_look_up(block.targets, lambda gids: _owner(starts, gids), place, comm).astype(block.targets.dtype)
    raw = RawEdges(
        src, dst, block.weights, block.directed, block.n,
        mirrored=not block.directed, parallel=True, attributes=block.attributes,
    )  # fmt: skip
    del src, dst
    ordered = assemble(raw, comm, LoadOptions(keep_loops=True))
    rows = np.append(comm.allgather(np.array([ordered.first], np.int64))[:, 0], ordered.n)
    backward = _inverse(forward, block.first, rows, comm)
    ordered.ids = OrderedIds(block.ids, forward, starts, backward, rows)
    ordered.facts = replace(block.facts, notes=[*block.facts.notes, "numbered by degree"])
    ordered.fingerprint = original_print
    return ordered


@dataclass(frozen=True)
class OrderedIds(VertexIds):
    """Ids of a graph whose gids were renumbered.

    Attributes:
        base: map between the gids before renumbering and original ids.
        forward: int64, new gid of each of this rank's old gids.
        forward_starts: int64 (P + 1,), first old gid of each rank, then n.
        backward: int64, old gid of each of this rank's new gids.
        backward_starts: int64 (P + 1,), first new gid of each rank, then n.
    """

    ascending: ClassVar[bool] = False
    base: VertexIds
    forward: np.ndarray
    forward_starts: np.ndarray
    backward: np.ndarray
    backward_starts: np.ndarray

    @property
    def names(self):
        """Names of the vertices before renumbering; None if ids are integers."""
        return self.base.names

    def to_original(self, gids, comm):
        """Return the original ids (int64) of new gids; collective."""
        first = self.backward_starts[comm.rank]
        former = remote_look_up(
            np.asarray(gids), lambda g: _owner(self.backward_starts, g), lambda g: self.backward[g - first], comm
        )
        return self.base.to_original(former, comm)

    def to_gid(self, originals, comm):
        """Return the new gids (int64) of original ids, -1 for ids of no vertex; collective."""
        former, first = self.base.to_gid(originals, comm), self.forward_starts[comm.rank]
        present = former >= 0
        gids = np.full(former.size, -1, np.int64)
        gids[present] = remote_look_up(
            former[present], lambda g: _owner(self.forward_starts, g), lambda g: self.forward[g - first], comm
        )
        return gids

    def grown(self, fresh, comm):
        """Return the ids with ``fresh`` at the end of the order; collective."""
        base, below = self.base.grown(fresh, comm)
        n, places = int(self.forward_starts[-1]), below + np.arange(below.size)
        holder = np.maximum(np.searchsorted(self.forward_starts[:-1], below, side="left") - 1, 0)
        here = holder == comm.rank
        forward = np.insert(self.forward, below[here] - self.forward_starts[comm.rank], n + np.flatnonzero(here))
        backward = shifted(self.backward, below)
        if comm.rank == comm.size - 1:
            backward = np.concatenate([backward, places])
        counts = np.cumsum(comm.allgather(np.array([forward.size, backward.size], np.int64)), axis=0)
        starts = np.concatenate([np.zeros((1, 2), np.int64), counts])
        ids = OrderedIds(base, forward, starts[:, 0].copy(), backward, starts[:, 1].copy())
        return ids, np.full(below.size, n, np.int64)


def _owner(starts: np.ndarray, gids: np.ndarray) -> np.ndarray:
    return np.searchsorted(starts, gids, side="right") - 1


def _places(degrees: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the rank of every vertex here in the order of descending degree, int64; collective."""
    distinct, inverse, counts = np.unique(-degrees, return_inverse=True, return_counts=True)
    values = comm.allgatherv(distinct)
    everywhere = np.concatenate(values)
    ranks = np.repeat(np.arange(comm.size), [part.size for part in values])
    order = np.lexsort((ranks, everywhere))
    before = np.zeros(everywhere.size, np.int64)
    numbers = np.concatenate(comm.allgatherv(counts.astype(np.int64)))[order]
    before[order] = np.cumsum(numbers) - numbers
    here = before[ranks == comm.rank]
    by_degree = np.argsort(inverse, kind="stable")
    places = np.empty(degrees.size, np.int64)
    within = np.arange(degrees.size) - np.repeat(np.cumsum(counts) - counts, counts)
    places[by_degree] = np.repeat(here, counts) + within
    return places


def _inverse(forward: np.ndarray, first: int, rows: np.ndarray, comm: Comm) -> np.ndarray:
    """Return the old gid of each of this rank's new gids; collective."""
    order = np.argsort(forward, kind="stable")
    cuts = np.searchsorted(forward[order], rows)
    parts = [order[cuts[r] : cuts[r + 1]] for r in range(comm.size)]
    gids = np.concatenate(comm.alltoallv([forward[part] for part in parts]))
    former = np.concatenate(comm.alltoallv([(part + first).astype(np.int64) for part in parts]))
    inverse = np.empty(gids.size, np.int64)
    inverse[gids - rows[comm.rank]] = former
    return inverse
