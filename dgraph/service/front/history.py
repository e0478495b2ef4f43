"""History: SQLite in the state folder, with all jobs and the catalogue.

Changes are noted, and written in batches by one thread, so that a state change costs the event loop no disk access.
:meth:`History.flush` waits for the disk. What the disk refuses, because it is full or gone, stays noted and is tried
again until it is written; until then new work is refused (:meth:`History.need`).
"""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dgraph.errors import OutputError
from dgraph.service.front.jobs.job import Job
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.service_log import fault, log, log_seldom

BATCH_S = 0.1
"""Longest time that a change waits for others."""

NEEDED = {"id", "state", "graph", "version", "mode", "created", "_"}
NEEDED_INSIDE = {"owner", "key", "result"}
"""Keys without which the record of a job, and what it has for restarts, is damaged."""

RETRY_S = 1.0
"""Seconds after which changes that the disk refused are written again."""

TABLES = """
CREATE TABLE IF NOT EXISTS jobs (id TEXT PRIMARY KEY, state TEXT NOT NULL, graph TEXT NOT NULL, doc TEXT NOT NULL)
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, id);
CREATE INDEX IF NOT EXISTS jobs_by_graph ON jobs (graph, id);
CREATE TABLE IF NOT EXISTS graphs (name TEXT PRIMARY KEY, doc TEXT NOT NULL) WITHOUT ROWID;
"""


class History:
    """The database. All methods but those that note wait for its thread.

    Args:
        path: file of the database.
        keep: number of jobs above which the oldest ended ones are deleted.

    Attributes:
        jobs: jobs whose records are not written yet, by id; None: the record is to be deleted.
        documents: documents of graphs that are not written yet, as JSON, by name; None: to be deleted.
        failure: why the last write failed; "" if it did not.
    """

    def __init__(self, path: Path, keep: int):
        self.keep = keep
        self.thread = ThreadPoolExecutor(1, "history")
        self.jobs: dict[str, Job | None] = {}
        self.documents: dict[str, str | None] = {}
        self.failure = ""
        self.writing = asyncio.Lock()
        self.flushing: asyncio.Task | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.written = 0
        try:
            self.db = self.thread.submit(self._open, path).result()
        except (sqlite3.Error, OSError) as error:
            raise OutputError(
                f"{path} cannot be opened: {error}; make room for it, repair or remove it, or give another --state-dir"
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
        self.jobs[job.id] = job
        self._soon(BATCH_S)

    def note_graph(self, name: str, document: dict[str, Any] | None) -> None:
        """Write a graph's document soon, or delete it."""
        self.documents[name] = None if document is None else json.dumps(document, allow_nan=False)
        self._soon(BATCH_S)

    def _soon(self, seconds: float) -> None:
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(seconds, self._due)

    def _due(self) -> None:
        self.timer = None
        self.flushing = asyncio.ensure_future(self.flush())

    async def flush(self) -> bool:
        """Write all changes that were noted before this call; return False if the disk refused them."""
        async with self.writing:
            jobs, documents = self.jobs, self.documents
            self.jobs, self.documents = {}, {}
            if not jobs and not documents:
                return True
            try:
                await asyncio.get_running_loop().run_in_executor(self.thread, self._write, _make_rows(jobs), documents)
            except BaseException as error:
                self.jobs, self.documents = {**jobs, **self.jobs}, {**documents, **self.documents}
                self._soon(RETRY_S)
                if not isinstance(error, sqlite3.Error):
                    raise
                self.failure = str(error)
                log_seldom("the history cannot be written; it is tried again", error=self.failure, jobs=len(self.jobs))
                return False
            if self.failure:
                self.failure = ""
                log("the history is written again", jobs=len(jobs), graphs=len(documents))
            return True

    def refusal(self, **more: Any) -> Problem:
        """Return the problem of a request whose outcome could not be written."""
        detail = f"the state folder of the service cannot be written ({self.failure}); make room there, and try again"
        return Problem(507, detail, "OutputError", **more)

    async def need(self) -> None:
        """Refuse new work as long as the disk refuses writes.

        Raises:
            Problem: 507.
        """
        if self.failure and not await self.flush():
            raise self.refusal()

    def _write(self, rows: tuple[list[tuple], list[tuple]], documents: dict[str, str | None]) -> None:
        changed, removed = rows
        self.db.execute("BEGIN")
        try:
            self.db.executemany("INSERT OR REPLACE INTO jobs VALUES (?, ?, ?, ?)", changed)
            self.db.executemany("DELETE FROM jobs WHERE id = ?", removed)
            for name, document in documents.items():
                if document is None:
                    self.db.execute("DELETE FROM graphs WHERE name = ?", (name,))
                else:
                    self.db.execute("INSERT OR REPLACE INTO graphs VALUES (?, ?)", (name, document))
            self.written += len(changed)
            if self.written > self.keep // 10:
                self.db.execute(
                    "DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND id < "
                    "(SELECT id FROM jobs ORDER BY id DESC LIMIT 1 OFFSET ?)",
                    (self.keep,),
                )
                self.written = 0
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:  # SQLite has ended it itself after some errors
                self.db.execute("ROLLBACK")
            raise

    async def _do(self, query: str, *values: Any) -> list[tuple]:
        return await asyncio.get_running_loop().run_in_executor(
            self.thread, lambda: self.db.execute(query, values).fetchall()
        )

    async def job(self, id: str) -> dict[str, Any] | None:
        """Return the record of a job; None if there is none of this id."""
        await self.flush()
        if (noted := self.jobs.get(id)) is not None:  # the disk refuses it
            return noted.record()
        rows = await self._do("SELECT doc FROM jobs WHERE id = ?", id)
        return next(_records(rows, public=True), None)

    async def forget(self, id: str) -> None:
        """Delete the record of a job.

        Raises:
            Problem: 507; it is tried again.
        """
        self.jobs[id] = None
        if not await self.flush():
            raise self.refusal()

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
        return list(_records(await self._do(query, *values), public=True))

    async def unfinished(self) -> list[dict[str, Any]]:
        """Return the documents of the jobs that were queued or running, oldest first, with the key ``_``."""
        rows = await self._do("SELECT doc FROM jobs WHERE state IN ('queued', 'running') ORDER BY id")
        return list(_records(rows))

    async def finished(self, results: set[str]) -> list[dict[str, Any]]:
        """Return the documents of the done jobs with one of these results, oldest first, with the key ``_``."""
        rows = await self._do("SELECT doc FROM jobs WHERE state = 'done' ORDER BY id") if results else []
        return [document for document in _records(rows) if document["_"].get("result") in results]

    async def graphs(self) -> list[dict[str, Any]]:
        """Return the documents of all graphs."""
        return list(_documents(await self._do("SELECT doc FROM graphs ORDER BY name")))

    async def close(self) -> None:
        """Write the remaining entries, and close the database."""
        if not await self.flush():
            log("the history ends without its last entries", 40, error=self.failure, jobs=len(self.jobs))
        if self.timer is not None:
            self.timer.cancel()
        try:
            await asyncio.get_running_loop().run_in_executor(self.thread, self.db.close)
        except sqlite3.Error:
            fault("the history cannot be closed")
        self.thread.shutdown(wait=False)


def _make_rows(jobs: dict[str, Job | None]) -> tuple[list[tuple], list[tuple]]:
    """Return the rows to write, and those to delete; a record that JSON cannot hold is left out with a log line."""
    changed: list[tuple] = []
    for id, job in jobs.items():
        if job is not None:
            try:
                changed.append(job.row())
            except ValueError:
                fault("the record of a job cannot be encoded, and is left out of the history", job=id)
    return changed, [(id,) for id, job in jobs.items() if job is None]


def _records(rows: Iterable[tuple], public: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the records of jobs, ``public`` without the key ``_``; damaged ones are left out with a log line."""
    for record in _documents(rows):
        if not (record.keys() >= NEEDED and isinstance(record["_"], dict) and record["_"].keys() >= NEEDED_INSIDE):
            log_seldom("a record of the history is damaged, and is left out", record=str(record)[:200])
            continue
        if public:
            del record["_"]
        yield record


def _documents(rows: Iterable[tuple]) -> Iterator[dict[str, Any]]:
    """Yield the documents of rows; damaged ones are left out with a log line."""
    for (text,) in rows:
        try:
            document = json.loads(text, parse_constant=str, parse_float=_finite)
            if not isinstance(document, dict):
                raise ValueError("it is not an object")
        except (ValueError, TypeError, RecursionError) as wrong:
            log_seldom("a document of the history is damaged, and is left out", error=str(wrong), text=str(text)[:200])
            continue
        yield document


def _finite(text: str) -> float | str:
    """Return a number of JSON; as text if it is not finite, which JSON of answers cannot hold."""
    number = float(text)
    return number if math.isfinite(number) else text
