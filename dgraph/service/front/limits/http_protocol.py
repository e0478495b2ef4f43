"""``LimitedProtocol``: HTTP connections with limits of header bytes and of connections that never showed a token.

A client without a token can hold at most ``STRANGERS`` connections of the port, the oldest of which is closed for the
next one, each for at most ``STRANGER_S`` seconds. A connection stops being a stranger with its first request that
``security.Guard`` admits.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dgraph.service.front import problem_documents as problems

HEADERS_S = 20.0
"""Seconds in which a client must send the headers of a request that it began, and its first request."""

HEADER_BYTES = 1 << 16
"""Bytes that a request may have beside its body: request line, headers and trailers."""

STRANGERS = 256
"""Connections of a port on which no request was admitted yet; beyond, the oldest is closed."""

STRANGER_S = 60.0
"""Seconds after which a connection on which no request was admitted is closed."""


class Strangers:
    """Connections of one port on which no request was admitted yet, the oldest first."""

    def __init__(self) -> None:
        self._connections: dict[LimitedProtocol, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: LimitedProtocol) -> None:
        """Take a new connection, and close the oldest if there are too many."""
        if len(self._connections) >= STRANGERS:
            oldest = next(iter(self._connections))
            self.remove(oldest)
            oldest.transport.abort()
        self._connections[connection] = connection.loop.call_later(STRANGER_S, connection.transport.abort)

    def remove(self, connection: LimitedProtocol) -> None:
        """Forget a connection that was admitted or lost."""
        deadline = self._connections.pop(connection, None)
        if deadline is not None:
            deadline.cancel()


class LimitedProtocol(HttpToolsProtocol):
    """HTTP protocol that disconnects clients whose headers do not arrive, or do not end.

    Args:
        strangers: connections of the port without an admitted request; None: all are admitted, as on a Unix socket.
    """

    def __init__(self, *args: Any, strangers: Strangers | None = None, **more: Any):
        super().__init__(*args, **more)
        self._strangers = strangers
        self._waiting: asyncio.TimerHandle | None = None
        self._unread = 0
        """Bytes since the message began or its last part of the body."""

    def admit(self) -> None:
        """Take note that a request of this connection was admitted."""
        if self._strangers is not None:
            self._strangers.remove(self)
            self._strangers = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        if self._strangers is not None:
            self._strangers.add(self)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self.admit()
        self._done()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes; end a connection that sends more than ``HEADER_BYTES`` beside bodies."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > HEADER_BYTES and not self.transport.is_closing():
            self._too_long()

    def on_message_begin(self) -> None:
        """Begin to wait for the headers."""
        super().on_message_begin()
        self.scope["state"]["connection"] = self
        self._wait()

    def on_headers_complete(self) -> None:
        """Stop waiting; a request whose headers are too long is answered without the application."""
        self._done()
        self._unread = 0
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEADER_BYTES:
            self.app = _refuse_headers
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Take the end of the message."""
        self._unread = 0
        super().on_message_complete()

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEADERS_S, self.transport.abort)

    def _done(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_long(self) -> None:
        """Answer a request whose headers do not end, unless another answer is under way; close the connection."""
        if self.cycle is None or self.cycle.response_complete:
            refused = _refusal()
            lines = [
                b"HTTP/1.1 431 Request Header Fields Too Large",
                *(b": ".join(pair) for pair in refused.raw_headers),
            ]
            self.transport.write(b"\r\n".join([*lines, b"connection: close", b"", bytes(refused.body)]))
        self.transport.close()


def _refusal() -> Any:
    detail = f"got more than {HEADER_BYTES:,} bytes of headers; send fewer, and data in the body"
    return problems.response(431, detail)


async def _refuse_headers(scope: Scope, receive: Receive, send: Send) -> None:
    refused = _refusal()
    refused.headers["connection"] = "close"
    await refused(scope, receive, send)
