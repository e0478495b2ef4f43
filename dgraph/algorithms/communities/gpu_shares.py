"""RowShares: rows of communities that several GPUs share out; each holds all of them (``community_shares.cuh``).

A hash of a vertex's number, but for its last bits, names the GPU that folds its row. Kernels exchange moves through the
mailboxes of the GPUs' whole graphs (``gathered_local.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.backend.cuda.exchange.mailbox_session import patience
from dgraph.backend.cuda.gathered.gathered_local import Replicas
from dgraph.backend.cuda.transports.bulk_moves import Leaving
from dgraph.errors import InternalError

LEAST_ARCS = 1 << 25
"""Arcs of a level from which on its rows are shared out: a sub-round has an exchange, of about 15 µs."""

SIDE_BY_SIDE = 32
"""Vertices with successive numbers that one GPU has: their labels fill a cache line."""

MOVER = 16
"""Bytes of a vertex that moves, as it is sent."""

SPARE = 1 << 12
"""Movers of an exchange at most, beside those that are expected."""

EXCHANGES = 1 << 13
"""Exchanges of a launch at most: 64 rounds of 64 sub-rounds have 4,160. An even number."""


class RowShares:
    """Share of this GPU in the rows of large levels.

    Args:
        device: the GPU.
        replicas: all GPUs.
        cursors: number of cursors of lists.

    Attributes:
        gpus, number: all GPUs, and this one's number.
        members: members of ``Env`` by which kernels know that rows are shared out.
    """

    def __init__(self, device: Any, replicas: Replicas, cursors: int):
        self.replicas, boxes = replicas, replicas.moves.boxes
        self.gpus, self.number, self.most = replicas.count, replicas.number, replicas.moves.piece
        peers = [
            [*(box(peer, side) for box in (boxes.outbox, boxes.inbox) for side in range(2)), boxes.signal(peer),
             boxes.signals(peer)]
            for peer in range(self.gpus) if peer != self.number
        ]  # fmt: skip
        self.members = {
            "gpus": self.gpus, "gpu": self.number, "peers": device.put(np.array(peers, np.uint64)),
            "owned": device.xp.zeros(cursors, np.uint64), "sent": device.xp.zeros(1, np.uint64),
            "most_sent": self.most // MOVER, "peer_timeout": int(patience(replicas.moves.comm) * 1e9),
        }  # fmt: skip

    @classmethod
    def of(cls, device: Any, replicas: Replicas | None, cursors: int) -> RowShares | None:
        """Return the shares; None where kernels of several GPUs cannot wait for each other."""
        return cls(device, replicas, cursors) if replicas is not None and replicas.moves.boxes.direct else None

    def fits(self, n: int, arcs: int, share: int) -> bool:
        """Return True if the rows of a level are shared out; the same on all GPUs.

        Args:
            n: vertices.
            arcs: arcs.
            share: a sub-round has at most one of ``share`` vertices.
        """
        movers = n * 5 // (4 * share * self.gpus) + SPARE
        return arcs >= LEAST_ARCS and max(MOVER * movers, n // 8 + 4) <= self.most

    def begin(self) -> dict[str, Any]:
        """Return the number of exchanges before a launch that has some, once all ranks are here; collective."""
        self.replicas.moves.comm.agree(None)
        self.replicas.exchanges += EXCHANGES
        return {"exchange": self.replicas.exchanges}

    def split(self, first: int, end: int) -> dict[str, Any]:
        """Return the members of ``Env`` for a contraction whose groups from ``first`` to ``end`` are this GPU's."""
        return {name: value for name, value in self.members.items() if name != "owned"} | {
            "first_group": first, "end_group": end,
        }  # fmt: skip

    def spread(self, array: Any, cuts: list[int]) -> None:
        """Bring the slice of each GPU, from one of ``cuts`` to the next, to all; collective."""
        self.replicas.moves.spread(array, cuts)

    def bring(self, array: Any, placed: Callable[[int, int, Any], None]) -> None:
        """Bring an array of each GPU to all others, which take its pieces as :meth:`BulkMoves.move`; collective."""
        moves = self.replicas.moves
        moves.move(array.dtype, {gpu: Leaving.of(array) for gpu in range(self.gpus) if gpu != self.number}, placed)

    def total(self, value: int) -> int:
        """Return the sum of an integer over GPUs; collective."""
        return self.replicas.moves.comm.total(value)

    def check(self, stalled: int) -> None:
        """Raise an error if an exchange did not end."""
        if stalled == 1:
            seconds = self.members["peer_timeout"] / 1e9
            raise InternalError(f"communities: a GPU waited {seconds:g} s for the moves of another one")
        if stalled:
            raise InternalError("communities: a sub-round moved more vertices than a mailbox holds")
