"""Records that cannot be encoded are not stored, and damaged ones of other versions stop neither lists nor starts."""

import asyncio
import json
import sqlite3

import pytest
from front import front, serving

from dgraph.service.front.jobs.job import Job
from dgraph.service.front.problem_documents import Problem

DAMAGED = ("", "{", "[]", "null", '"text"', '{"id": 7}', '{"id": "a", "_": 3}', "\x00")


def add(folder, table, *rows):
    with sqlite3.connect(folder / "state" / "history.sqlite") as db:
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.close()


def test_records_of_older_versions_are_shown_or_left_out(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            done = (await one.job("?wait=5")).json()
            (text,) = sqlite3.connect(tmp_path / "state" / "history.sqlite").execute("SELECT doc FROM jobs").fetchone()
        document = json.loads(text)
        document["_"]["key"], rows = None, []
        for number, (state, value) in enumerate((("done", "1e999"), ("failed", "Infinity"), ("queued", "NaN"))):
            document |= {"id": f"0{number}", "state": state, "parameters": {"source": "VALUE"}}
            rows.append((f"0{number}", state, "g", json.dumps(document).replace('"VALUE"', value)))
        rows += [
            (f"z{number}", state, "g", text) for state in ("done", "queued") for number, text in enumerate(DAMAGED)
        ]
        rows = [(f"{id}{number}" if id[0] == "z" else id, *rest) for number, (id, *rest) in enumerate(rows)]
        add(tmp_path, "jobs", *rows)
        add(tmp_path, "graphs", *((f"h{number}", text) for number, text in enumerate(DAMAGED)))
        async with front(tmp_path) as one:
            await one.state("02", "failed")  # queued with a parameter that is not a number
            listed = await one.http.get("/v1/jobs")
            shown = {record["id"]: record["parameters"] for record in listed.json()["jobs"]}
            assert shown["00"] == {"source": "1e999"}
            assert shown["01"] == {"source": "Infinity"}
            assert set(shown) == {done["id"], "00", "01", "02"}
            assert (await one.http.get("/v1/jobs/00")).status_code == 200
            assert (await one.http.get(f"/v1/jobs/{rows[-1][0]}")).status_code == 404
            names = [graph["name"] for graph in (await one.http.get("/v1/graphs")).json()["graphs"]]
            assert names == ["g"]
            assert (await one.job("?wait=5", source=3)).status_code == 200

    asyncio.run(body())


@serving
async def test_a_record_that_json_cannot_hold_is_not_taken(one):
    await one.load()
    owner = one.service.doors.socket
    for parameters in ({"tol": float("inf")}, {"deep": [{"er": float("nan")}]}):
        with pytest.raises(Problem) as refused:
            one.service.queue.submit(Job("g", None, "pagerank", parameters, owner=owner))
        assert refused.value.status_code == 422
    good = (await one.job("?wait=5")).json()["id"]
    broken = one.service.queue.jobs[good]
    broken.summary = {"mean": float("nan")}
    one.service.history.note(broken)
    other = (await one.job("?wait=5", source=4)).json()["id"]
    assert await one.service.history.flush()
    assert {record["id"] for record in await one.service.history.page(None, None, None, 9)} == {good, other}
