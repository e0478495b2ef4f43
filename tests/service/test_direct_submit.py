"""Submissions that are answered without FastAPI's resolution: the same ones are accepted, and refused alike."""

import asyncio
import json

import httpx
import pytest
from front import front

from dgraph.service.front.routes import routes_jobs
from dgraph.service.front.routes.direct_submit import DirectSubmit
from dgraph.service.messages import Frames, encode

JOB = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 3}, "cache": False}
VALID = [("", JOB), ("?wait=5&top=2", JOB)]
INVALID = [
    ("?wait=5&unknown=1", JOB), ("", {**JOB, "source": 1}), ("", {**JOB, "parameters": {"source": 1, "weight": "w"}}),
    ("?wait=-1", JOB), ("?top=x", JOB), ("?wait=", JOB), ("?wait=nan", JOB), ("", {**JOB, "more": 1}), ("", [JOB]),
    ("", {**JOB, "priority": "1"}), ("", {**JOB, "graph": "no such"}), ("", {**JOB, "graph": "absent"}), ("", b"{"),
    ("", {**JOB, "algorithm": "x"}), ("", {**JOB, "parameters": {"sorce": 1}}), ("", b"\xff"), ("", b""),
    ("", b"[" * 100_000), ("", {**JOB, "mode": "write"}), ("?wait=5", {**JOB, "parameters": {"source": 99}}),
    ("?wait=5&top=1&top=3", JOB), ("", b'{"graph": "g", "algorithm": "cc", "graph": "g"}'),
    ("", b'{"graph": "' + b"g" * (2 << 20) + b'"}'),
]  # fmt: skip


def refused_here(*_):
    raise AssertionError("the documented route was asked")


async def sent(app, query, body, media="application/json"):
    """Return status and document of an answer, without what differs from job to job."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.post(f"/v1/jobs{query}", content=content, headers={"Content-Type": media})
    document = answer.json()
    varying = VARYING if answer.status_code != 202 else (*VARYING, *KNOWN_LATER)
    return answer.status_code, {key: value for key, value in document.items() if key not in varying}


VARYING = ("id", "created", "started", "finished", "state")
KNOWN_LATER = ("version", "round", "rounds", "seconds", "converged", "rows", "columns", "summary")


def test_direct_and_documented_route_answer_alike(tmp_path, monkeypatch):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            unix = one.client(unix=True)._transport.app
            for query, job in VALID + INVALID:
                direct = await sent(unix, query, job)
                with monkeypatch.context() as patch:
                    patch.setattr(DirectSubmit, "__call__", lambda self, *args: self.app(*args))
                    assert direct == await sent(unix, query, job), (query, job)
                assert (direct[0] < 300) == ((query, job) in VALID)

    asyncio.run(body())


@pytest.mark.parametrize("query", [query for query, _ in VALID])
def test_a_valid_submission_is_not_resolved_by_fastapi(tmp_path, query):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            one.app.direct.app = refused_here
            unix = one.client(unix=True)._transport.app
            assert (await sent(unix, query, JOB))[0] in (200, 202)
            requests = one.service.metrics.requests
            assert requests.labels("POST", routes_jobs.SUBMIT, 200 if query else 202)._value.get() == 1

    asyncio.run(body())


def test_a_fault_of_a_submission_is_a_problem_document(tmp_path, monkeypatch):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            monkeypatch.setattr(one.service.queue, "submit", refused_here)
            answer = await one.job()
            assert (answer.status_code, answer.json()["type"]) == (500, "urn:dgraph:problem:InternalError")
            assert answer.headers["content-type"] == "application/problem+json"

    asyncio.run(body())


def test_frames_are_found_wherever_the_stream_is_cut():
    messages = [{"id": 1, "op": "run"}, {"cancel": 1}, {"requests": [{"id": 2}, {"id": 3}]}]
    stream = b"".join(map(encode, messages))
    for cut in range(len(stream)):
        frames = Frames()
        assert frames.of(stream[:cut]) + frames.of(stream[cut:]) == messages
    with pytest.raises(ValueError, match="not a dgraph process"):
        Frames().of(b"\xff\xff\xff\xff")
