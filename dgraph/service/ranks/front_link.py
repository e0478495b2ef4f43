"""Rank 0's end of the socket to the front.

The main thread reads requests when it waits for one, and cancellations between rounds: a thread that read them would
cost each request a change of threads. One thread waits for the end of the connection alone.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dgraph.errors import OutputError
from dgraph.service.messages import Frames, address, encode
from dgraph.service.ranks.request_broadcast import IDLE_S

GRACE = 3.0
"""Seconds that a request may go on after the front has ended; then the process exits."""

EXIT_CODE = 70

BUFFER = 1 << 16
"""Bytes that are read at a time."""

LOOK_S = 0.001
"""Seconds between two looks for cancellations."""

ENDED = getattr(select, "POLLRDHUP", select.POLLHUP)
"""Event of poll when the other end has closed the connection; Linux has it while data wait, too."""


class FrontLink:
    """Connection to the front; on rank 0 only. Only the main thread calls the methods.

    Args:
        path: the front's Unix socket.
        wait_s: seconds to wait for the front to listen there.

    Raises:
        OutputError: no process listens there.
    """

    def __init__(self, path: Path, wait_s: float = 0.0):
        self._socket = _connected(path, time.monotonic() + wait_s)
        self._frames = Frames()
        self._requests: deque[list[dict[str, Any]]] = deque()
        self._pending: set[int] = set()
        self._cancelled: set[int] = set()
        self._looked = 0.0
        self.gone = self._closed = False
        """True once the front has ended."""
        threading.Thread(target=self._watch, name="front-link", daemon=True).start()

    def hello(self, **facts: Any) -> None:
        """Send the first message."""
        self._send({"hello": facts})

    def next(self, rest: Callable[[], Iterator[None]]) -> list[dict[str, Any]] | None:
        """Return requests that were sent together; blocked, and idle, until there are some. None: the front ended.

        Args:
            rest: work, in steps, for a time after ``IDLE_S`` seconds without a request; a request ends it.
        """
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        while not self._requests:
            if not waiting.poll(1000 * IDLE_S):
                any(waiting.poll(0) for _ in rest())
            if not self._read():
                return None
            self._looked = time.monotonic()
        return self._requests.popleft()

    def cancelled(self, number: int) -> bool:
        """Return True if request ``number`` was cancelled, or the front has ended."""
        now = time.monotonic()
        if now - self._looked > LOOK_S:
            self._looked = now
            while self._read(socket.MSG_DONTWAIT):
                pass
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

    def reply(self, number: int, kind: str | None, answer: Any) -> None:
        """Send the answer of a request, or with a kind the text of its error."""
        if kind is not None:
            self.refuse(number, kind, answer)
            return
        try:
            self.answer(number, answer)
        except (TypeError, ValueError) as error:  # a value that JSON does not have
            self.refuse(number, "InternalError", f"the answer cannot be sent: {error}")

    def close(self) -> None:
        """Close the connection: no request follows."""
        self._closed = True
        with contextlib.suppress(OSError):  # the front has closed it
            self._socket.shutdown(socket.SHUT_RDWR)

    def _end(self, number: int) -> None:
        self._pending.discard(number)
        self._cancelled.discard(number)

    def _send(self, message: dict[str, Any]) -> None:
        if not self.gone:
            try:
                self._socket.sendall(encode(message))
            except OSError:
                self.gone = True

    def _read(self, flags: int = 0) -> bool:
        """Read what was sent, and take it; return False if there is nothing, or the front has ended."""
        try:
            piece = self._socket.recv(BUFFER, flags)
            for message in self._frames.of(piece):
                self._take(message)
        except BlockingIOError:
            return False
        except (OSError, ValueError, KeyError, TypeError):  # not a front: take nothing more from it
            piece = b""
        self.gone = self.gone or not piece
        return bool(piece)

    def _take(self, message: dict[str, Any]) -> None:
        if "cancel" in message:
            if message["cancel"] in self._pending:
                self._cancelled.add(message["cancel"])
            return
        requests = message.get("requests") or [message]
        self._pending.update(request["id"] for request in requests)
        self._requests.append(requests)

    def _watch(self) -> None:
        """Wait for the end of the connection, blocked; then let the request under way end."""
        waiting = select.poll()
        waiting.register(self._socket, ENDED)
        waiting.poll()
        self.gone = True
        time.sleep(GRACE)
        if not self._closed:
            os._exit(EXIT_CODE)


def _connected(path: Path, until: float) -> socket.socket:
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            with address(path) as place:
                connection.connect(place)
            return connection
        except OSError as error:
            connection.close()
            if time.monotonic() > until:
                raise OutputError(f"no front of the service listens at {path}: {error.strerror}; start it") from error
            time.sleep(0.02)
