"""The front as a process: slow clients, the Unix socket, large bodies, the end by SIGTERM, the command line."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pyarrow as pa
import pytest
from fake_ranks import FakeRanks, table
from processes import serving_process

from dgraph.errors import UsageError
from dgraph.service.front import http_server
from dgraph.service.front.settings import Settings, take_state


def closed(raw, seconds):
    """Return what a server sent until it closed the connection."""
    raw.settimeout(seconds)
    received = b""
    while part := raw.recv(65536):
        received += part
    return received


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_front_serves_both_sockets_and_sheds_slow_clients(tmp_path):
    with serving_process(tmp_path) as (address, token, http):
        port = int(address.rpartition(":")[2])
        silent, headers, body = (socket.create_connection(("127.0.0.1", port)) for _ in range(3))
        headers.sendall(b"GET /healthz HTTP/1.1\r\nHost: loc")
        start = f"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        body.sendall(start.encode() + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        began = time.monotonic()
        unix = httpx.HTTPTransport(uds=str(tmp_path / "state" / "service.sock"))
        with httpx.Client(transport=unix, base_url="http://localhost", timeout=20) as local:
            assert local.post("/v1/graphs", json={"name": "g", "source": "path:9"}).status_code == 202
            job = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 7}}
            answer = local.post("/v1/jobs?wait=10", json=job).json()
            assert answer["state"] == "done"
        content = http.get(f"/v1/jobs/{answer['id']}/result?format=arrow").content
        assert pa.ipc.open_stream(content).read_all().equals(table(7))
        assert closed(silent, 10) == closed(headers, 10) == b""
        body.settimeout(10)
        assert b" 408 " in body.recv(65536).split(b"\r\n")[0]
        for raw in (silent, headers, body):
            raw.close()
        assert time.monotonic() - began < 10
        second = subprocess.run(
            [sys.executable, "-m", "dgraph", "serve", "--state-dir", str(tmp_path / "state"), "--no-tcp"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (second.returncode, "used by another service" in second.stderr) == (2, True), second.stderr
        third = [
            *second.args[:-2],
            str(tmp_path / "other"),
            "--no-tcp",
            "--socket",
            str(tmp_path / "state/service.sock"),
        ]
        refused = subprocess.run(third, capture_output=True, text=True, timeout=60, check=False)
        assert (refused.returncode, "another service answers" in refused.stderr) == (2, True), refused.stderr
        with httpx.Client(transport=httpx.HTTPTransport(uds=third[-1]), base_url="http://localhost") as local:
            assert local.get("/healthz").status_code == 200
    assert not (tmp_path / "state" / "service.sock").exists()


def test_a_socket_is_taken_from_the_dead_and_removed_by_its_owner_alone(tmp_path):
    settings = Settings(tmp_path / "state", tmp_path, port=None, socket=tmp_path / "one.sock", drain_s=0.1)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(settings.unix_socket))

    async def body():
        with take_state(settings.state):
            serving = asyncio.ensure_future(http_server._serve(settings, FakeRanks()))
            while not (settings.state / "history.sqlite").exists():
                await asyncio.sleep(0.01)
            with pytest.raises(UsageError, match="another service answers"):
                http_server.unix_listener(settings)
            settings.unix_socket.rename(tmp_path / "moved.sock")
            settings.unix_socket.write_text("of somebody else")
            os.kill(os.getpid(), signal.SIGTERM)
            assert await serving == 0

    asyncio.run(body())
    assert settings.unix_socket.read_text() == "of somebody else"
    with pytest.raises(UsageError, match="another kind"):
        http_server.unix_listener(settings)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--help"], 0, "--token-file F"),
        (["--bind", "0.0.0.0"], 2, "--token-file"),
        (["--port", "70000"], 2, "65535"),
        (["--ranks", "0"], 2, "1 or more"),
        (["--prot", "1"], 2, "did you mean --port"),
        (["--device", "cuda"], 2, "got --device cuda, but this process reaches no GPU"),
    ],
)
def test_the_command_line(tmp_path, capsys, monkeypatch, words, code, said):
    from dgraph.cli import main

    monkeypatch.setattr("dgraph.backend.has_gpu", lambda: False)
    state = [] if "--help" in words else ["--state-dir", str(tmp_path)]
    assert main(["serve", *words, *state]) == code
    shown = capsys.readouterr()
    assert said in (shown.out or shown.err)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda state: state.write_text(""), "{state} cannot be used: {state}: not a folder"),
        (lambda state: state.symlink_to("nowhere/at/all"), "{state}: "),
        (lambda state: (state.parent / "a").write_text("") or state.symlink_to("a/b"), "{state}: "),
        (lambda state: state.mkdir() or (state / "uploads").write_text(""), "{state}/uploads: not a folder"),
        (lambda state: (state / "lock").mkdir(parents=True), "{state}/lock: Is a directory"),
        (lambda state: (state / "history.sqlite").mkdir(parents=True), "{state}/history.sqlite cannot be opened"),
        (lambda state: state.mkdir() or (state / "history.sqlite").write_text("garbage " * 99), "not a database"),
    ],
    ids=range(7),
)
def test_state_folders_that_cannot_be_used_take_one_line(tmp_path, capsys, make, said):
    from dgraph.cli import main

    state = tmp_path / "state"
    make(state)
    assert main(["serve", "--no-tcp", "--state-dir", str(state)]) in (2, 74)
    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == 1, shown
    assert said.format(state=state) in shown
    assert "--state-dir" in shown


def test_the_front_imports_no_mpi_numba_or_cupy():
    code = (
        "import sys, dgraph.cli.serve, dgraph.service.front.http_server;"
        "print([name for name in ('mpi4py', 'numba', 'cupy', 'pyarrow', 'pandas') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
