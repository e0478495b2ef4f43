"""Buffers in GPU memory through which ranks exchange messages, whatever carries them from GPU to GPU."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.links import Links
from dgraph.backend.cuda.transports.mpi_device import MpiDevice
from dgraph.backend.cuda.transports.mpi_host import MpiHost
from dgraph.backend.cuda.transports.nccl import Nccl
from dgraph.comm import Comm
from dgraph.errors import InternalError

SIGNALS = 64
"""Words of 64 bits by which one rank's kernels tell another's."""

HEADER = 64
"""Bytes with which a message begins; kernels write and read them, no transport does."""

ALIGNED = 256
CARRIERS: dict[str, Any] = {"nccl": Nccl, "mpi-device": MpiDevice, "mpi-host": MpiHost}


class Mailboxes:
    """Memory for one message at a time to and from every peer; two of each, by parity of the exchange, so that a fast
    rank does not overwrite what a slow one still reads. All of it is zero at first. Collective.

    Kernels write a message to :meth:`outbox` and read one at :meth:`inbox`. Under p2p an outbox *is* the peer's inbox:
    the message is there when it is written, and :meth:`signal` is how kernels say so. What other transports carry,
    :meth:`deliver` brings.

    Args:
        leaving, arriving: peer → the most bytes of a message to it, and of one from it. What leaves here for a peer is
            what arrives there from here.
        links: from :func:`~dgraph.backend.cuda.transports.connect`.

    Attributes:
        chosen: peer → the name of the transport; ``why``: and the reason.
        direct: whether kernels of all ranks may wait for each other without a host between them.
        not_direct: why they may not.
        bytes: of GPU memory.
    """

    def __init__(
        self, device: Any, comm: Comm, leaving: Mapping[int, int], arriving: Mapping[int, int], links: Links
    ):  # fmt: skip
        self.raw, self.rank, self.size = device.raw, comm.rank, comm.size
        self.comm, self.links = comm, links
        self.chosen, self.why = links.chosen, links.why
        self.direct, self.not_direct = links.direct, links.not_direct
        _check(comm, leaving, arriving)
        self._leaving = {peer: size for peer, size in sorted(leaving.items()) if size}
        self._arriving = {peer: size for peer, size in sorted(arriving.items()) if size}
        with comm.together():
            self._allocate()
        self._open()
        with comm.together():
            self._start_carriers()

    def _allocate(self) -> None:
        """One piece that peers write into: signals of every rank, then inboxes; and one for outboxes of our own."""
        self._inbox_at, end = _places(self._arriving, self.size * SIGNALS * 8)
        staged = {peer: size for peer, size in self._leaving.items() if self.chosen[peer] != "p2p"}
        own_at, own = _places(staged, 0)
        self.bytes = end + own
        self._base = self.raw.malloc(end)
        self._own = self.raw.malloc(own) if own else 0
        self._outboxes = {peer: self._own + at for peer, at in own_at.items()}
        self._opened: dict[int, int] = {}
        self._release = weakref.finalize(self, _release, self.raw, [self._base, self._own], self._opened)

    def _open(self) -> None:
        """The memory of p2p peers, and where in it our messages go."""
        at = np.zeros(self.size, np.int64)
        at[list(self._inbox_at)] = list(self._inbox_at.values())
        at = self.comm.allgather(at)
        mapped = [peer for peer, name in self.chosen.items() if name == "p2p"]
        with self.comm.together():
            handle = self.raw.share(self._base) if mapped else b""
        handles = self.comm.allgatherv(np.frombuffer(handle, np.uint8))
        with self.comm.together():
            for peer in mapped:
                self._opened[peer] = self.raw.open(handles[peer].tobytes())
                if peer in self._leaving:
                    self._outboxes[peer] = self._opened[peer] + int(at[peer, self.rank])

    def _start_carriers(self) -> None:
        peers = sorted({*self._leaving, *self._arriving})
        self._carriers: list[Any] = []
        for name, carrier in CARRIERS.items():
            mine = [peer for peer in peers if self.chosen[peer] == name]
            if mine:
                leaving, arriving = ({p: sizes.get(p, 0) for p in mine} for sizes in (self._leaving, self._arriving))
                self._carriers.append(carrier(self.raw, self.links, leaving, arriving))
        self._now, self._through = self.raw.event(), self.raw.event()

    def outbox(self, peer: int, parity: int) -> int:
        """Where kernels write the message to a peer: in its memory under p2p, else in this GPU's."""
        return self._outboxes[peer] + parity * _aligned(self._leaving[peer])

    def inbox(self, peer: int, parity: int) -> int:
        """Where kernels read the message from a peer."""
        return self._base + self._inbox_at[peer] + parity * _aligned(self._arriving[peer])

    def signal(self, peer: int) -> int:
        """This rank's ``SIGNALS`` words in the memory of a p2p peer, whether messages go there or not."""
        return self._opened[peer] + self.rank * SIGNALS * 8

    def signals(self, peer: int) -> int:
        """The words in this rank's memory that a peer writes; those of its own number are its own."""
        return self._base + peer * SIGNALS * 8

    def packed(self, event: Any = None) -> Any:
        """An event: what was given to the current stream so far is done, and so are the messages."""
        event = event or self.raw.event()
        self.raw.record(event)
        return event

    def deliver(self, parity: int, sizes: Mapping[int, int], after: Any = None) -> dict[int, int]:
        """Carry messages to the peers that are not p2p, and let kernels started from now on read what came.

        Every rank with such peers calls it, in the same order. It returns when the host has no more to do for it;
        kernels given to the current stream before, but after :meth:`packed`, run meanwhile.

        Args:
            sizes: peer → bytes of the message in its outbox, header included; 0 for peers that are left out.
            after: what :meth:`packed` gave; None: now.

        Returns:
            Bytes received from each of these peers; 0: it sent nothing.
        """
        if not self._carriers:
            return {}
        after = after or self.packed(self._now)
        leaving = {peer: self.outbox(peer, parity) for peer in self._outboxes}
        arriving = {peer: self.inbox(peer, parity) for peer in self._arriving}
        for peer, size in sizes.items():
            if size > self._leaving.get(peer, 0):
                raise InternalError(
                    f"a message of {size} bytes to rank {peer}, whose mailbox has {self._leaving.get(peer, 0)}"
                )
        for carrier in self._carriers:
            carrier.begin(sizes, leaving, arriving, after)
        under_way = list(self._carriers)

        def moved() -> bool:
            under_way[:] = [carrier for carrier in under_way if not carrier.moved()]
            return not under_way

        self.comm.wait(moved, sum(sizes.values()))
        received: dict[int, int] = {}
        for carrier in self._carriers:
            received |= carrier.end()
        return received

    def wait(self) -> None:
        """Return when the current stream is through. It may wait for peers, by messages that the GPU itself brings: so
        the host looks after them meanwhile."""
        through = self.packed(self._through)
        self.comm.wait(lambda: self.raw.reached(through))

    def close(self) -> None:
        """Give the memory back; collective, so that no peer still writes into it. Else garbage collection does."""
        self._carriers = []
        self.comm.barrier()
        _unmap(self.raw, self._opened)
        self.comm.barrier()  # what a peer still maps must not be freed
        self._release()


def _check(comm: Comm, leaving: Mapping[int, int], arriving: Mapping[int, int]) -> None:
    """Both sides of a pair must know one size; every rank sees the same table, so all raise."""
    mine = np.zeros((2, comm.size), np.int64)
    for row, sizes in zip(mine, (leaving, arriving), strict=True):
        row[list(sizes)] = list(sizes.values())
    every = comm.allgather(mine)
    wrong = np.argwhere(every[:, 0] != every[:, 1].T)
    if len(wrong):
        a, b = wrong[0]
        raise InternalError(
            f"messages from rank {a} to {b} have {every[a, 0, b]} bytes there, and {every[b, 1, a]} here"
        )


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _places(sizes: Mapping[int, int], start: int) -> tuple[dict[int, int], int]:
    """Where the pair of mailboxes of each peer begins, and where the last one ends."""
    at, end = {}, _aligned(start)
    for peer, size in sizes.items():
        at[peer] = end
        end += 2 * _aligned(size)
    return at, end


def _release(raw: Any, owned: list[int], opened: dict[int, int]) -> None:
    with suppress(RuntimeError):  # a GPU that has failed has nothing to give back
        _unmap(raw, opened)
        for address in filter(None, owned):
            raw.free(address)


def _unmap(raw: Any, opened: dict[int, int]) -> None:
    while opened:
        raw.close(opened.popitem()[1])
