"""Arrays of any length moved between GPUs, piece by piece, through mailboxes of one size.

A sender makes a piece when it leaves, and a receiver places it when it arrives, so neither side holds a copy of the
whole array. Entry: :class:`BulkMoves`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.mailboxes import Mailboxes
from dgraph.comm import Comm

PIECE = 1 << 25
"""Bytes of a piece to one peer."""

Placed = Callable[[int, int, Any], None]
"""Function that takes the sender, the number of the first item, and a piece, an array that it may keep."""


@dataclass(frozen=True)
class Leaving:
    """Items for one rank.

    Attributes:
        count: their number.
        piece: function of (first, stop) that returns these items, contiguous on the GPU.
    """

    count: int
    piece: Callable[[int, int], Any]

    @classmethod
    def of(cls, array: Any) -> Leaving:
        """Return all items of an array."""
        return cls(len(array), lambda first, stop: array[first:stop])


class BulkMoves:
    """Mailboxes for long transfers between all ranks; all methods are collective.

    Attributes:
        boxes: the mailboxes, of ``piece`` bytes; kernels may use them between moves.
        bytes: their GPU memory.
    """

    def __init__(self, device: Any, comm: Comm, links: Links):
        self.device, self.comm, self.piece = device, comm, PIECE
        sizes = {peer: self.piece for peer in range(comm.size) if peer != comm.rank}
        self.boxes = Mailboxes(device, comm, sizes, sizes, links)
        self.bytes = self.boxes.bytes

    def move(
        self, dtype: Any, leaving: Mapping[int, Leaving], placed: Placed, counts: np.ndarray | None = None,
        room: Mapping[int, Any] | None = None,
    ) -> None:  # fmt: skip
        """Send items of one dtype to ranks, this one included, and place those that arrive.

        Args:
            dtype: of the items, the same on every rank.
            leaving: rank → items for it; a missing rank gets none.
            placed: called for each piece that arrives.
            counts: ``counts[a, b]`` items go from rank a to b; None: ranks do not know. Where they do, each has waited
                for its GPU after the last move, and all have agreed on something since.
            room: sender → array for its items, of which pieces are then parts; None: each is an array of its own.
        """
        if counts is None:
            mine = np.array([leaving[peer].count if peer in leaving else 0 for peer in range(self.comm.size)])
            self.boxes.wait()  # inboxes must have been read before any rank sends again
            counts = self.comm.allgather(mine)
        rank, step = self.comm.rank, self.piece // np.dtype(dtype).itemsize
        own, arriving = int(counts[rank, rank]), {peer: int(counts[peer, rank]) for peer in range(self.comm.size)}
        del arriving[rank]
        peers = {peer: share for peer, share in leaving.items() if peer != rank and share.count}
        for first in range(0, own, step):
            placed(rank, first, leaving[rank].piece(first, min(first + step, own)))
        longest = int((counts * ~np.eye(len(counts), dtype=bool)).max())
        for turn in range(-(-longest // step)):
            first = turn * step
            self._pass(peers, first, step, turn % 2)
            for peer, count in arriving.items():
                if first < count:
                    stop = min(first + step, count)
                    piece = self.device.xp.empty(stop - first, dtype) if room is None else room[peer][first:stop]
                    self._receive(peer, piece, turn % 2)
                    placed(peer, first, piece)

    def _pass(self, peers: Mapping[int, Leaving], first: int, step: int, parity: int) -> None:
        """Bring one piece to the inbox of every peer; return when all ranks have theirs."""
        arrays, sizes = [], {}
        for peer, items in peers.items():
            if first < items.count:
                array = items.piece(first, min(first + step, items.count))
                arrays.append(array)
                sizes[peer] = array.nbytes
                self.device.raw.copy(self.boxes.outbox(peer, parity), self.device.address(array), array.nbytes)
        self.boxes.deliver(parity, sizes)
        self.boxes.wait()
        self.comm.barrier()

    def _receive(self, peer: int, array: Any, parity: int) -> None:
        self.device.raw.copy(self.device.address(array), self.boxes.inbox(peer, parity), array.nbytes)

    def allreduce(self, array: Any, function: Callable[..., Any]) -> None:
        """Combine the arrays of all ranks by element: each rank does so for a slice, and sends it to the others.

        Args:
            array: on each rank; it is replaced.
            function: such as ``xp.add``.
        """
        self.reduce(array, function)
        self.spread(array)

    def reduce(self, array: Any, function: Callable[..., Any]) -> None:
        """Combine the arrays of all ranks by element, each rank its slice; arguments as of :meth:`allreduce`."""
        slices = [array[first:stop] for first, stop in pairwise(self._cuts(array))]
        mine = slices[self.comm.rank]

        def combined(_: int, first: int, piece: Any) -> None:
            part = mine[first : first + len(piece)]
            function(part, piece, out=part)

        others = {rank: Leaving.of(part) for rank, part in enumerate(slices) if rank != self.comm.rank}
        self.move(array.dtype, others, combined)

    def spread(self, array: Any, cuts: list[int] | None = None) -> None:
        """Bring each rank's slice of an array to all ranks.

        ``cuts`` has the start of each slice, and the end of the last; None: they are about as long as each other.
        A rank inside :meth:`~dgraph.comm.Comm.agreeing` (``values=0``) that fails before it comes here raises on all.
        """
        cuts, rank = cuts or self._cuts(array), self.comm.rank
        slices = [array[first:stop] for first, stop in pairwise(cuts)]
        counts = np.diff(cuts)[:, None] * ~np.eye(self.comm.size, dtype=bool)
        self.boxes.wait()
        self.comm.agree(None)
        others = {peer: Leaving.of(slices[rank]) for peer in range(self.comm.size) if peer != rank}
        self.move(array.dtype, others, lambda peer, first, piece: None, counts, dict(enumerate(slices)))

    def _cuts(self, array: Any) -> list[int]:
        return [len(array) * rank // self.comm.size for rank in range(self.comm.size + 1)]
