"""Transport mpi-host: GPU → pinned memory → MPI → pinned memory → GPU, pipelined in pieces.

The first piece of a message begins with its size, so the receiver knows how many follow and pinned memory does not grow
with messages. This transport works everywhere; the others are compared with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.links import Links
from dgraph.errors import InternalError

PIECE = 1 << 20
"""Bytes of pinned memory of a piece, prefix included; the same on every rank."""

PIECES = 4
"""Pieces of one message in flight at once."""

PREFIX = 64
"""Bytes before the first piece: the size of the message, and padding."""


class StagingSlot:
    """Pinned memory for one piece. ``event`` is reached when the last copy to or from it is done."""

    def __init__(self, raw: Any, size: int):
        self.memory = raw.pinned(size)
        self.size, self.address, self.event = size, int(self.memory.ctypes.data), raw.event()
        self.total = self.memory[:8].view(np.int64)


class MpiHost:
    """Messages of this transport for one set of mailboxes; arguments as in :class:`Mailboxes`."""

    def __init__(self, raw: Any, links: Links, leaving: Mapping[int, int], arriving: Mapping[int, int]):
        self.raw, self.comm = raw, links.messages
        self._leaving = {peer: self._slots(size) for peer, size in leaving.items()}
        self._arriving = {peer: self._slots(size) for peer, size in arriving.items()}
        self._most = dict(arriving)
        self._down, self._up, self._arrived = raw.stream(), raw.stream(), raw.event()
        self._work: list[Generator] = []
        self._received: dict[int, int] = {}
        self._after: Any = None
        self._copied = False

    def _slots(self, size: int) -> list[StagingSlot]:
        whole = PREFIX + size
        return [StagingSlot(self.raw, min(whole, PIECE)) for _ in range(1 if whole <= PIECE else PIECES)]

    def begin(
        self, sizes: Mapping[int, int], outboxes: Mapping[int, int], inboxes: Mapping[int, int], after: Any
    ) -> None:
        """Start messages that are complete when ``after`` is reached."""
        if any(sizes.get(peer) for peer in self._leaving):
            self.raw.hold(after, self._down)
        self._after, self._copied, self._received = after, False, {}
        self._work = [self._receive(peer, inboxes.get(peer, 0)) for peer in self._arriving]
        self._work += [self._send(peer, outboxes.get(peer, 0), sizes.get(peer, 0)) for peer in self._leaving]

    def moved(self) -> bool:
        """Advance all messages as far as possible now; return True if nothing remains for the host."""
        self._work = [work for work in self._work if next(work, self) is not self]
        return not self._work

    def end(self) -> dict[int, int]:
        """Make the current stream wait for all arrivals; return the bytes received by peer."""
        if self._copied:
            self.raw.record(self._arrived, self._up)
            self.raw.hold(self._arrived)
        return self._received

    def _copy_up(self, to: int, slot: StagingSlot, start: int, size: int) -> None:
        if not self._copied:
            self.raw.hold(self._after, self._up)  # earlier kernels may still read the inbox
            self._copied = True
        self.raw.copy(to, slot.address + start, size, self._up)
        self.raw.record(slot.event, self._up)

    def _send(self, peer: int, source: int, total: int) -> Generator:
        free, copying, sent = deque(self._leaving[peer]), deque[tuple](), deque[tuple]()
        offset, first = 0, True
        while first or offset < total or copying or sent:
            if (first or offset < total) and free:
                slot, start = free.popleft(), PREFIX if first else 0
                size = min(total - offset, slot.size - start)
                slot.total[0], first = total, False
                if size:
                    self.raw.copy(slot.address + start, source + offset, size, self._down)
                    self.raw.record(slot.event, self._down)
                copying.append((slot, start + size))
                offset += size
            if copying and self.raw.reached(copying[0][0].event):
                slot, size = copying.popleft()
                sent.append((slot, self.comm.send(peer, slot.address, size)))
            if sent and sent[0][1].done():
                free.append(sent.popleft()[0])
            yield

    def _receive(self, peer: int, to: int) -> Generator:
        free = deque(self._arriving[peer])
        slot = free.popleft()
        while not self.raw.reached(slot.event):
            yield
        request = self.comm.receive(peer, slot.address, slot.size)
        while not request.done():
            yield
        total = int(slot.total[0])
        received = min(total, slot.size - PREFIX)
        if total > self._most[peer] or request.size != PREFIX + received:
            raise InternalError(
                f"a message from rank {peer} has {request.size} bytes of {total}, of at most {self._most[peer]}"
            )
        self._received[peer] = total
        if received:
            self._copy_up(to, slot, PREFIX, received)
        free.append(slot)
        asked, coming = received, deque[tuple]()
        while received < total:
            if asked < total and free and self.raw.reached(free[0].event):
                slot = free.popleft()
                size = min(slot.size, total - asked)
                coming.append((slot, size, self.comm.receive(peer, slot.address, size)))
                asked += size
            if coming and coming[0][2].done():
                slot, size, _ = coming.popleft()
                self._copy_up(to + received, slot, 0, size)
                received += size
                free.append(slot)
            yield
