"""Requests from rank 0 to all ranks. The other ranks wait for hours with few polls, and wake within milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.service.messages import HEADER, decode, encode

SHORT = 1 << 16
"""Bytes of the first message; a longer frame follows in a second one."""

IDLE_S = 5.0
"""Seconds without a request after which a rank frees memory of its GPU."""


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

    def receive(self, rest: Callable[[], Iterator[None]]) -> dict[str, Any]:
        """Wait for the next request of rank 0, and return it.

        Args:
            rest: work, in steps, for a time after ``IDLE_S`` seconds without a request; a request ends it.
        """
        inbox = self._inbox
        pending = self.comm.receive(0, inbox.ctypes.data, inbox.size)
        self.comm.idle(_resting(pending.done, rest))
        size = int.from_bytes(inbox[:HEADER].tobytes(), "little")
        first = inbox[HEADER : HEADER + size].tobytes()
        more = np.empty(size - len(first), np.uint8)
        if more.size:
            pending = self.comm.receive(0, more.ctypes.data, more.size)
            self.comm.wait(pending.done, more.size)
        return decode(first + more.tobytes())


def _resting(ready: Callable[[], bool], rest: Callable[[], Iterator[None]]) -> Callable[[], bool]:
    """Return ``ready``, which also does the steps of ``rest`` once, ``IDLE_S`` seconds from now, until it is true."""
    due = [time.monotonic() + IDLE_S]

    def waited() -> bool:
        if due and time.monotonic() > due[0]:
            due.clear()
            if any(ready() for _ in rest()):
                return True
        return ready()

    return waited
