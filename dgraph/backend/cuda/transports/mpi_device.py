"""Transport mpi-device: MPI sends and receives at addresses in GPU memory.

Only for CUDA-aware MPI (``aware.py``): another MPI would read them as host memory and crash.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.links import Links
from dgraph.errors import InternalError

CHUNK = 1 << 30
"""Most bytes of one MPI message."""


class MpiDevice:
    """Messages of this transport for one set of mailboxes: a size between hosts, then the message."""

    def __init__(self, raw: Any, links: Links, leaving: Mapping[int, int], arriving: Mapping[int, int]):
        self.raw, self.comm = raw, links.messages
        self._most = dict(arriving)
        self._sizes = {peer: np.zeros(2, np.int64) for peer in leaving}
        self._work: list[Generator] = []
        self._received: dict[int, int] = {}

    def begin(
        self, sizes: Mapping[int, int], outboxes: Mapping[int, int], inboxes: Mapping[int, int], after: Any
    ) -> None:
        """Start messages that are complete when ``after`` is reached."""
        self._received = {}
        self._work = [self._receive(peer, inboxes.get(peer, 0), after) for peer in self._sizes]
        self._work += [self._send(peer, outboxes.get(peer, 0), sizes.get(peer, 0), after) for peer in self._sizes]

    def moved(self) -> bool:
        """Advance all messages as far as possible now; return True if nothing remains for the host."""
        self._work = [work for work in self._work if next(work, self) is not self]
        return not self._work

    def end(self) -> dict[int, int]:
        """Return the bytes received by peer; they are already in the inboxes."""
        return self._received

    def _send(self, peer: int, source: int, total: int, after: Any) -> Generator:
        size = self._sizes[peer][:1]
        size[0] = total
        requests = [self.comm.send(peer, size.ctypes.data, 8)]
        while not self.raw.reached(after):  # MPI does not order its copies after our streams
            yield
        for offset in range(0, total, CHUNK):
            requests.append(self.comm.send(peer, source + offset, min(CHUNK, total - offset)))
        while not all(request.done() for request in requests):
            yield

    def _receive(self, peer: int, to: int, after: Any) -> Generator:
        size = self._sizes[peer][1:]
        request = self.comm.receive(peer, size.ctypes.data, 8)
        while not (request.done() and self.raw.reached(after)):  # earlier kernels may still read the inbox
            yield
        total = int(size[0])
        if total > self._most[peer]:
            raise InternalError(f"a message from rank {peer} has {total} bytes, of at most {self._most[peer]}")
        self._received[peer] = total
        requests = [
            self.comm.receive(peer, to + offset, min(CHUNK, total - offset)) for offset in range(0, total, CHUNK)
        ]
        while not all(request.done() for request in requests):
            yield
