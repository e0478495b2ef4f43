"""Connections of a front as a process: bytes beside bodies, and clients without a token, are limited."""

import asyncio
import contextlib
import json
import resource
import socket
import time

import httpx
import pytest
from processes import serving_process

from dgraph.service.front.limits import http_protocol
from dgraph.service.front.limits.http_protocol import HEADER_BYTES, STRANGERS

pytestmark = pytest.mark.starts_children
MANY = 1050


def connected(address):
    host, _, port = address.removeprefix("http://").rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.settimeout(20)
    return connection


def answered(raw):
    """Return what a server sent until it closed the connection."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while part := raw.recv(65536):
            received += part
    return received


def sent(raw, block, most):
    """Send a block again and again until the other end closes; return the bytes that went, at most ``most``."""
    count = 0
    with contextlib.suppress(ConnectionError):
        while count < most:
            raw.sendall(block)
            count += len(block)
    return count


def logged(tmp_path):
    return [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]


HEAD = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def test_bytes_beside_bodies_are_limited_with_and_without_a_token(tmp_path):
    with serving_process(tmp_path) as (address, token, http):
        bearer = f"Authorization: Bearer {token}\r\n".encode()
        for start, block in (
            (b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\nX: ", b"a"),
            (b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\n" + bearer + b"X: ", b"a"),
            (b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\n", b"X: 1\r\n"),
            (b"GET /", b"a"),
            (CHUNKED + b"0\r\nX: ", b"a"),
            (CHUNKED + b"1;", b"a"),
        ):
            with connected(address) as raw:
                raw.sendall(start)
                assert sent(raw, block * (65536 // len(block)), 64 << 20) < 16 << 20, start
        for size, status in ((HEADER_BYTES // 2, 401), (HEADER_BYTES + 100, 431)):
            with connected(address) as raw:
                raw.sendall(HEAD + b"Connection: close\r\nX: " + b"a" * size + b"\r\n\r\n")
                answer = answered(raw)
                assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:99]
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] == status
        assert http.get("/v1/graphs").status_code == 200


@pytest.mark.parametrize("first", [b"", HEAD + b"\r\n", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_connections_without_a_token_leave_the_port_usable(tmp_path, first):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as connections, serving_process(tmp_path) as (address, token, http):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4 * MANY, hard), hard))  # of this process, not of the front
        for _ in range(MANY):
            raw = connections.enter_context(connected(address))
            raw.sendall(first)
        assert http.get("/v1/graphs").status_code == 200  # its connection is older than all strangers
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=20) as later:
            assert later.get("/v1/graphs").status_code == 200
            raw = connections.enter_context(connected(address))
            raw.sendall(b"GET /v1/graphs HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 401 " in raw.recv(65536)
        connections.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(logged(tmp_path)) < 20


def test_wrong_tokens_are_logged_at_a_limited_rate(tmp_path):
    with serving_process(tmp_path) as (address, _, _):
        with httpx.Client(base_url=address, headers={"Authorization": "Bearer wrong"}, timeout=20) as wrong:
            for _ in range(200):
                assert wrong.get("/v1/graphs").status_code == 401
        for _ in range(200):
            with connected(address) as raw:
                raw.sendall(b"garbage\r\n\r\n")
                assert b" 400 " in answered(raw)
    events = logged(tmp_path)
    wrong = [event for event in events if event["event"] == "wrong token"]
    assert 1 <= len(wrong) < 10
    assert (wrong[0]["client"], wrong[0]["level"]) == ("127.0.0.1", "warning")
    assert len(events) < 30


def test_strangers_are_closed_the_oldest_first_and_after_a_time(monkeypatch):
    class Transport:
        closed = False

        def abort(self):
            self.closed = True

    class Connection:
        def __init__(self, loop):
            self.loop, self.transport = loop, Transport()

    async def body():
        strangers, loop = http_protocol.Strangers(), asyncio.get_running_loop()
        monkeypatch.setattr(http_protocol, "STRANGER_S", 0.05)
        connections = [Connection(loop) for _ in range(STRANGERS + 2)]
        for number, connection in enumerate(connections):
            strangers.add(connection)
            if number == 0:
                strangers.remove(connection)  # admitted
        assert [connection.transport.closed for connection in connections[:3]] == [False, True, False]
        assert len(strangers) == STRANGERS
        begun = time.monotonic()
        while not connections[-1].transport.closed:
            await asyncio.sleep(0.01)
            assert time.monotonic() - begun < 20
        assert not connections[0].transport.closed

    asyncio.run(body())
