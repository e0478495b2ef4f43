"""Requests from rank 0 to all ranks. The other ranks wait for hours with few polls, and wake within milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.service.messages import HEADER, decode, encode

SHORT = 1 << 16
"""Bytes of the first message; a longer frame follows in a second one."""


class RequestBroadcast:
    """Channel for requests; all ranks make it."""

    def __init__(self, comm: Comm):
        self.comm = comm
        self._inbox = np.empty(SHORT, np.uint8)

    def send(self, request: dict[str, Any]) -> None:
        """Send a request to every other rank; rank 0 calls it, the others :meth:`receive`."""
        if self.comm.size == 1:
            return
        frame = np.frombuffer(encode(request), np.uint8)
        pieces = [frame[:SHORT], *([frame[SHORT:]] if frame.size > SHORT else [])]
        sent = [
            self.comm.send(peer, piece.ctypes.data, piece.size) for piece in pieces for peer in range(1, self.comm.size)
        ]
        self.comm.wait(lambda: all(request.done() for request in sent), frame.size * (self.comm.size - 1))

    def receive(self) -> dict[str, Any]:
        """Wait for the next request of rank 0, and return it."""
        inbox = self._inbox
        pending = self.comm.receive(0, inbox.ctypes.data, inbox.size)
        self.comm.idle(pending.done)
        size = int.from_bytes(inbox[:HEADER].tobytes(), "little")
        first = inbox[HEADER : HEADER + size].tobytes()
        rest = np.empty(size - len(first), np.uint8)
        if rest.size:
            pending = self.comm.receive(0, rest.ctypes.data, rest.size)
            self.comm.wait(pending.done, rest.size)
        return decode(first + rest.tobytes())
