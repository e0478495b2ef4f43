"""Jobs and graphs outlive dying ranks, restarts and the end of the service."""

import asyncio

from fake_ranks import table
from front import front, serving


@serving
async def test_when_the_ranks_die_the_running_job_fails_and_the_queue_goes_on(one):
    await one.load()
    one.ranks.gate.clear()
    running, queued = await one.running_and_queued()
    one.ranks.die()
    failed = await one.state(running, "failed")
    assert failed["error"]["kind"] == "RanksDied"
    assert "killed by signal 9" in failed["error"]["message"]
    assert (await one.http.get("/readyz")).status_code == 503
    refused = await one.job(source=3)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert (await one.http.get("/healthz")).status_code == 200
    one.ranks.gate.set()
    one.ranks.become("up")
    await one.state(queued, "done")
    assert [op for op, _ in one.ranks.calls[-2:]] == ["open", "run"]
    assert (await one.http.get("/readyz")).status_code == 200


@serving
async def test_the_service_is_ready_while_a_graph_loads_and_while_graphs_are_opened_again(one):
    await one.load()
    one.ranks.gate.clear()
    assert (await one.http.post("/v1/graphs", json={"name": "h", "source": "path:9"})).json()["state"] == "loading"
    while [op for op, _ in one.ranks.calls].count("load") < 2:
        await asyncio.sleep(0.005)
    assert (await one.http.get("/readyz")).json()["status"] == "ready"
    one.ranks.die()
    assert (await one.http.get("/readyz")).status_code == 503
    one.ranks.become("up")
    states = (await one.http.get("/v1/graphs/h")).json()["state"], (await one.http.get("/readyz")).status_code
    assert states == ("loading", 200)
    one.ranks.gate.set()


def test_after_a_restart_queued_jobs_run_and_the_running_one_has_failed(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            done = (await one.job("?wait=5")).json()["id"]
            finished = (await one.job("?wait=5&top=2", source=7)).json()["id"]
            equal = (await one.job("?wait=5")).json()["id"]
            one.ranks.gate.clear()
            running, queued = await one.running_and_queued()
            one.service.queue.server.cancel()  # as kill -9 would
            await asyncio.sleep(0)
            one.service.queue.running = []
            await one.service.history.flush()
            one.service.history.note = lambda job: None
            for name in ("orphan.arrow", f".{running}.arrow.part"):
                (one.service.settings.spool / name).write_bytes(b"left")
        async with front(tmp_path) as one:
            assert (await one.state(queued, "done"))["summary"] == {"reached": 48}
            assert (await one.state(running, "failed"))["error"]["kind"] == "Restarted"
            assert (await one.state(done, "done"))["rows"] == 50
            for id in (done, equal):
                kept = (await one.http.get(f"/v1/jobs/{id}/result")).json()
                assert kept == {"columns": table(0).to_pydict(), "rows": 50}
            assert {path.stem for path in one.service.settings.spool.iterdir()} == {done, queued}
            assert one.service.results.bytes == sum(p.stat().st_size for p in one.service.settings.spool.iterdir())
            lost = await one.http.get(f"/v1/jobs/{finished}/result")
            assert lost.status_code == 410
            assert "the service ended while the ranks held it" in lost.json()["detail"]
            again = (await one.job("?wait=5&top=1")).json()
            assert (again["cached"], again["result"]["columns"]) == (True, {"vertex": [49], "distance": [49]})
            assert [op for op, _ in one.ranks.calls][:2] == ["open", "estimate"]
            await one.http.delete("/v1/graphs/g")
        async with front(tmp_path) as one:
            assert list(one.service.settings.spool.iterdir()) == []
            assert (await one.http.get(f"/v1/jobs/{done}/result")).status_code == 410

    asyncio.run(body())


def test_a_job_that_the_end_of_the_service_cancels_says_so(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            one.ranks.gate.clear()
            running = (await one.job()).json()["id"]
            await one.state(running, "running")
        async with front(tmp_path) as one:
            assert "the service ended" in (await one.state(running, "cancelled"))["error"]["message"]

    asyncio.run(body())


def test_restored_results_keep_to_the_limit(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            ids = [(await one.job("?wait=5", source=k)).json()["id"] for k in range(3)]
        size = (tmp_path / "state" / "spool" / f"{ids[0]}.arrow").stat().st_size
        async with front(tmp_path, spool_bytes=2 * size + size // 2) as one:
            codes = [(await one.http.get(f"/v1/jobs/{id}/result")).status_code for id in ids]
            assert codes == [410, 200, 200]
            assert "to make room" in (await one.http.get(f"/v1/jobs/{ids[0]}/result")).json()["detail"]

    asyncio.run(body())


@serving
async def test_a_graph_whose_load_kills_the_ranks_fails_in_the_end(one):
    one.ranks.gate.clear()
    await one.http.post("/v1/graphs", json={"name": "g", "source": "path:50"})
    id = (await one.job()).json()["id"]
    for times in (1, 2, 3):
        while sum(op == "load" for op, _ in one.ranks.calls) < times:
            await asyncio.sleep(0.005)
        assert (await one.http.get("/v1/graphs/g")).json()["state"] == "loading"
        one.ranks.die()
        await asyncio.sleep(0.02)
        one.ranks.become("up")
    assert "died 3 times" in (await one.ready())["error"]["message"]
    assert (await one.state(id, "failed"))["error"]["kind"] == "RanksDied"
    one.ranks.gate.set()
    await one.load("h")
