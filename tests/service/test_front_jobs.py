"""Jobs of the service: answers, states, queue, priorities, limits, cancellation, deadlines, history."""

import asyncio
import json
from pathlib import Path

import pytest
from front import front, serving

from dgraph.service.front import rank_calls
from dgraph.service.front.settings import Settings


@serving
async def test_a_job_without_wait_is_accepted_and_later_done(one):
    await one.load()
    answer = await one.job()
    assert answer.status_code == 202
    id = answer.json()["id"]
    assert answer.json()["state"] in ("queued", "running", "done")
    record = await one.state(id, "done")
    assert record["round"] == 2
    assert record["summary"] == {"reached": 50}
    assert record["error"] is None


@serving
async def test_with_wait_the_answer_has_the_result(one):
    await one.load()
    whole = await one.job("?wait=5", source=47)
    assert whole.status_code == 200
    assert whole.json()["state"] == "done"
    result = whole.json()["result"]
    assert result["rows"] == 50
    assert result["columns"]["distance"] == [None] * 47 + [0, 1, 2]
    top = await one.job("?wait=5&top=2", source=47, cache=False)
    assert top.json()["result"]["columns"] == {"vertex": [49, 48], "distance": [2, 1]}


@serving
async def test_the_answer_is_202_if_the_job_takes_longer_than_wait(one):
    await one.load()
    one.ranks.gate.clear()
    answer = await one.job("?wait=0.05")
    assert (answer.status_code, answer.json()["state"] in ("queued", "running")) == (202, True)
    await one.state(answer.json()["id"], "running")
    one.ranks.gate.set()
    await one.state(answer.json()["id"], "done")


@serving
async def test_a_job_on_a_loading_graph_waits_and_one_on_a_failed_graph_fails(one):
    one.ranks.gate.clear()
    (one.service.settings.data_root / "bad.el").write_text("garbage")
    for name, source in (("g", "path:50"), ("b", "bad.el")):
        assert (await one.http.post("/v1/graphs", json={"name": name, "source": source})).status_code == 202
    good, bad = (await one.job()).json(), (await one.job(graph="b")).json()
    assert (good["state"], bad["state"]) == ("queued", "queued")
    one.ranks.gate.set()
    assert (await one.state(good["id"], "done"))["version"] == 1
    failed = await one.state(bad["id"], "failed")
    assert "line 1: garbage" in failed["error"]["message"]
    assert (await one.job(graph="b")).status_code == 422


@serving
async def test_an_error_of_the_ranks_is_the_jobs_and_a_waiting_request_gets_it(one):
    await one.load()
    answer = await one.job("?wait=5", source=99)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["state"] == "failed"
    assert "99 is not a vertex" in answer.json()["detail"]
    assert (await one.http.get(f"/v1/jobs/{answer.json()['id']}/result")).status_code == 409


@serving
async def test_larger_priorities_run_first_and_equal_ones_in_order(one):
    await one.load()
    one.ranks.gate.clear()
    await one.state((await one.job(source=1, cache=False)).json()["id"], "running")
    ids = [(await one.job(source=k, priority=p)).json()["id"] for k, p in ((2, 0), (3, 5), (4, 5), (5, -1))]
    one.ranks.gate.set()
    for id in ids:
        await one.state(id, "done")
    ran = [fields["parameters"]["source"] for op, fields in one.ranks.calls if op == "run"]
    assert ran == [1, 3, 4, 2, 5]


@serving
async def test_cancelled_jobs_stay_in_the_history(one):
    await one.load()
    one.ranks.gate.clear()
    running, queued = await one.running_and_queued()
    for id in (queued, running):
        answer = await one.http.delete(f"/v1/jobs/{id}")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    listed = (await one.http.get("/v1/jobs?state=cancelled")).json()["jobs"]
    assert [job["id"] for job in listed] == [queued, running]
    one.ranks.gate.set()
    assert (await one.job("?wait=5", source=3)).status_code == 200
    assert list(one.service.settings.spool.glob("*")) == [one.service.results.path((await _last(one))["id"])]
    assert (one.service.queue.queued, one.service.doors.socket.queued) == (0, 0)


async def _last(one):
    return (await one.http.get("/v1/jobs?limit=1")).json()["jobs"][0]


@serving
async def test_the_time_limit_holds_in_the_queue_and_on_the_ranks(one):
    await one.load()
    one.ranks.gate.clear()
    running = (await one.job(source=1, timeout_s=0.1)).json()["id"]
    queued = (await one.job(source=2, timeout_s=0.05)).json()["id"]
    for id in (running, queued):
        assert (await one.state(id, "failed"))["error"]["kind"] == "TimedOut"
    assert (await one.job("?wait=5", source=3, timeout_s=0.05)).status_code == 504


def test_a_full_queue_answers_429(tmp_path):
    async def body():
        async with front(tmp_path, queue=3, queue_each=2) as one:
            await one.load()
            one.ranks.gate.clear()
            await one.state((await one.job(source=1)).json()["id"], "running")
            codes = [(await one.job(source=k)).status_code for k in (2, 3, 4)]
            assert codes == [202, 202, 429]
            async with one.tcp("other") as other:
                jobs = [{"graph": "g", "algorithm": "bfs", "parameters": {"source": k}} for k in (5, 6)]
                answers = [await other.post("/v1/jobs", json=job) for job in jobs]
                assert [answer.status_code for answer in answers] == [202, 429]
                assert answers[1].headers["retry-after"] == "1"
            one.ranks.gate.set()

    asyncio.run(body())


@serving
async def test_pages_go_through_all_jobs_once(one):
    await one.load()
    ids = [(await one.job("?wait=5", source=k)).json()["id"] for k in range(7)]
    seen, cursor = [], ""
    while cursor is not None:
        page = (
            await one.http.get(f"/v1/jobs?limit=3&graph=g&cursor={cursor}" if cursor else "/v1/jobs?limit=3")
        ).json()
        seen += [job["id"] for job in page["jobs"]]
        cursor = page["cursor"]
    assert seen == ids[::-1]
    assert (await one.http.get("/v1/jobs?graph=h")).json()["jobs"] == []


@serving
async def test_events_go_on_after_the_last_one_seen(one):
    await one.load()
    id = (await one.job("?wait=5")).json()["id"]
    whole = (await one.http.get(f"/v1/jobs/{id}/events")).text
    events = [block for block in whole.split("\n\n") if block.startswith("id:")]
    kinds = [block.splitlines()[1].removeprefix("event: ") for block in events]
    assert kinds == ["state", "state", "round", "round", "state"]
    assert json.loads(events[3].splitlines()[2].removeprefix("data: "))["round"] == 2
    rest = (await one.http.get(f"/v1/jobs/{id}/events", headers={"Last-Event-ID": "4"})).text
    assert [block for block in rest.split("\n\n") if block.startswith("id:")] == events[4:]
    assert (await one.http.get(f"/v1/jobs/{id}/events", headers={"Last-Event-ID": "x"})).status_code == 422


@serving
async def test_what_cannot_fit_is_refused_with_the_figures(one):
    await one.load()
    one.ranks.fits = False
    answer = await one.job("?wait=5")
    assert answer.status_code == 507
    assert (answer.json()["bytes_by_rank"], answer.json()["available_by_rank"]) == ([700], [600])
    assert "700 bytes" in answer.json()["detail"]
    assert (await one.job(source=4)).status_code == 507
    assert "run" not in [op for op, _ in one.ranks.calls]


def test_while_a_job_runs_what_needs_no_ranks_is_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(rank_calls, "TURN_S", 0.05)

    async def body():
        async with front(tmp_path) as one:
            await one.load()
            memory = (await one.http.get("/v1/memory")).json()
            first = (await one.job("?wait=5", source=3)).json()
            one.ranks.gate.clear()
            running = (await one.job(source=1)).json()["id"]
            await one.state(running, "running")
            again = await one.job("?wait=1", source=3)
            assert (again.status_code, again.json()["cached"]) == (200, True)
            assert again.json()["result"] == first["result"]
            assert (await one.http.get("/v1/memory")).json() == memory
            pair, run = {"source": 1, "target": 2}, {"graph": "g", "algorithm": "cc"}
            for path, asked in (("graphs/g/path", pair), ("estimate", run)):
                answer = await one.http.post(f"/v1/{path}", json=asked)
                assert (answer.status_code, "retry-after" in answer.headers) == (503, True), answer.text
            change = await one.http.post("/v1/graphs/g/edges", json={"add": [[0, 9]]})
            assert (change.status_code, change.json()["version"], change.json()["state"]) == (202, 2, "loading")
            newer, older = await one.job(source=3), await one.job(source=3, version=1)
            assert (newer.json()["state"], older.json()["state"]) == ("queued", "done")
            one.ranks.gate.set()
            assert (await one.state(newer.json()["id"], "done"))["version"] == 2
            assert (await one.http.post("/v1/graphs/g/path", json=pair)).status_code == 200

    asyncio.run(body())


@serving
async def test_a_refused_batch_of_edges_uses_no_version(one):
    await one.load()
    url, batch = "/v1/graphs/g/edges", {"add": [[1, 2]]}
    one.ranks.refused = "an edge that is not there"
    refused = await one.http.post(url, json=batch)
    assert (refused.status_code, refused.json()["detail"]) == (422, "an edge that is not there")
    graph = (await one.http.get("/v1/graphs/g")).json()
    assert (graph["state"], graph["version"], graph["versions"], graph["error"]) == ("ready", 1, [1], None)
    one.ranks.refused = None
    assert (await one.http.post(url, json=batch)).json()["version"] == 2
    one.ranks.refused = "another"
    promised = await one.http.post(f"{url}?wait=0", json=batch)
    assert (promised.status_code, promised.json()["version"]) == (202, 3)
    for _ in range(100):
        if (await one.http.get("/v1/graphs/g")).json()["error"] is not None:
            break
        await asyncio.sleep(0.005)
    named = await one.job(version=3)
    assert (named.status_code, "it failed: another" in named.json()["detail"]) == (404, True)
    one.ranks.refused = None
    assert (await one.http.post(url, json=batch)).json()["version"] == 4


@serving
async def test_bad_jobs_are_refused(one):
    await one.load()
    for wrong, status in (
        ({"algorithm": "bsf"}, 422),
        ({"parameters": {"sauce": 1}}, 422),
        ({"parameters": {}}, 422),
        ({"parameters": {"source": [1]}}, 422),
        ({"parameters": {"source": 1, "depth_limit": "far"}}, 422),
        ({"graph": "h"}, 404),
        ({"graph": "../g"}, 422),
        ({"version": 2}, 404),
        ({"mode": "write"}, 422),
        ({"mode": "write", "write": "../out.csv"}, 403),
        ({"mode": "write", "write": "out.exe"}, 422),
        ({"column": "c"}, 422),
        ({"priority": 1000}, 422),
        ({"timeout_s": -1}, 422),
        ({"more": 1}, 422),
    ):
        answer = await one.job(**wrong)
        assert answer.status_code == status, (wrong, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert {"type", "title", "status", "detail"} <= set(answer.json())
    form = await one.http.post("/v1/jobs", content=b"{}", headers={"Content-Type": "application/x-www-form-urlencoded"})
    assert (form.status_code, "send Content-Type: application/json" in form.json()["detail"]) == (415, True)
    for text in ("{", "[]", "\xff", "[" * 100_000):
        answer = await one.http.post(
            "/v1/jobs", content=text.encode("latin-1"), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (400, 422), answer.text


@serving
async def test_modes_that_keep_no_rows(one):
    await one.load()
    stats = await one.job("?wait=5", mode="stats")
    assert stats.json()["result"]["summary"] == {"reached": 50}
    kept = await one.job("?wait=5", mode="mutate", column="hops")
    assert (await one.http.get("/v1/graphs/g")).json()["columns"] == ["hops"]
    (one.service.settings.data_root / "there.csv").write_text("input")
    assert (await one.job(mode="write", write="there.csv")).status_code == 409
    assert (await one.job("?wait=5", mode="write", write="there.csv", replace=True)).status_code == 200
    written = await one.job("?wait=5", mode="write", write="out.csv")
    assert (kept.status_code, written.status_code) == (200, 200)
    run = one.ranks.calls[-1][1]
    assert run["write"] == str(one.service.settings.data_root / "out.csv")
    assert (run["keep"], run["spool"]) == (False, None)
    assert (await one.http.get(f"/v1/jobs/{kept.json()['id']}/result")).status_code == 409
    one.ranks.die()
    one.ranks.become("up")
    assert (await one.ready())["columns"] == ["hops"]


@pytest.mark.parametrize(
    ("of_ranks", "of_http"),
    [
        ("say --header (header=True), or", "say header=true, or"),
        ("say --columns 1,2[,3] (columns=)", "say columns=1,2[,3]"),
        ("--columns (columns=), --ids string", "columns, ids string"),
        ("give one for every new edge, with weights=", "give one for every new edge, as the third number of its row"),
        ("/s/dgraph/graphs/bad/1/table.csv:2: 7 columns", "the data sent:2: 7 columns"),
        ("/s/dgraph/graphs/bad/1 does not", "graphs/bad/1 does not"),
        ("a -- b, x--y", "a -- b, x--y"),
        ("/tmp/sub/web.el, line 3: garbage", "sub/web.el, line 3: garbage"),
        ('File "/usr/lib/python3/os.py", see /home/me/x', 'File "os.py", see x'),
        ("GET /v1/graphs, 3/4/5, and/or, docs/guide/data.md", "GET /v1/graphs, 3/4/5, and/or, docs/guide/data.md"),
    ],
)
def test_messages_of_the_ranks_in_words_of_http(of_ranks, of_http):
    assert rank_calls.RankCalls(None, Settings(Path("/s/dgraph"), Path("/tmp"))).plain(of_ranks) == of_http


@serving
async def test_reports_and_further_keys_of_a_run(one):
    await one.load()
    where = {"column": "core", "is": ">=", "value": 3}
    more = {"report": True, "validate": True, "where": where, "options": {"direction": "push"}}
    answer = await one.job("?wait=5", **more)
    assert {key: one.ranks.calls[-1][1][key] for key in more} == more
    assert (await one.http.get(f"/v1/jobs/{answer.json()['id']}/report")).json() == {"ranks": []}
    assert not (await one.job("?wait=5", **more)).json()["cached"]  # the column may be another one by now
    plain = (await one.job("?wait=5")).json()
    assert (plain["cached"], plain["converged"], plain["rounds"]) == (False, True, 2)
    assert "where" not in one.ranks.calls[-1][1]
    assert (await one.http.get(f"/v1/jobs/{plain['id']}/report")).status_code == 410
    for wrong in ({"where": {"column": "core"}}, {"options": {"direction": "up"}}, {"validate": "yes"}):
        assert (await one.job(**wrong)).status_code == 422, wrong
