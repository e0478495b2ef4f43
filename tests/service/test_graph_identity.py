"""Jobs and requests keep to the graph that had the name when they came, and to the version that had the number."""

import asyncio
import json
import sqlite3

from front import front, serving

CSV = {"Content-Type": "text/csv"}


async def remade(one, name="g"):
    """Delete a graph, and make another of its name."""
    assert (await one.http.delete(f"/v1/graphs/{name}")).status_code == 204
    await one.http.post("/v1/graphs", json={"name": name, "source": "path:9"})


@serving
async def test_a_queued_job_fails_when_its_graph_is_deleted_though_another_has_its_name(one):
    await one.load()
    one.ranks.gate.clear()
    _, queued = await one.running_and_queued()
    named = (await one.job(version=1)).json()["id"]
    await remade(one)
    new = (await one.job(source=3)).json()["id"]
    for id in (queued, named):
        assert (await one.state(id, "failed"))["error"]["kind"] == "NotFound"
    one.ranks.gate.set()
    assert (await one.state(new, "done"))["version"] == 1
    assert [fields["parameters"]["source"] for op, fields in one.ranks.calls if op == "run"] == [1, 3]


@serving
async def test_a_job_parked_for_a_load_that_fails_does_not_run_on_the_next_graph_of_the_name(one):
    (one.service.settings.data_root / "bad.el").write_text("?")
    await one.load("other")
    one.ranks.gate.clear()
    await one.http.post("/v1/graphs", json={"name": "g", "source": "bad.el"})
    parked = (await one.job()).json()["id"]
    one.ranks.gate.set()
    assert (await one.ready())["state"] == "failed"
    await one.load()
    assert (await one.state(parked, "failed"))["finished"]


@serving
async def test_a_job_that_names_a_version_does_not_run_on_another_of_its_number(one):
    await one.load()
    one.ranks.gate.clear()
    one.ranks.refused = "garbage"
    first = await one.http.post("/v1/graphs/g/edges?wait=0", json={"add": [[1, 2]]})
    assert first.json() == {"name": "g", "version": 2, "state": "loading"}
    named = (await one.job(version=2)).json()["id"]
    graph = one.service.catalogue.graphs["g"]
    old = graph.versions[2]
    graph.versions[2] = type(old)(2, "change", {}, state="ready", stored=True)  # as after a batch was taken back
    one.ranks.gate.set()
    assert (await one.state(named, "failed"))["error"]["kind"] == "NotFound"


@serving
async def test_bodies_that_arrive_while_their_graph_is_made_anew_are_refused(one):
    for method, path, body, headers in (
        ("POST", "/v1/graphs/g/edges", b'{"add": [[1, 2]]}', None),
        ("PUT", "/v1/graphs/g/data", b"1,2\n3,4\n5,6\n7,8\n", CSV),
        ("PATCH", "/v1/graphs/g", b'{"pinned": true}', None),
        ("POST", "/v1/graphs/g/path", b'{"source": 1, "target": 2}', None),
    ):
        await one.load()
        before = len(one.ranks.calls)

        async def parts(body=body):
            yield body[:8]
            await remade(one)
            await one.ready()
            yield body[8:]

        headers = headers or {"Content-Type": "application/json"}
        answer = await one.http.request(method, path, content=parts(), headers=headers)
        assert answer.status_code == 404, (path, answer.text)
        assert answer.json()["type"].endswith("NotFound")
        assert not {"change", "table", "path"} & {op for op, _ in one.ranks.calls[before:]}
        shown = (await one.http.get("/v1/graphs/g")).json()
        assert (shown["versions"], shown["pinned"], shown["source"]) == ([1], False, "path:9")
        assert list((one.service.settings.state / "uploads").iterdir()) == []
        await one.http.delete("/v1/graphs/g")


@serving
async def test_a_batch_whose_graph_is_deleted_before_it_was_made_is_not_answered_as_loading(one):
    await one.load()
    one.ranks.gate.clear()
    await one.running_and_queued()
    waiting = asyncio.ensure_future(one.http.post("/v1/graphs/g/edges?wait=9", json={"add": [[1, 2]]}))
    while len(one.service.catalogue.graphs["g"].versions) < 2:
        await asyncio.sleep(0.005)
    await remade(one)
    one.ranks.gate.set()
    assert (await waiting).status_code == 404


@serving
async def test_a_path_that_waits_for_the_ranks_is_not_found_on_the_next_graph(one):
    await one.load()
    async with one.service.ranks.turn:
        asked = asyncio.ensure_future(one.http.post("/v1/graphs/g/path", json={"source": 1, "target": 2}))
        await asyncio.sleep(0.05)
        await remade(one)
    assert (await asked).status_code == 404
    assert "path" not in [op for op, _ in one.ranks.calls]


@serving
async def test_a_graph_is_not_refused_with_the_figures_of_one_that_had_its_name(one):
    await one.load()
    one.ranks.fits = False
    assert (await one.job("?wait=5")).status_code == 507
    await remade(one)
    one.ranks.fits = True
    assert (await one.job("?wait=5")).status_code == 200


def rewritten(folder, table, change):
    """Change the documents of a table of the history, as another run of the service could have."""
    with sqlite3.connect(folder / "state" / "history.sqlite") as db:
        for key, text in db.execute(
            f"SELECT rowkey, doc FROM (SELECT *, {table[1]} AS rowkey FROM {table[0]})"
        ).fetchall():
            document = json.loads(text)
            change(document)
            db.execute(f"UPDATE {table[0]} SET doc = ? WHERE {table[1]} = ?", (json.dumps(document), key))
    db.close()


async def killed(one, source):
    """End the queue and the history as kill -9 would, while a job runs; return another, which is queued."""
    one.ranks.gate.clear()
    await one.state((await one.job(cache=False)).json()["id"], "running")
    queued = (await one.job(source=source)).json()["id"]
    one.service.queue.server.cancel()
    await asyncio.sleep(0)
    one.service.queue.running = []
    await one.service.history.flush()
    one.service.history.note = lambda job: None
    return queued


def test_after_a_restart_jobs_run_on_their_graph_alone(tmp_path):
    def without_ids(document):
        for part in (document, *document["versions"]) if "versions" in document else ():
            del part["id"]
        for name in ("graph_id", "version_id"):
            document.get("_", {}).pop(name, None)

    async def body():
        async with front(tmp_path) as one:
            await one.load()
            queued = await killed(one, 2)
        rewritten(tmp_path, ("graphs", "name"), without_ids)
        rewritten(tmp_path, ("jobs", "id"), without_ids)
        async with front(tmp_path) as one:  # of a service without ids
            await one.state(queued, "done")
            queued = await killed(one, 3)
        rewritten(tmp_path, ("graphs", "name"), lambda document: document.update(id="another"))
        async with front(tmp_path) as one:
            failed = await one.state(queued, "failed")
            assert failed["error"]["kind"] == "NotFound"
            assert "run" not in [op for op, _ in one.ranks.calls]

    asyncio.run(body())


@serving
async def test_the_record_and_folder_of_a_deleted_graph_do_not_come_back(one):
    await one.load()
    one.ranks.gate.clear()
    await one.running_and_queued()
    await one.http.post("/v1/graphs/g/edges?wait=0", json={"add": [[1, 2]]})
    await one.http.delete("/v1/graphs/g")
    one.ranks.gate.set()
    await asyncio.sleep(0.1)
    await one.service.history.flush()
    assert await one.service.history.graphs() == []
    assert list((one.service.settings.state / "graphs").iterdir()) == []
    assert list((one.service.settings.state / "uploads").iterdir()) == []
