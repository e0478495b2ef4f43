"""Rows and arcs on their way from where they were loaded to the ranks that hold them, piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import UsageError
from dgraph.graph.block import EdgeBlock
from partitioning import Placement, arcs


@dataclass
class Masters:
    """The vertices that this rank owns.

    Attributes:
        gids: int64, ascending.
        degrees: their out-degrees in the whole graph, int64.
        arcs_from: how many of the arcs that leave them each rank loaded, int64 (P,).
        owners: the owner of every row that this rank loaded, int32 (rows,).
    """

    gids: np.ndarray
    degrees: np.ndarray
    arcs_from: np.ndarray
    owners: np.ndarray


@dataclass
class HeldArcs:
    """The arcs that this rank holds, as rows by ascending gid; one gid may stand in several adjacent rows.

    Attributes:
        rows: gids, with ``counts`` arcs each (int64).
        targets: gids, row after row, in the dtype of the block's; ``weights`` likewise, or None.
        ours: False where ``targets`` is the block's own array, which must not be written to.
    """

    rows: np.ndarray
    counts: np.ndarray
    targets: np.ndarray
    weights: np.ndarray | None
    ours: bool


def move_masters(block: EdgeBlock, placement: Placement, comm: Comm) -> Masters:
    """Every vertex, with its out-degree, to its owner; collective.

    Raises:
        UsageError: the placement names a rank that does not exist.
    """
    gids = np.arange(block.first, block.first + block.rows, dtype=np.int64)
    with comm.together():
        owners = placement.owner(gids)
        _check_ranks(owners, placement, comm)
    order, cuts = arcs.deal(owners, comm.size)
    masters = comm.alltoallv(arcs.grouped(gids, order, cuts))
    degrees = comm.alltoallv(arcs.grouped(np.diff(block.offsets), order, cuts))
    arcs_from = np.array([part.sum() for part in degrees], np.int64)
    return Masters(np.concatenate(masters), np.concatenate(degrees), arcs_from, owners)


def move_rows(block: EdgeBlock, masters: Masters, comm: Comm) -> HeldArcs:
    """Every arc to its source's owner; collective.

    Rows arrive in the order of the masters, so no source need travel; and where every row is at home, nothing does.
    """
    if not comm.total(int(np.count_nonzero(masters.owners != comm.rank))):
        return HeldArcs(masters.gids, masters.degrees, block.targets, block.weights, ours=False)
    inbox = _Inbox(block, masters.arcs_from)
    for number in range(arcs.rounds(block, comm)):
        start, stop = arcs.span(block, number)
        low, high, lengths = arcs.rows(block, start, stop)
        order, cuts = arcs.deal(np.repeat(masters.owners[low:high], lengths), comm.size)
        inbox.receive(start, stop, order, cuts, comm)
    return HeldArcs(masters.gids, masters.degrees, inbox.targets, inbox.weights, ours=True)


def move_arcs(block: EdgeBlock, placement: Placement, comm: Comm) -> HeldArcs:
    """Every arc to the rank that the placement wants it on; collective.

    Raises:
        UsageError: the placement names a rank that does not exist.
    """
    counts = np.zeros(comm.size, np.int64)
    with comm.together():
        for src, dst in arcs.pieces(block):
            owners = placement.edge_owner(src, dst)
            _check_ranks(owners, placement, comm)
            counts += np.bincount(owners, minlength=comm.size)
    inbox = _Inbox(block, np.concatenate(comm.alltoallv(np.split(counts, comm.size))))
    rows: list[list[np.ndarray]] = [[] for _ in range(comm.size)]
    lengths: list[list[np.ndarray]] = [[] for _ in range(comm.size)]
    for number in range(arcs.rounds(block, comm)):
        start, stop = arcs.span(block, number)
        src, dst = arcs.ends(block, start, stop)
        order, cuts = arcs.deal(placement.edge_owner(src, dst), comm.size)
        inbox.receive(start, stop, order, cuts, comm)
        for peer, part in enumerate(comm.alltoallv(arcs.grouped(src, order, cuts))):
            firsts = np.flatnonzero(np.diff(part, prepend=part[:1] + 1))
            rows[peer].append(part[firsts])
            lengths[peer].append(np.diff(firsts, append=len(part)))
    held = _joined(rows, block.targets.dtype), _joined(lengths, np.int64)
    return HeldArcs(*held, inbox.targets, inbox.weights, ours=True)


class _Inbox:
    """Room for the arcs to come, by rank of departure: pieces land where they stay."""

    def __init__(self, block, arcs_from):
        self.block = block
        ends = np.cumsum(arcs_from)
        self.next = ends - arcs_from
        self.targets = np.empty(ends[-1], block.targets.dtype)
        self.weights = None if block.weights is None else np.empty(ends[-1], block.weights.dtype)

    def receive(self, start, stop, order, cuts, comm):
        """Send arcs ``start .. stop`` of the block to their holders, and put away what the others sent."""
        counts = self._fill(self.targets, comm.alltoallv(arcs.grouped(self.block.targets[start:stop], order, cuts)))
        if self.weights is not None:
            self._fill(self.weights, comm.alltoallv(arcs.grouped(self.block.weights[start:stop], order, cuts)))
        self.next += counts

    def _fill(self, room, parts):
        for at, part in zip(self.next, parts, strict=True):
            room[at : at + len(part)] = part
        return np.array([len(part) for part in parts], np.int64)


def _check_ranks(owners, placement, comm):
    if len(owners) and not 0 <= owners.min() <= owners.max() < comm.size:
        wrong = owners.min() if owners.min() < 0 else owners.max()
        raise UsageError(
            f"policy {placement.policy!r} gives a vertex or an arc to rank {wrong}, but ranks are "
            f"0 .. {comm.size - 1}: correct the policy"
        )


def _joined(parts: list[list[np.ndarray]], dtype) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *(part for by_peer in parts for part in by_peer)])
