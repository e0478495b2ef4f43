"""Records of versions, graphs that end after a time without use, and jobs that are removed."""

import asyncio
import os

from front import front, serving

from dgraph.service.front import catalogue

CSV = {"Content-Type": "text/csv"}


@serving
async def test_a_record_has_the_figures_of_the_version_that_is_asked_for(one):
    await one.load()
    one.ranks.n = 70
    assert (await one.http.post("/v1/graphs/g/edges", json={"add": [[1, 60]]})).status_code == 200
    sizes = {}
    for version in (None, 1, 2):
        query = "" if version is None else f"?version={version}"
        record = (await one.http.get(f"/v1/graphs/g{query}")).json()
        sizes[version] = record["version"], record["facts"]["n"], record["versions"]
    assert sizes == {None: (2, 70, [1, 2]), 1: (1, 50, [1, 2]), 2: (2, 70, [1, 2])}
    for version, status in ((99, 404), (3, 404), (0, 422), (-1, 422), (2**31, 422), ("x", 422)):
        assert (await one.http.get(f"/v1/graphs/g?version={version}")).status_code == status, version


def test_graphs_end_when_nobody_has_used_them_for_their_time(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "SWEEP_S", 0.01)

    async def body():
        async with front(tmp_path) as one:
            put = await one.http.put("/v1/graphs/sent/data?idle_s=0.5&directed=true", content=b"1,2\n", headers=CSV)
            assert (put.json()["idle_s"], put.json()["options"]) == (0.5, {"directed": True})
            for name, idle_s in (("short", 0.5), ("pinned", 2), ("kept", None), ("long", 1000), ("busy", 2)):
                body = {"name": name, "source": "path:5", "idle_s": idle_s}
                assert (await one.http.post("/v1/graphs", json=body)).json()["idle_s"] == idle_s
                if name == "pinned":
                    await one.http.patch("/v1/graphs/pinned", json={"pinned": True})
            await one.ready("busy")  # loads have an order: all are ready
            one.ranks.gate.clear()
            running = (await one.job(graph="busy")).json()["id"]
            await one.state(running, "running")

            async def names():
                return {graph["name"] for graph in (await one.http.get("/v1/graphs")).json()["graphs"]}

            while len(await names()) > 4:
                await asyncio.sleep(0.01)
            assert await names() == {"pinned", "busy", "kept", "long"}
            one.ranks.gate.set()
            await one.state(running, "done")
            while "busy" in await names():
                await asyncio.sleep(0.01)
        async with front(tmp_path) as one:  # the time is kept over a restart
            assert (await one.http.get("/v1/graphs/long")).json()["idle_s"] == 1000

    asyncio.run(asyncio.wait_for(body(), 60))


def files(one):
    return sorted(os.listdir(one.service.settings.spool))


@serving
async def test_delete_removes_a_job_that_has_ended_and_its_rows(one):
    await one.load()
    first = (await one.job("?wait=5")).json()["id"]
    equal = (await one.job("?wait=5")).json()
    assert equal["cached"]
    failed = (await one.job(source=10**6)).json()["id"]
    await one.state(failed, "failed")
    kept = await one.http.delete(f"/v1/jobs/{first}?ended=keep")
    assert (kept.status_code, kept.json()["state"]) == (200, "done")
    for id, state in ((first, "done"), (failed, "failed")):
        answer = await one.http.delete(f"/v1/jobs/{id}")
        assert (answer.status_code, answer.json()["state"]) == (200, state)
        for method, path in (("GET", ""), ("GET", "/result"), ("GET", "/report"), ("GET", "/events"), ("DELETE", "")):
            assert (await one.http.request(method, f"/v1/jobs/{id}{path}")).status_code == 404, path
        assert (await one.http.post(f"/v1/jobs/{id}/lookup", json={"vertices": [1]})).status_code == 404
    assert [job["id"] for job in (await one.http.get("/v1/jobs")).json()["jobs"]] == [equal["id"]]
    assert (await one.http.get(f"/v1/jobs/{equal['id']}/result")).status_code == 200  # it shares the rows
    assert len(files(one)) == 1
    await one.http.delete(f"/v1/jobs/{equal['id']}")
    assert files(one) == []
    assert not (await one.job("?wait=5")).json()["cached"]


def test_removed_jobs_stay_removed_over_a_restart(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            ids = [(await one.job("?wait=5", source=source)).json()["id"] for source in range(3)]
            await one.http.delete(f"/v1/jobs/{ids[1]}")
        async with front(tmp_path) as one:
            assert [job["id"] for job in (await one.http.get("/v1/jobs")).json()["jobs"]] == [ids[2], ids[0]]
            await one.http.delete(f"/v1/jobs/{ids[0]}")  # of the history alone
            assert (await one.http.get(f"/v1/jobs/{ids[0]}")).status_code == 404
            assert files(one) == [f"{ids[2]}.arrow"]

    asyncio.run(body())


@serving
async def test_metrics_have_the_memory_of_the_front_and_of_the_ranks(one):
    async def memory(*args, **more):
        return {
            "by_rank": [
                {"device_used": 5, "device_total": 9, "host_used": 7},
                {"device_used": 0, "device_total": 0, "host_used": 8},
            ]
        }

    one.ranks.memory = memory
    lines = dict(line.rsplit(" ", 1) for line in (await one.http.get("/metrics")).text.splitlines() if line[0] != "#")
    assert float(lines["dgraph_front_memory_bytes"]) > 1 << 20
    assert [lines[f'dgraph_rank_memory_bytes{{rank="{rank}"}}'] for rank in (0, 1)] == ["7.0", "8.0"]
    assert lines['dgraph_rank_gpu_memory_bytes{rank="0"}'] == "5.0"
    assert lines['dgraph_rank_gpu_memory_total_bytes{rank="0"}'] == "9.0"
    assert 'dgraph_rank_gpu_memory_bytes{rank="1"}' not in lines
    one.ranks.die()
    assert "dgraph_front_memory_bytes" in (await one.http.get("/metrics")).text
