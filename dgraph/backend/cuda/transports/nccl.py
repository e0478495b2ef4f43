"""NCCL: grouped sends and receives on a stream of its own, between GPUs of any hosts; one rank a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph.backend.cuda.transports.links import Links
from dgraph.comm import Comm
from dgraph.errors import InternalError

CHAR = 0
"""ncclInt8."""

PATIENCE = 120.0
"""Seconds in which all ranks must have come to its start."""

LATE = "a rank did not come to its start, or the network lets none through; NCCL_DEBUG=INFO says more"


class Group:
    """NCCL's communicator of all ranks of ``comm``, which carries the id that they meet by; collective."""

    def __init__(self, raw: Any, comm: Comm):
        with comm.together():
            module = raw.nccl()
            name = module.get_unique_id() if comm.rank == 0 else b""
        signed = np.frombuffer(name, np.int8) if isinstance(name, bytes) else np.array(name, np.int8)
        signed = comm.allgatherv(signed)[0]
        known = signed.tobytes() if raw.names_are_bytes else tuple(signed.tolist())
        self.start, self.end = module.groupStart, module.groupEnd
        self.comm, told = _within_patience(raw, lambda: module.NcclCommunicator(comm.size, known, comm.rank))
        faults = [text for text in comm.allgather_json(told) if text]
        if faults:
            raise InternalError(min(faults, key=lambda text: text == LATE))  # who failed knows why, who waited does not

    def check(self) -> None:
        """Raise where NCCL met an error on its own time."""
        fault = self.comm.check_async_error()
        if fault:
            raise InternalError(f"NCCL fails: {fault}; NCCL_DEBUG=INFO says more")


def _within_patience(raw: Any, start: Callable[[], Any]) -> tuple[Any, str]:
    """What ``start`` gives, and "", or why it gives nothing. NCCL waits for all ranks and cannot be called off: so a
    thread waits for it, and is left behind where it waits in vain."""
    given: list[tuple[Any, str]] = []

    def work() -> None:
        try:
            raw.use()
            given.append((start(), ""))
        except Exception as error:
            given.append((None, f"{type(error).__name__}: {error}"))

    thread = threading.Thread(target=work, name="dgraph-nccl", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return given[0] if given else (None, LATE)


class Nccl:
    """What this transport carries for one set of mailboxes."""

    def __init__(self, raw: Any, links: Links, leaving: Mapping[int, int], arriving: Mapping[int, int]):
        self.raw, self.comm, self.group = raw, links.messages, links.group
        self._most = dict(arriving)
        self._told = {peer: np.zeros(1, np.int64) for peer in leaving}
        self._heard = {peer: np.zeros(1, np.int64) for peer in leaving}
        self._stream, self._arrived = raw.stream(), raw.event()

    def begin(
        self, sizes: Mapping[int, int], outboxes: Mapping[int, int], inboxes: Mapping[int, int], after: Any
    ) -> None:
        """Tell and hear sizes over MPI, then post both sides of what is not empty: a receive without a send would wait
        for ever."""
        for peer, told in self._told.items():
            told[0] = sizes.get(peer, 0)
        self.comm.exchange(
            {peer: (told.view(np.uint8), 8) for peer, told in self._told.items()},
            {peer: heard.view(np.uint8) for peer, heard in self._heard.items()},
        )
        for peer, heard in self._heard.items():
            if heard[0] > self._most[peer]:
                raise InternalError(f"a message from rank {peer} has {heard[0]} bytes, of at most {self._most[peer]}")
        self.raw.hold(after, self._stream)
        at = self._stream.ptr
        self.group.start()
        for peer, told in self._told.items():
            if told[0]:
                self.group.comm.send(outboxes[peer], int(told[0]), CHAR, peer, at)
        for peer, heard in self._heard.items():
            if heard[0]:
                self.group.comm.recv(inboxes[peer], int(heard[0]), CHAR, peer, at)
        self.group.end()

    def moved(self) -> bool:
        """Nothing is left for the host."""
        self.group.check()
        return True

    def end(self) -> dict[int, int]:
        """The current stream goes on when all has arrived. Bytes by peer."""
        self.raw.record(self._arrived, self._stream)
        self.raw.hold(self._arrived)
        return {peer: int(heard[0]) for peer, heard in self._heard.items()}
