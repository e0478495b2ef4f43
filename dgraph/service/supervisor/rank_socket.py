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

from dgraph.service.messages import Frames, address, encode, joined


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
        self.path, self.on_end = path, on_end
        self.hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None
        self._waiting: dict[int, tuple[asyncio.Future[dict[str, Any]], Callable[[dict], None] | None]] = {}
        self._server: asyncio.Server | None = None
        self._unsent: list[bytes] = []

    async def listen(self) -> None:
        """Listen; only this user's processes can connect."""
        self.path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        with address(self.path) as place:
            listening.bind(place)
        os.chmod(self.path, 0o600)
        self._server = await asyncio.get_running_loop().create_unix_server(lambda: _Connection(self), sock=listening)

    def accept(self, transport: asyncio.Transport) -> bool:
        """Take the connection of rank 0; return False for a second one, or one of another user."""
        if self._transport is not None or not _is_mine(transport):
            return False
        self._transport = transport
        return True

    def send(
        self, number: int, message: dict[str, Any], on_event: Callable[[dict], None] | None
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a request; return the future of its answer. Requests of one turn of the event loop share a frame.

        Raises:
            ValueError: a value that JSON does not have.
        """
        loop, frame = asyncio.get_running_loop(), encode({"id": number, **message})
        future: asyncio.Future[dict[str, Any]] = loop.create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())  # callers may be gone
        self._waiting[number] = future, on_event
        if not self._unsent:
            loop.call_soon(self._flush)
        self._unsent.append(frame)
        return future

    def _flush(self) -> None:
        frames, self._unsent = self._unsent, []
        if frames and self._transport is not None:
            self._transport.write(frames[0] if len(frames) == 1 else joined(frames))

    def cancel(self, number: int) -> None:
        """Cancel a request, if it is under way."""
        if number in self._waiting and self._transport is not None:
            self._flush()
            self._transport.write(encode({"cancel": number}))

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
        if self._transport is not None:
            self._transport.close()
        if not self.hello.done():
            self.hello.cancel()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def take(self, message: dict[str, Any]) -> None:
        """Take a message of rank 0."""
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


class _Connection(asyncio.Protocol):
    """Connection to the socket; frames are read without the tasks of a stream, which every answer would wait for."""

    def __init__(self, owner: RankSocket):
        self._owner, self._frames = owner, Frames()
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Take rank 0's connection, and abort any other."""
        if self._owner.accept(transport):
            self._transport = transport
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take the messages that are complete."""
        if self._transport is None:
            return
        try:
            for message in self._frames.of(data):
                self._owner.take(message)
        except (ValueError, KeyError, TypeError):  # not a rank
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Report the end of the ranks."""
        if self._transport is not None:
            self._owner.on_end()


def _is_mine(transport: asyncio.Transport) -> bool:
    """Return True if the other end is a process of this user."""
    peer = transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", peer)[1] == os.geteuid()
