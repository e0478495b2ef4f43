"""Results of the service: formats, parts, lookup, the cache and its eviction; graphs: versions, pins, uploads."""

import asyncio
import io

import numpy as np
import pyarrow as pa
import pytest
from fake_ranks import table
from front import front, serving
from pyarrow import parquet

from dgraph.service.front.result_encodings import Lookup, Selection, columns_of, selected, stream_of


def arrow(answer):
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    return pa.ipc.open_stream(answer.content).read_all()


@serving
async def test_the_same_rows_in_all_formats_held_or_spooled(one):
    await one.load()
    whole = table(45)
    for query in ("?wait=5", "?wait=5&top=3"):
        id = (await one.job(query, source=45, cache=False)).json()["id"]
        url = f"/v1/jobs/{id}/result"
        assert arrow(await one.http.get(f"{url}?format=arrow")).equals(whole)
        assert parquet.read_table(io.BytesIO((await one.http.get(f"{url}?format=parquet")).content)).equals(whole)
        assert (await one.http.get(url)).json() == {"columns": whole.to_pydict(), "rows": 50}
        part = arrow(await one.http.get(f"{url}?format=arrow&columns=distance&offset=44&limit=3"))
        assert part.to_pydict() == {"distance": [None, 0, 1]}
        assert (await one.http.get(f"{url}?offset=99&limit=10000")).json()["columns"]["vertex"] == []
        assert (await one.http.get(f"{url}?top=2")).json()["columns"] == {"vertex": [49, 48], "distance": [4, 3]}
        lookup = await one.http.post(f"/v1/jobs/{id}/lookup", json={"vertices": [49, 1, 46]})
        assert lookup.json() == {"columns": {"vertex": [49, 1, 46], "distance": [4, None, 1]}, "rows": 3}
        for bad in ("?columns=nope", "?format=xml", "?limit=-1", "?offset=x"):
            assert (await one.http.get(url + bad)).status_code == 422


@serving
async def test_lookups_of_a_held_result_go_to_the_ranks(one):
    await one.load()
    id = (await one.job("?wait=5&top=3", source=45)).json()["id"]
    lookup = await one.http.post(f"/v1/jobs/{id}/lookup", json={"vertices": [49]})
    assert lookup.json()["columns"] == {"vertex": [49], "distance": [4]}
    assert list(one.ranks.results) == [id]
    one.ranks.die()
    one.ranks.become("up")
    assert (await one.http.post(f"/v1/jobs/{id}/lookup", json={"vertices": [49]})).status_code == 410


@serving
async def test_equal_jobs_share_a_result_of_one_version(one):
    await one.load()

    def runs():
        return sum(op == "run" for op, _ in one.ranks.calls)

    first = (await one.job("?wait=5", source=3)).json()
    again = (await one.job("?wait=5", source=3)).json()
    spelled = (await one.job("?wait=5", parameters={"source": 3, "depth_limit": None})).json()
    assert (runs(), first["cached"], again["cached"], spelled["cached"]) == (1, False, True, True)
    assert again["result"] == first["result"]
    assert (await one.http.get(f"/v1/jobs/{again['id']}/result")).status_code == 200
    assert not (await one.job("?wait=5", source=3, cache=False)).json()["cached"]
    assert not (await one.job("?wait=5", source=4)).json()["cached"]
    assert runs() == 3
    change = await one.http.post("/v1/graphs/g/edges", json={"add": [[0, 9]]})
    assert change.json() == {"name": "g", "version": 2, "state": "ready"}
    newer = (await one.job("?wait=5", source=3)).json()
    assert one.ranks.calls[-1][1]["previous"] == first["id"]
    older = (await one.job("?wait=5", source=3, version=1)).json()
    assert (newer["version"], newer["cached"], older["version"], older["cached"]) == (2, False, 1, True)


def test_the_least_recently_used_result_is_evicted(tmp_path):
    async def body():
        async with front(tmp_path, spool_bytes=3000) as one:
            await one.load()
            ids = [(await one.job("?wait=5", source=k)).json()["id"] for k in (1, 2)]
            assert (await one.http.get(f"/v1/jobs/{ids[0]}/result")).status_code == 200
            ids.append((await one.job("?wait=5", source=3)).json()["id"])
            sizes = [path.stat().st_size for path in one.service.settings.spool.iterdir()]
            assert sum(sizes) <= 3000 < sum(sizes) + sizes[0]
            codes = [(await one.http.get(f"/v1/jobs/{id}/result")).status_code for id in ids]
            assert codes == [200, 410, 200]
            assert not (await one.job("?wait=5", source=2)).json()["cached"]
            assert one.service.results.bytes == sum(p.stat().st_size for p in one.service.settings.spool.iterdir())

    asyncio.run(body())


@serving
async def test_graphs_are_pinned_deleted_and_replaced(one):
    await one.load()
    id = (await one.job("?wait=5")).json()["id"]
    assert (await one.http.post("/v1/graphs", json={"name": "g", "source": "path:3"})).status_code == 409
    assert (await one.http.patch("/v1/graphs/g", json={"pinned": True})).json()["pinned"]
    assert (await one.http.delete("/v1/graphs/g")).status_code == 409
    await one.http.patch("/v1/graphs/g", json={"pinned": False})
    one.ranks.gate.clear()
    waiting = (await one.job(source=9)).json()["id"]
    assert (await one.http.delete("/v1/graphs/g")).status_code == 204
    one.ranks.gate.set()
    await one.state(waiting, "done", "failed")
    assert (await one.http.get("/v1/graphs/g")).status_code == 404
    assert (await one.http.get("/v1/graphs")).json() == {"graphs": []}
    assert (await one.http.get(f"/v1/jobs/{id}/result")).status_code == 410
    for _ in range(100):
        if not (one.service.settings.state / "graphs" / "g").exists():
            break
        await asyncio.sleep(0.01)
    assert not (one.service.settings.state / "graphs" / "g").exists()
    assert ("drop", {"graph": "g"}) in one.ranks.calls


@serving
async def test_batches_of_edges_reach_the_ranks_as_columns(one):
    await one.load()
    url = "/v1/graphs/g/edges?wait=30"  # without it the answer is 202 while the ranks are busy, as just after a load
    assert (await one.http.post(url, json={"add": [[1, 2, 0.5], [3, 4, 1.5]], "remove": [[5, 6]]})).status_code == 200
    assert one.ranks.changed == {
        "source": [1, 3, 5],
        "target": [2, 4, 6],
        "remove": [False, False, True],
        "weight": [0.5, 1.5, None],
    }
    for wrong in ({}, {"add": [[1]]}, {"add": [[1, "a"]]}, {"add": [[1, 2], [1, 2, 3]]}, {"add": [[1.5, 2]]}):
        assert (await one.http.post(url, json=wrong)).status_code == 422, wrong
    assert (await one.http.post("/v1/graphs/h/edges", json={"add": [[1, 2]]})).status_code == 404
    assert (await one.http.get("/v1/graphs/g")).json()["versions"] == [1, 2]
    for _ in range(3):
        assert (await one.http.post(url, json={"add": [[1, 2]]})).status_code == 200
    uploads = one.service.settings.state / "uploads"
    for _ in range(500):  # old versions and the batches' files go after the answer
        if (await one.http.get("/v1/graphs/g")).json()["versions"] == [4, 5] and not list(uploads.iterdir()):
            return
        await asyncio.sleep(0.01)
    raise AssertionError((list(uploads.iterdir()), (await one.http.get("/v1/graphs/g")).json()))


@pytest.mark.parametrize("layout", ["file", "stream"])
def test_selections_agree_with_sorting(tmp_path, layout):
    rng = np.random.default_rng(1)
    vertex = np.sort(rng.choice(10_000, 3000, replace=False))
    value = rng.integers(0, 50, 3000)
    rows = pa.table({"vertex": vertex, "distance": pa.array(value, mask=value > 40)})
    path = tmp_path / "rows.arrow"
    with (pa.ipc.new_file if layout == "file" else pa.ipc.new_stream)(str(path), rows.schema) as writer:
        writer.write_table(rows, max_chunksize=700)
    frame = rows.to_pandas().dropna().sort_values(["distance", "vertex"], ascending=[False, True])
    for k in (0, 1, 100, 5000):
        selection = selected(rows, Selection(top=k)).to_pandas()
        assert selection["vertex"].tolist() == frame["vertex"].tolist()[:k]
    start, length = stream_of(path)
    assert pa.ipc.open_stream(path.read_bytes()[start : start + length]).read_all().equals(rows)
    asked = rng.permutation(vertex)[:50].tolist()
    selection = Lookup(path).find(asked)
    assert selection["vertex"] == asked
    by_vertex = dict(zip(vertex.tolist(), rows["distance"].to_pylist(), strict=True))
    assert selection["distance"] == [by_vertex[v] for v in asked]


def test_infinities_and_words_are_json():
    rows = pa.table({"vertex": ["a", "b", "c"], "distance": [1.5, float("inf"), float("nan")]})
    assert columns_of(rows) == {"vertex": ["a", "b", "c"], "distance": [1.5, None, None]}
    assert selected(rows, Selection(top=5)).to_pydict() == {"vertex": ["a"], "distance": [1.5]}
