"""The front's end of the socket to rank 0: requests in, answers, errors and events out, on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dgraph.service.messages import HEADER, address, decode, encode, length

BUFFER = 1 << 22
"""Bytes that are read ahead: answers with many rows are one frame."""


class RankError(Exception):
    """The error with which the ranks answered a request.

    Attributes:
        kind: a word of ``messages.KINDS``.
        message: its text.
    """

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind, self.message = kind, message


class RanksDied(Exception):
    """The ranks ended while a request was under way, or are not up; the text says which rank and how."""


class RankSocket:
    """Listening socket for rank 0, and the connection that it makes.

    Args:
        path: the Unix socket; an old one there is replaced.
        on_end: called when rank 0 has closed the connection.
    """

    def __init__(self, path: Path, on_end: Callable[[], None]):
        self.path, self._on_end = path, on_end
        self.hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._waiting: dict[int, tuple[asyncio.Future[dict[str, Any]], Callable[[dict], None] | None]] = {}
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Listen; only this user's processes can connect."""
        self.path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        with address(self.path) as place:
            listening.bind(place)
        os.chmod(self.path, 0o600)
        self._server = await asyncio.start_unix_server(self._connected, sock=listening, limit=BUFFER)

    def send(
        self, number: int, message: dict[str, Any], on_event: Callable[[dict], None] | None
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a request; return the future of its answer.

        Raises:
            ValueError: a value that JSON does not have.
        """
        assert self._writer is not None
        frame = encode({"id": number, **message})
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future, on_event
        self._writer.write(frame)
        return future

    def cancel(self, number: int) -> None:
        """Cancel a request, if it is under way."""
        if number in self._waiting and self._writer is not None:
            self._writer.write(encode({"cancel": number}))

    def fail(self, error: Exception) -> None:
        """Fail all requests that are under way."""
        waiting, self._waiting = self._waiting, {}
        for future, _ in waiting.values():
            if not future.done():
                future.set_exception(error)

    def close(self) -> None:
        """Close the connection and the listening socket."""
        if self._server is not None:
            self._server.close()
        if self._writer is not None:
            self._writer.close()
        if not self.hello.done():
            self.hello.cancel()
        with contextlib.suppress(OSError):
            self.path.unlink()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._writer is not None or not _is_mine(writer):
            writer.close()
            return
        self._writer = writer
        try:
            while True:
                text = await reader.readexactly(length(await reader.readexactly(HEADER)))
                self._take(decode(text))
        except (asyncio.IncompleteReadError, OSError, ValueError):
            pass
        finally:
            writer.close()
            self._on_end()

    def _take(self, message: dict[str, Any]) -> None:
        if "hello" in message:
            if not self.hello.done():
                self.hello.set_result(message["hello"])
            return
        number = message["id"]
        if "event" in message:
            _, on_event = self._waiting.get(number, (None, None))
            if on_event is not None:
                on_event(message["event"])
            return
        future, _ = self._waiting.pop(number, (None, None))
        if future is None or future.done():
            return
        if "ok" in message:
            future.set_result(message["ok"])
        else:
            future.set_exception(RankError(message["error"]["kind"], message["error"]["message"]))


def _is_mine(writer: asyncio.StreamWriter) -> bool:
    """Return True if the other end is a process of this user."""
    peer = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", peer)[1] == os.geteuid()
