"""Rank 0's end of the socket to the front: a thread reads requests and cancellations while the main thread works."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
from pathlib import Path
from typing import Any

from dgraph.errors import OutputError
from dgraph.service.messages import HEADER, address, decode, encode, length

GRACE = 3.0
"""Seconds that a request may go on after the front has ended; then the process exits."""

EXIT_CODE = 70


class FrontLink:
    """Connection to the front; on rank 0 only. Only the main thread calls the methods.

    Args:
        path: the front's Unix socket.
        wait_s: seconds to wait for the front to listen there.

    Raises:
        OutputError: nobody listens there.
    """

    def __init__(self, path: Path, wait_s: float = 0.0):
        self._socket = _connected(path, time.monotonic() + wait_s)
        self._requests: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending: set[int] = set()
        self._cancelled: set[int] = set()
        self.gone = self._closed = False
        """True once the front has ended."""
        threading.Thread(target=self._read, name="front-link", daemon=True).start()

    def hello(self, **facts: Any) -> None:
        """Send the first message."""
        self._send({"hello": facts})

    def next(self) -> dict[str, Any] | None:
        """Return the next request; blocked, and idle, until there is one. None: the front has ended."""
        return self._requests.get()

    def cancelled(self, number: int) -> bool:
        """Return True if request ``number`` was cancelled, or nobody waits for its answer any more."""
        return self.gone or number in self._cancelled

    def event(self, number: int, event: dict[str, Any]) -> None:
        """Send an event of a request that runs."""
        self._send({"id": number, "event": event})

    def answer(self, number: int, answer: dict[str, Any]) -> None:
        """Send the answer of a request."""
        self._end(number)
        self._send({"id": number, "ok": answer})

    def refuse(self, number: int, kind: str, message: str) -> None:
        """Send the error of a request."""
        self._end(number)
        self._send({"id": number, "error": {"kind": kind, "message": message}})

    def close(self) -> None:
        """Close the connection: no request follows."""
        self._closed = True
        with contextlib.suppress(OSError):  # the front has closed it
            self._socket.shutdown(socket.SHUT_RDWR)

    def _end(self, number: int) -> None:
        with self._lock:
            self._pending.discard(number)
            self._cancelled.discard(number)

    def _send(self, message: dict[str, Any]) -> None:
        if not self.gone:
            try:
                self._socket.sendall(encode(message))
            except OSError:
                self._leave()

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as file:
                while len(header := file.read(HEADER)) == HEADER:
                    self._take(decode(file.read(length(header))))
        except (OSError, ValueError):
            pass
        self._leave()
        time.sleep(GRACE)
        if not self._closed:
            os._exit(EXIT_CODE)

    def _take(self, message: dict[str, Any]) -> None:
        with self._lock:
            if "cancel" in message:
                if message["cancel"] in self._pending:
                    self._cancelled.add(message["cancel"])
                return
            self._pending.add(message["id"])
        self._requests.put(message)

    def _leave(self) -> None:
        self.gone = True
        self._requests.put(None)


def _connected(path: Path, until: float) -> socket.socket:
    while True:
        found = socket.socket(socket.AF_UNIX)
        try:
            with address(path) as place:
                found.connect(place)
            return found
        except OSError as error:
            found.close()
            if time.monotonic() > until:
                raise OutputError(f"no front of the service listens at {path}: {error.strerror}; start it") from error
            time.sleep(0.02)
