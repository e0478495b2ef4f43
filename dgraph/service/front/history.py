"""History: SQLite in the state folder, with all jobs and the catalogue.

Jobs are written in batches by one thread, so that a state change costs the event loop no disk access.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dgraph.errors import OutputError
from dgraph.service.front.job import Job
from dgraph.service.front.service_log import fault

BATCH_S = 0.1
"""Longest time that a change waits for others."""

TABLES = """
CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, state TEXT NOT NULL, graph TEXT NOT NULL, doc TEXT NOT NULL)
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, id);
CREATE INDEX IF NOT EXISTS jobs_by_graph ON jobs (graph, id);
CREATE TABLE IF NOT EXISTS graphs (name TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID;
"""


class History:
    """The database. All methods but ``note`` wait for its thread.

    Args:
        path: file of the database.
        keep: number of jobs above which the oldest ended ones are deleted.
    """

    def __init__(self, path: Path, keep: int):
        self.keep = keep
        self.thread = ThreadPoolExecutor(1, "history")
        self.dirty: dict[str, Job] = {}
        self.writing = asyncio.Lock()
        self.flushing: asyncio.Task | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.written = 0
        try:
            self.db = self.thread.submit(self._open, path).result()
        except (sqlite3.Error, OSError) as error:
            raise OutputError(
                f"{path} cannot be opened: {error}; repair or remove it, or give another --state-dir"
            ) from None

    @staticmethod
    def _open(path: Path) -> sqlite3.Connection:
        path.touch(0o600)
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA journal_size_limit=67108864")
        db.execute("PRAGMA cache_size=-256")  # KiB: the front's memory does not grow with the history
        db.executescript(TABLES)
        return db

    def note(self, job: Job) -> None:
        """Write a job's state soon."""
        self.dirty[job.id] = job
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(BATCH_S, self._due)

    def _due(self) -> None:
        self.timer = None
        self.flushing = asyncio.ensure_future(self.flush())

    async def flush(self) -> None:
        """Write all changes that were noted before this call."""
        async with self.writing:
            rows = [job.row() for job in self.dirty.values()]
            self.dirty.clear()
            if not rows:
                return
            try:
                await asyncio.get_running_loop().run_in_executor(self.thread, self._write, rows)
            except sqlite3.Error:
                fault("the history cannot be written", jobs=len(rows))

    def _write(self, rows: list[tuple]) -> None:
        self.db.execute("BEGIN")
        try:
            self.db.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", rows)
            self.written += len(rows)
            if self.written > self.keep // 10:
                self.written = 0
                self.db.execute(
                    "DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND id < "
                    "(SELECT id FROM jobs ORDER BY id DESC LIMIT 1 OFFSET ?)",
                    (self.keep,),
                )
        finally:
            self.db.execute("COMMIT")

    async def _do(self, query: str, *values: Any) -> list[tuple]:
        return await asyncio.get_running_loop().run_in_executor(
            self.thread, lambda: self.db.execute(query, values).fetchall()
        )

    async def job(self, id: str) -> dict[str, Any] | None:
        """Return the record of a job; None if there is none of this id."""
        await self.flush()
        found = await self._do("SELECT doc FROM jobs WHERE id = ?", id)
        return _public(found[0][0]) if found else None

    async def forget(self, id: str) -> None:
        """Delete the record of a job."""
        await self.flush()
        await self._do("DELETE FROM jobs WHERE id = ?", id)

    async def page(self, state: str | None, graph: str | None, before: str | None, count: int) -> list[dict[str, Any]]:
        """Return records, newest first.

        Args:
            state: of this state; None: any.
            graph: of this graph; None: any.
            before: id that all are older than; None: no limit.
            count: most records.
        """
        await self.flush()
        where, values = ["1"], []
        for name, value in (("state = ?", state), ("graph = ?", graph), ("id < ?", before)):
            if value is not None:
                where.append(name)
                values.append(value)
        query = f"SELECT doc FROM jobs WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT {int(count)}"
        return [_public(doc) for (doc,) in await self._do(query, *values)]

    async def unfinished(self) -> list[dict[str, Any]]:
        """Return the documents of the jobs that were queued or running, oldest first, with the key ``_``."""
        found = await self._do("SELECT doc FROM jobs WHERE state IN ('queued', 'running') ORDER BY id")
        return [json.loads(doc) for (doc,) in found]

    async def finished(self, results: set[str]) -> list[dict[str, Any]]:
        """Return the documents of the done jobs with one of these results, oldest first, with the key ``_``."""

        def read() -> list[dict[str, Any]]:
            rows = self.db.execute("SELECT doc FROM jobs WHERE state = 'done' ORDER BY id")
            found = (json.loads(doc) for (doc,) in rows)
            return [document for document in found if document["_"].get("result") in results]

        return await asyncio.get_running_loop().run_in_executor(self.thread, read) if results else []

    async def graphs(self) -> list[dict[str, Any]]:
        """Return the documents of all graphs."""
        return [json.loads(doc) for (doc,) in await self._do("SELECT doc FROM graphs ORDER BY name")]

    async def keep_graph(self, name: str, document: dict[str, Any]) -> None:
        """Write a graph's document."""
        await self._do("INSERT OR REPLACE INTO graphs VALUES (?, ?)", name, json.dumps(document))

    async def drop_graph(self, name: str) -> None:
        """Delete a graph's document."""
        await self._do("DELETE FROM graphs WHERE name = ?", name)

    async def close(self) -> None:
        """Write the remaining entries, and close the database."""
        await self.flush()
        if self.timer is not None:
            self.timer.cancel()
        await asyncio.get_running_loop().run_in_executor(self.thread, self.db.close)
        self.thread.shutdown()


def _public(doc: str) -> dict[str, Any]:
    record = json.loads(doc)
    record.pop("_", None)
    return record
