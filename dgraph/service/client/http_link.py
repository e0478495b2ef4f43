"""HTTP to a service, over TCP or a Unix socket, with the standard library alone.

``http.client`` speaks over any socket, and reads a body of known length into one buffer, which Arrow columns then
share: HTTP libraries hand it over in small pieces. Each thread has a connection of its own.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from dgraph._support.arguments import real
from dgraph._support.version import __version__
from dgraph.errors import OutputError, UsageError
from dgraph.service.client.problems import error_of

JSON = "application/json"
ARROW = "application/vnd.apache.arrow.stream"
CSV = "text/csv"

LOST = (http.client.HTTPException, ConnectionError)

LONGEST_S = 1e9
"""Longest timeout and patience; the system's timers take little more."""

PAUSE_S = 0.1
"""Seconds between two attempts of a request that waits for the service."""


class TcpConnection(http.client.HTTPConnection):
    """Connection that is closed with the thread it belongs to."""

    def __del__(self) -> None:
        self.close()


class UnixConnection(TcpConnection):
    """Connection over a Unix socket.

    Args:
        path: of the socket.
        timeout: seconds that one read or write may take.
    """

    def __init__(self, path: str, timeout: float):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Link:
    """Requests to one service.

    Args:
        address: ``unix:/path.sock``, ``http://host:port`` or ``https://host:port``.
        token: sent with every request; None: none.
        timeout: seconds in which the service must send something.
        patience: seconds for which a request is sent again while the service restarts.

    Raises:
        UsageError: the address has another form, a token cannot be sent, or a time is not a number of seconds.
    """

    def __init__(self, address: str, token: str | None, timeout: float, patience: float = 0.0):
        self.address = address
        self._timeout, self.patience = _seconds("timeout", timeout, 0.001), _seconds("patience", patience, 0.0)
        self._headers = {"User-Agent": f"dgraph/{__version__}"}
        if token is not None:
            _check_token(token)
            self._headers["Authorization"] = f"Bearer {token}"
        self._of_thread = threading.local()
        self._path = _path_of(address)

    def call(self, method: str, path: str, body: Any = None, kind: str = JSON, **query: Any) -> Any:
        """Send a request and return the object of the answer's JSON; None if the answer has no body.

        Args:
            method: of HTTP.
            path: such as ``/v1/graphs``.
            body: an object for JSON, or the bytes of a body of another kind; None: no body.
            kind: content type of the body.
            query: parameters of the address; those that are None are left out.

        Raises:
            DgraphError: the error that the service answered with, see :func:`error_of`; or the service is away.
        """
        raw = self.fetch(method, path, body, kind, **query)
        return json.loads(bytes(raw)) if len(raw) else None

    def fetch(self, method: str, path: str, body: Any = None, kind: str = JSON, **query: Any) -> memoryview:
        """Send a request and return the answer's body; arguments and errors as of :meth:`call`."""
        with self._open(method, path, body, kind, query) as answer:
            try:
                return _whole(answer)
            except (*LOST, OSError) as lost:
                raise self._away(lost) from lost

    def events(self, path: str, last: str | None = None) -> Iterator[tuple[str, dict]]:
        """Yield id and data of the server-sent events of a path, until the stream ends.

        Args:
            path: of the stream.
            last: id of the last event that was received; None: from the first.
        """
        headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
        connection = self._connection()
        try:
            with self._answered(connection, "GET", path, None, headers) as answer:
                number, lines = last or "", []
                for line in answer:
                    text = line.decode().rstrip("\r\n")
                    field, _, value = text.partition(":")
                    value = value.removeprefix(" ")
                    if field == "id":
                        number = value
                    elif field == "data":
                        lines.append(value)
                    elif not text and lines:
                        yield number, json.loads("\n".join(lines))
                        lines = []
        except (*LOST, OSError) as lost:
            raise self._away(lost) from lost
        finally:
            connection.close()

    def close(self) -> None:
        """Close this thread's connection."""
        connection = self._of_thread.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    def _open(self, method: str, path: str, body: Any, kind: str, query: Mapping[str, Any]) -> http.client.HTTPResponse:
        asked = {name: value for name, value in query.items() if value is not None}
        target = f"{path}?{urlencode(asked, errors='replace')}" if asked else path
        headers = {"Accept": JSON} | ({} if body is None else {"Content-Type": kind})
        sent = _encoded(body) if body is not None and kind == JSON else body
        connection = getattr(self._of_thread, "connection", None)
        if connection is not None and connection.sock is not None and select.select([connection.sock], [], [], 0)[0]:
            connection.close()  # the service has closed the connection, which was idle
        if connection is None:
            connection = self._of_thread.connection = self._connection()
        return self._answered(connection, method, target, sent, headers)

    def _answered(self, connection, method: str, target: str, body, headers: dict) -> http.client.HTTPResponse:
        until = time.monotonic() + self.patience
        while True:
            try:
                connection.request(method, target, body, self._headers | headers)
                answer = connection.getresponse()
                if answer.status < 400:
                    return answer
                error = error_of(answer.status, bytes(_whole(answer)), answer.reason, self.address)
                again = answer.status == HTTPStatus.SERVICE_UNAVAILABLE
            except (*LOST, OSError) as lost:
                connection.close()
                error, again = self._away(lost), isinstance(lost, FileNotFoundError | ConnectionRefusedError)
                error.__cause__ = lost
            except BaseException:  # an interrupt leaves half an answer on the connection
                connection.close()
                raise
            if not again or time.monotonic() >= until:
                try:
                    raise error
                finally:
                    del error  # it holds this frame: a cycle that only the collection of garbage ends
            connection.close()  # the service may close it meanwhile
            time.sleep(PAUSE_S)

    def _connection(self) -> http.client.HTTPConnection:
        if self._path is not None:
            return UnixConnection(self._path, self._timeout)
        place = urlsplit(self.address)
        kind = http.client.HTTPSConnection if place.scheme == "https" else TcpConnection
        return kind(place.hostname or "", place.port, timeout=self._timeout)

    def _away(self, lost: BaseException) -> OutputError:
        why = getattr(lost, "strerror", None) or str(lost) or type(lost).__name__
        return OutputError(
            f"the service at {self.address} does not answer: {why}; check the address, and that `python -m dgraph "
            "serve` runs there"
        )


def _path_of(address: str) -> str | None:
    """Return the path of a Unix socket's address; None for a host's.

    Raises:
        UsageError: the address has another form.
    """
    try:
        kind, _, rest = address.partition(":")
        place = urlsplit(address)
        if kind == "unix" and rest and b"\0" not in os.fsencode(rest):
            return rest.removeprefix("//")
        if kind in ("http", "https") and place.hostname and place.path in ("", "/") and not place.query:
            place.port, place.hostname.encode("idna")  # ValueError: it names no host
            return None
    except (AttributeError, TypeError, ValueError):
        pass
    raise UsageError(
        f"{address!r} is not the address of a service; give unix:/PATH.sock, http://HOST:PORT or https://HOST:PORT, "
        "without a path"
    )


def _seconds(name: str, value: Any, least: float) -> float:
    """Return a time as a float; raise :class:`UsageError` for what is none."""
    seconds = float(real(name, value))
    if not least <= seconds <= LONGEST_S:
        raise UsageError(f"got {name}={value!r:.60}; give seconds, from {least:g} to {LONGEST_S:g}")
    return seconds


def _check_token(token: object) -> None:
    """Refuse a token that no header can have; the message does not show it."""
    if not isinstance(token, str):
        raise UsageError(f"got a token of type {type(token).__name__}; give a text, a line of the service's token file")
    wrong = next((position for position, letter in enumerate(token) if not "!" <= letter <= "~"), None)
    if wrong is not None:
        raise UsageError(
            f"character {wrong + 1} of the token is {token[wrong]!a}, but a token is one word of ASCII; give a line of "
            "the service's token file, without its end"
        )


def place(*parts: object) -> str:
    """Return a path of the service; names in it may have any character.

    Raises:
        UsageError: a name is empty, and the path would be another one.
    """
    if "" in parts:
        raise UsageError("got an empty name; give the name of a graph or the id of a job")
    return "/".join(["/v1", *(quote(str(part), safe="", errors="replace") for part in parts)])


def _encoded(body: Any) -> bytes:
    """Return a body as JSON.

    Raises:
        UsageError: a value that JSON does not have, by its name.
    """
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError) as wrong:
        raise UsageError(f"{_unsendable(body) or wrong}, which no service takes; give another value") from None


def _unsendable(value: Any, name: str = "") -> str | None:
    """Return name and value of the first that JSON does not have; None if there is none."""
    if isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        below = (_unsendable(one, f"{name}.{key}".lstrip(".")) for key, one in pairs)
        return next(filter(None, below), None)
    if isinstance(value, float) and not math.isfinite(value):
        return f"{name} is {value}"
    return None if isinstance(value, str | int | float | None) else f"{name} is of type {type(value).__name__}"


def _whole(answer: http.client.HTTPResponse) -> memoryview:
    """Read a body into one buffer."""
    if answer.length is None or answer.length < 1 << 16:
        return memoryview(answer.read())
    buffer = np.empty(answer.length, np.uint8).data
    filled = 0
    while filled < len(buffer):
        count = answer.readinto(buffer[filled:])
        if not count:
            raise http.client.IncompleteRead(b"", len(buffer) - filled)
        filled += count
    return buffer
