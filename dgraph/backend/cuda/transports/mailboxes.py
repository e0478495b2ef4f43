"""Mailboxes: buffers in GPU memory through which ranks exchange messages.

:class:`Mailboxes` is the interface of all transports. Under p2p kernels write into the peers' memory; other transports
copy messages when the host calls :meth:`Mailboxes.deliver`.
"""

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
"""64-bit words that one rank's kernels write in another rank's memory as signals."""

ALIGNED = 256
STAGED: dict[str, Any] = {"nccl": Nccl, "mpi-device": MpiDevice, "mpi-host": MpiHost}
"""Transport → class that moves its messages; p2p needs none."""


class Mailboxes:
    """Memory for one message to and one from every peer, twice; collective.

    The two copies alternate by parity of the exchange's number, so a fast rank does not overwrite what a slow one still
    reads. The memory is zero at first. Kernels write a message to :meth:`outbox` and read one at :meth:`inbox`. Under
    p2p the outbox *is* the peer's inbox, and kernels announce a message through :meth:`signal`. :meth:`deliver` moves
    messages of other transports.

    Args:
        leaving: peer → the most bytes of a message to it; equal to ``arriving`` of this rank on the peer.
        arriving: peer → the most bytes of a message from it.
        links: from :func:`~dgraph.backend.cuda.transports.connect`.

    Attributes:
        chosen: peer → the name of the transport; ``why``: the reason.
        direct: True if kernels of all ranks may wait for each other without the host.
        not_direct: the reason why not, else "".
        bytes: GPU memory used.
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
            self._start_staged()

    def _allocate(self) -> None:
        """Allocate one buffer that peers write into (signals, then inboxes) and one for staged outboxes."""
        self._inbox_at, end = _places(self._arriving, self.size * SIGNALS * 8)
        staged = {peer: size for peer, size in self._leaving.items() if self.chosen[peer] != "p2p"}
        own_at, own = _places(staged, 0)
        self.bytes = end + own
        self._base = self.raw.malloc(end)
        self._own = self.raw.malloc(own) if own else 0
        self._outboxes = {peer: self._own + offset for peer, offset in own_at.items()}
        self._opened: dict[int, int] = {}
        self._release = weakref.finalize(self, _release, self.raw, [self._base, self._own], self._opened)

    def _open(self) -> None:
        """Map the memory of p2p peers and find this rank's inbox in it; collective."""
        offsets = np.zeros(self.size, np.int64)
        offsets[list(self._inbox_at)] = list(self._inbox_at.values())
        offsets = self.comm.allgather(offsets)
        mapped = [peer for peer, name in self.chosen.items() if name == "p2p"]
        with self.comm.together():
            handle = self.raw.share(self._base) if mapped else b""
        handles = self.comm.allgatherv(np.frombuffer(handle, np.uint8))
        with self.comm.together():
            for peer in mapped:
                self._opened[peer] = self.raw.open(handles[peer].tobytes())
                if peer in self._leaving:
                    self._outboxes[peer] = self._opened[peer] + int(offsets[peer, self.rank])

    def _start_staged(self) -> None:
        peers = sorted({*self._leaving, *self._arriving})
        self._staged: list[Any] = []
        for name, transport in STAGED.items():
            mine = [peer for peer in peers if self.chosen[peer] == name]
            if mine:
                leaving, arriving = ({p: sizes.get(p, 0) for p in mine} for sizes in (self._leaving, self._arriving))
                self._staged.append(transport(self.raw, self.links, leaving, arriving))
        self._now, self._through = self.raw.event(), self.raw.event()

    def outbox(self, peer: int, parity: int) -> int:
        """Return the address where kernels write the message to a peer: in its memory under p2p, else in this GPU's."""
        return self._outboxes[peer] + parity * _aligned(self._leaving[peer])

    def inbox(self, peer: int, parity: int) -> int:
        """Return the address where kernels read the message from a peer."""
        return self._base + self._inbox_at[peer] + parity * _aligned(self._arriving[peer])

    def signal(self, peer: int) -> int:
        """Return the address of this rank's ``SIGNALS`` words in the memory of a p2p peer."""
        return self._opened[peer] + self.rank * SIGNALS * 8

    def signals(self, peer: int) -> int:
        """Return the address of the words in this rank's memory that a peer writes."""
        return self._base + peer * SIGNALS * 8

    def packed(self, event: Any = None) -> Any:
        """Record and return an event that follows all work given to the current stream so far, messages included."""
        event = event or self.raw.event()
        self.raw.record(event)
        return event

    def deliver(self, parity: int, sizes: Mapping[int, int], after: Any = None) -> dict[int, int]:
        """Move messages to and from the peers that are not p2p; later kernels can read what arrived.

        Every rank with such peers calls it, in the same order. It returns when the host has nothing more to do. Kernels
        given
        to the current stream before, but after :meth:`packed`, run meanwhile.

        Args:
            parity: of the exchange's number: which of the two mailboxes.
            sizes: peer → bytes of the message in its outbox, header included; 0 for peers that are left out.
            after: event from :meth:`packed`; None: now.

        Returns:
            Bytes received from each of these peers; 0: it sent nothing.

        Raises:
            InternalError: a message is larger than its mailbox.
        """
        if not self._staged:
            return {}
        after = after or self.packed(self._now)
        leaving = {peer: self.outbox(peer, parity) for peer in self._outboxes}
        arriving = {peer: self.inbox(peer, parity) for peer in self._arriving}
        for peer, size in sizes.items():
            if size > self._leaving.get(peer, 0):
                raise InternalError(
                    f"a message of {size} bytes to rank {peer}, whose mailbox has {self._leaving.get(peer, 0)}"
                )
        for transport in self._staged:
            transport.begin(sizes, leaving, arriving, after)
        under_way = list(self._staged)

        def moved() -> bool:
            under_way[:] = [transport for transport in under_way if not transport.moved()]
            return not under_way

        self.comm.wait(moved, sum(sizes.values()))
        received: dict[int, int] = {}
        for transport in self._staged:
            received |= transport.end()
        return received

    def wait(self) -> None:
        """Return when the current stream is done.

        It may depend on messages from peers that the GPU receives itself, so the host keeps watching them
        (``comm.wait``).
        """
        through = self.packed(self._through)
        self.comm.wait(lambda: self.raw.reached(through))

    def close(self) -> None:
        """Free the memory; collective."""
        close(self, self.comm)


def close(boxes: Mailboxes | None, comm: Comm) -> None:
    """Free mailboxes while no peer writes into them; collective, with None on ranks whose graph was evicted.

    Otherwise garbage collection frees them.
    """
    comm.barrier()
    if boxes is not None:
        boxes._staged = []
        _unmap(boxes.raw, boxes._opened)
    comm.barrier()  # what a peer still maps must not be freed
    if boxes is not None:
        boxes._release()


def _check(comm: Comm, leaving: Mapping[int, int], arriving: Mapping[int, int]) -> None:
    """Check that both ranks of every pair pass the same size; collective.

    Raises:
        InternalError: on all ranks.
    """
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
    """Return the offset of each peer's pair of mailboxes, and the end of the last."""
    places, end = {}, _aligned(start)
    for peer, size in sizes.items():
        places[peer] = end
        end += 2 * _aligned(size)
    return places, end


def _release(raw: Any, owned: list[int], opened: dict[int, int]) -> None:
    with suppress(RuntimeError):  # a GPU that has failed has nothing to give back
        _unmap(raw, opened)
        for address in filter(None, owned):
            raw.free(address)


def _unmap(raw: Any, opened: dict[int, int]) -> None:
    while opened:
        raw.close(opened.popitem()[1])
