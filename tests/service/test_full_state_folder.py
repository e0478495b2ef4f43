"""A state folder that takes no more: what is accepted is on the disk, the rest is refused with 507."""

import asyncio
import errno
import os
import sqlite3

import pytest
from front import front, serving

from dgraph.service.front import edge_batches, history, store_folders
from dgraph.service.front.limits import body_limits
from dgraph.service.supervisor.supervisor import RankError

CSV = {"Content-Type": "text/csv"}
EDGES = {"add": [[1, 2]]}


@pytest.fixture
def disk(monkeypatch):
    """Return a disk that refuses the history's writes while ``full`` is set."""
    monkeypatch.setattr(history, "RETRY_S", 0.05)

    class Disk:
        full = False

    written = history.History._write

    def write(self, *rows):
        if Disk.full:
            raise sqlite3.OperationalError("database or disk is full")
        written(self, *rows)

    monkeypatch.setattr(history.History, "_write", write)
    return Disk


def refused(answer):
    assert answer.status_code == 507, answer.text
    assert "make room there" in answer.json()["detail"]


def test_what_is_refused_leaves_nothing_and_what_was_accepted_is_there_after_a_restart(tmp_path, disk):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            kept = (await one.job("?wait=5")).json()["id"]
            disk.full = True
            refused(await one.job("?wait=5&top=2", source=1))
            refused(await one.job(source=2))
            refused(await one.http.post("/v1/graphs", json={"name": "late", "source": "path:5"}))
            refused(await one.http.put("/v1/graphs/g/data", content=b"1,2\n", headers=CSV))
            refused(await one.http.put("/v1/graphs/up/data", content=b"1,2\n", headers=CSV))
            refused(await one.http.patch("/v1/graphs/g", json={"pinned": True}))
            refused(await one.http.post("/v1/graphs/g/edges", json=EDGES))
            shown = (await one.http.get("/v1/graphs")).json()["graphs"]
            assert [(graph["name"], graph["versions"], graph["pinned"]) for graph in shown] == [("g", [1], False)]
            assert (await one.http.get("/v1/jobs")).status_code == 200
            assert list((tmp_path / "state" / "uploads").iterdir()) == []
            disk.full = False
            while one.service.history.failure:
                await asyncio.sleep(0.01)
            assert (await one.http.post("/v1/graphs/g/edges?wait=5", json=EDGES)).json()["version"] == 2
            last = (await one.job("?wait=5", source=4)).json()["id"]
        async with front(tmp_path) as one:
            for id in (kept, last):
                assert (await one.http.get(f"/v1/jobs/{id}")).json()["state"] == "done"
            assert (await one.ready())["versions"] == [1, 2]
            await one.state(last, "done")

    asyncio.run(body())


@serving
async def test_requests_that_meet_the_full_disk_first_are_refused_too(one):
    await one.load()
    writes = one.service.history
    written = writes._write

    def full(*rows):
        raise sqlite3.OperationalError("disk I/O error")

    for send in (
        lambda: one.job("?wait=5", source=1),
        lambda: one.job(source=2),
        lambda: one.http.post("/v1/graphs", json={"name": "late", "source": "path:5"}),
        lambda: one.http.put("/v1/graphs/g/data", content=b"1,2\n", headers=CSV),
        lambda: one.http.patch("/v1/graphs/g", json={"pinned": True}),
        lambda: one.http.post("/v1/graphs/g/edges", json=EDGES),
    ):
        writes._write = full
        refused(await send())
        writes._write = written
        assert await writes.flush()
        shown = (await one.http.get("/v1/graphs")).json()["graphs"]
        assert [(graph["name"], graph["versions"], graph["pinned"]) for graph in shown] == [("g", [1], False)]
    assert list((one.service.settings.state / "uploads").iterdir()) == []


@serving
async def test_a_full_disk_under_the_files_of_requests(one):
    await one.load()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_batches, "write", full)
        refused(await one.http.post("/v1/graphs/g/edges", json=EDGES))
        patch.setattr(body_limits, "_inflated", full)
        headers = CSV | {"Content-Encoding": "gzip"}
        refused(await one.http.put("/v1/graphs/up/data", content=b"1", headers=headers))
        patch.setattr(one.ranks, "write", full)
        job = await one.job("?wait=5", source=9)
        assert job.status_code >= 500
    assert list((one.service.settings.state / "uploads").iterdir()) == []


@serving
async def test_loads_end_when_the_disk_is_full(one):
    for error, kind in (
        (OSError(errno.ENOSPC, "No space left on device", "x"), "OutputError"),
        (RankError("OutputError", "x cannot be written: No space left on device"), "OutputError"),
        (RuntimeError("a fault"), "InternalError"),
    ):

        async def failing(error=error, **_):
            raise error

        one.ranks.load = failing
        await one.http.post("/v1/graphs", json={"name": "g", "source": "path:5"})
        parked = await one.job()
        graph = await one.ready()
        assert (graph["state"], graph["error"]["kind"]) == ("failed", kind)
        if parked.status_code == 202:
            await one.state(parked.json()["id"], "failed")
    assert one.service.ranks.turn.locked() is False


def test_a_load_that_ends_while_the_disk_is_full_is_loaded_again_after_a_restart(tmp_path, disk):
    async def body():
        async with front(tmp_path) as one:
            one.ranks.gate.clear()
            sent = await one.http.put("/v1/graphs/g/data", content=b"1,2\n", headers=CSV)
            assert sent.status_code == 202
            disk.full = True
            one.ranks.gate.set()
            await one.ready()
            (data,) = (tmp_path / "state" / "uploads").iterdir()
            one.service.history.RETRY_S = 60
            one.service.history.documents.clear()  # as kill -9 would
        disk.full = False
        (tmp_path / "state" / "uploads" / "left.csv").write_bytes(b"1,2")
        (tmp_path / "state" / "graphs" / f"{store_folders.ASIDE}1").mkdir()
        async with front(tmp_path) as one:
            assert (await one.ready())["state"] == "ready"
            assert [op for op, _ in one.ranks.calls] == ["table"]
            assert not data.exists()
            assert list((tmp_path / "state" / "uploads").iterdir()) == []
            assert [path.name for path in (tmp_path / "state" / "graphs").iterdir()] == ["g"]

    asyncio.run(body())


def test_deleting_makes_room_when_the_disk_is_full(tmp_path, disk):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            done = (await one.job("?wait=5")).json()["id"]
            disk.full = True
            refused(await one.http.delete(f"/v1/jobs/{done}"))
            refused(await one.http.delete("/v1/graphs/g"))
            assert list((tmp_path / "state" / "spool").iterdir()) == []
            while list((tmp_path / "state" / "graphs").iterdir()):
                await asyncio.sleep(0.01)
            disk.full = False
            while one.service.history.failure:
                await asyncio.sleep(0.01)
        async with front(tmp_path) as one:
            assert (await one.http.get("/v1/graphs")).json() == {"graphs": []}
            assert (await one.http.get(f"/v1/jobs/{done}")).status_code == 404

    asyncio.run(body())
