"""A patient client waits while the service or its ranks restart; another reports it at once."""

import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from live_service import started

import dgraph
from dgraph.errors import OutputError, UsageError
from dgraph.service.client.http_link import Link
from dgraph.service.client.remote_job import RemoteJob
from dgraph.service.client.remote_result import RemoteRows

pytestmark = pytest.mark.mpi_skip

AWAY = b'HTTP/1.1 503 X\r\nContent-Length: 29\r\n\r\n{"detail": "the ranks start"}'
assert len(AWAY.partition(b"\r\n\r\n")[2]) == 29
HERE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def lines(path):
    """Return the text of a file of /proc; nothing if the process has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def serving(path, answers, after=0.0, seen=None):
    """Answer one request after the other, on connections as they come; the socket appears after some seconds."""
    seen = [] if seen is None else seen

    def serve():
        time.sleep(after)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()
            for answer in answers:
                with server.accept()[0] as connection:
                    seen.append(connection.recv(4096))
                    while b"Content-Length" in seen[-1] and not seen[-1].endswith(b"}"):
                        seen[-1] += connection.recv(4096)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("after", [0.0, 0.3])
def test_requests_are_sent_again(tmp_path, after):
    path = str(tmp_path / "s")
    thread = serving(path, [AWAY, AWAY, HERE], after)
    while not after and not os.path.exists(path):
        time.sleep(0.01)
    link = Link(f"unix:{path}", None, 5.0, patience=20.0)
    assert link.call("GET", "/v1/graphs") == {}
    thread.join()
    link.close()


def test_patience_ends(tmp_path):
    began = time.monotonic()
    with pytest.raises(OutputError, match="does not answer"):
        Link(f"unix:{tmp_path}/s", None, 5.0, patience=0.3).call("GET", "/")
    assert 0.3 <= time.monotonic() - began < 5
    path = str(tmp_path / "s")
    thread = serving(path, [AWAY])
    while not os.path.exists(path):
        time.sleep(0.01)
    with pytest.raises(OutputError, match="the ranks start"):
        Link(f"unix:{path}", None, 5.0).call("GET", "/")
    thread.join()


def answer(status, document):
    body = json.dumps(document).encode()
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body)


def record(id, state="done", **more):
    return {"id": id, "state": state, "version": 3, "algorithm": "bfs", "graph": "g", **more}


GONE = answer(410, {"type": "urn:dgraph:problem:Evicted", "detail": "the ranks that held the result died"})
ROWS = answer(200, {"columns": {"distance": [7]}})
DIED = answer(200, record("b", "failed", error={"kind": "RanksDied", "message": "rank 0 was killed"}))


@pytest.mark.quick
@pytest.mark.parametrize(
    ("answers", "patience", "paths"),
    [
        ([GONE], 0.0, ["a/lookup"]),
        ([GONE, answer(202, record("b")), ROWS], 20.0, ["a/lookup", "", "b/lookup"]),
        ([AWAY, GONE, AWAY, answer(202, record("b")), AWAY, ROWS], 20.0,
         ["a/lookup", "a/lookup", "", "", "b/lookup", "b/lookup"]),
        ([GONE, DIED, answer(202, record("c")), ROWS], 20.0, ["a/lookup", "", "", "c/lookup"]),
        ([GONE, answer(202, record("b")), GONE], 20.0, ["a/lookup", "", "b/lookup"]),
        ([answer(404, {"detail": "no such job"})], 20.0, ["a/lookup"]),
    ],
    ids=["impatient", "again", "restarting", "died again", "gone again", "deleted"],
)  # fmt: skip
def test_rows_that_were_lost_are_computed_again_on_their_version(tmp_path, answers, patience, paths):
    path, requests = str(tmp_path / "s"), []
    thread = serving(path, answers, seen=requests)
    while not os.path.exists(path):
        time.sleep(0.01)
    link = Link(f"unix:{path}", None, 5.0, patience)
    job = RemoteJob(link, record("a"), {"graph": "g", "algorithm": "bfs", "version": None})
    rows = RemoteRows(link, job, ())
    if answers[-1] == ROWS:
        assert rows.of([5]) == {"distance": [7]}
    else:
        with pytest.raises(UsageError, match=r"died|no such job"):
            rows.of([5])
    thread.join()
    link.close()
    assert [request.split()[1].decode() for request in requests] == [
        f"/v1/jobs/{path}".rstrip("/?") if path else "/v1/jobs?top=1" for path in paths
    ]
    assert all(b'"version": 3' in request for request in requests if b"?top=1" in request)


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_run_goes_on_after_a_rank_was_killed(tmp_path):
    def kill():
        time.sleep(1)
        os.kill(rank, signal.SIGKILL)

    with started(tmp_path, "--device", "cpu") as live, dgraph.connect(live.unix, patience=60) as client:
        graph = client.load("g", "grid:40x40")
        words = str(tmp_path / "state" / "ranks.sock").encode()
        (rank,) = [int(file.parent.name) for file in Path("/proc").glob("[0-9]*/cmdline") if words in lines(file)]
        killer = threading.Thread(target=kill)
        killer.start()
        slow = dgraph.pagerank(graph, tol=0.0, max_iter=200_000)
        killer.join()
        assert slow.rounds == 200_000
        assert dgraph.bfs(graph, 0).value(1599) == 78
