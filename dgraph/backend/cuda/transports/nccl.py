"""Transport nccl: grouped sends and receives on a stream of its own, between GPUs of any hosts; one rank a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.links import Links
from dgraph.comm import Comm
from dgraph.errors import InternalError

CHAR = 0
"""Value of ``ncclInt8``."""

PATIENCE = 120.0
"""Seconds within which all ranks must have started NCCL."""

LATE = "a rank did not come to its start, or the network lets none through; NCCL_DEBUG=INFO says more"


class Group:
    """NCCL communicator of all ranks of ``comm``, over which its id is broadcast; collective."""

    def __init__(self, raw: Any, comm: Comm):
        with comm.together():
            module = raw.nccl()
            name = module.get_unique_id() if comm.rank == 0 else b""
        signed = np.frombuffer(name, np.int8) if isinstance(name, bytes) else np.array(name, np.int8)
        signed = comm.allgatherv(signed)[0]
        group_id = signed.tobytes() if raw.names_are_bytes else tuple(signed.tolist())
        self.start, self.end = module.groupStart, module.groupEnd
        self.comm, failure = _within_patience(raw, lambda: module.NcclCommunicator(comm.size, group_id, comm.rank))
        faults = [text for text in comm.allgather_json(failure) if text]
        if faults:
            raise InternalError(min(faults, key=lambda text: text == LATE))  # the failed rank knows the cause

    def check(self) -> None:
        """Raise if NCCL met an asynchronous error.

        Raises:
            InternalError: with NCCL's message.
        """
        fault = self.comm.check_async_error()
        if fault:
            raise InternalError(f"NCCL fails: {fault}; NCCL_DEBUG=INFO says more")


def _within_patience(raw: Any, start: Callable[[], Any]) -> tuple[Any, str]:
    """Call ``start`` in a thread; return its result and "", or None and the failure.

    NCCL waits for all ranks and cannot be cancelled, so a thread that waits too long is abandoned.
    """
    outcomes: list[tuple[Any, str]] = []

    def work() -> None:
        try:
            raw.use()
            outcomes.append((start(), ""))
        except Exception as error:
            outcomes.append((None, f"{type(error).__name__}: {error}"))

    thread = threading.Thread(target=work, name="dgraph-nccl", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return outcomes[0] if outcomes else (None, LATE)


class Nccl:
    """Messages of this transport for one set of mailboxes; arguments as in :class:`Mailboxes`."""

    def __init__(self, raw: Any, links: Links, leaving: Mapping[int, int], arriving: Mapping[int, int]):
        self.raw, self.comm, self.group = raw, links.messages, links.group
        self._most = dict(arriving)
        self._send_sizes = {peer: np.zeros(1, np.int64) for peer in leaving}
        self._receive_sizes = {peer: np.zeros(1, np.int64) for peer in leaving}
        self._stream, self._arrived = raw.stream(), raw.event()

    def begin(
        self, sizes: Mapping[int, int], outboxes: Mapping[int, int], inboxes: Mapping[int, int], after: Any
    ) -> None:
        """Exchange sizes over MPI, then post both sides of each message that is not empty.

        A receive without a send would wait forever.
        """
        for peer, size in self._send_sizes.items():
            size[0] = sizes.get(peer, 0)
        self.comm.exchange(
            {peer: (size.view(np.uint8), 8) for peer, size in self._send_sizes.items()},
            {peer: size.view(np.uint8) for peer, size in self._receive_sizes.items()},
        )
        for peer, size in self._receive_sizes.items():
            if size[0] > self._most[peer]:
                raise InternalError(f"a message from rank {peer} has {size[0]} bytes, of at most {self._most[peer]}")
        self.raw.hold(after, self._stream)
        stream = self._stream.ptr
        self.group.start()
        for peer, size in self._send_sizes.items():
            if size[0]:
                self.group.comm.send(outboxes[peer], int(size[0]), CHAR, peer, stream)
        for peer, size in self._receive_sizes.items():
            if size[0]:
                self.group.comm.recv(inboxes[peer], int(size[0]), CHAR, peer, stream)
        self.group.end()

    def moved(self) -> bool:
        """Check for errors; nothing remains for the host."""
        self.group.check()
        return True

    def end(self) -> dict[int, int]:
        """Make the current stream wait for all arrivals; return the bytes received by peer."""
        self.raw.record(self._arrived, self._stream)
        self.raw.hold(self._arrived)
        return {peer: int(size[0]) for peer, size in self._receive_sizes.items()}
