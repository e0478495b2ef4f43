"""Results of jobs for the routes: from the rows at hand, from a spooled file, or spooled by the ranks on demand."""

from __future__ import annotations

import asyncio
from typing import Any

from dgraph.service.front import result_encodings
from dgraph.service.front.jobs.job import ENDED, Job
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.result_encodings import Lookup, Selection
from dgraph.service.front.result_store import Stored
from dgraph.service.front.service_context import ServiceParts
from dgraph.service.front.worker_threads import in_thread

ROWS_WITH_ANSWER = 10_000
"""Rows that the answer of a job without ``top`` has at most; ``/result`` gives all."""


async def result_of(service: ServiceParts, job: Job) -> dict[str, Any]:
    """Return the result that is sent with the answer of a job."""
    stored: Stored = job.result
    if job.mode != "stream":
        return {"summary": stored.summary, "rows": stored.rows, "columns": {}}
    if job.top:
        if stored.top_k >= job.top or stored.rows <= stored.top_k:
            return {"columns": stored.first(job.top), "rows": stored.rows, "summary": stored.summary}
        chosen = Selection(top=job.top)
    else:
        chosen = Selection(limit=ROWS_WITH_ANSWER)
    path = await spooled(service, stored)
    columns = await in_thread(
        lambda: result_encodings.columns_of(result_encodings.selected(result_encodings.table(path), chosen))
    )
    return {"columns": columns, "rows": stored.rows, "summary": stored.summary}


async def find(service: ServiceParts, id: str, record: dict[str, Any]) -> Stored:
    """Return the result of a job.

    Raises:
        Problem: 409 if it has none (yet), 410 if it is gone.
    """
    if record["state"] not in ENDED:
        raise Problem(409, f"the job is {record['state']}; ask for its result when it is done, or POST with wait")
    if record["state"] != "done":
        raise Problem(409, f"the job is {record['state']}, so it has no result; its error says why")
    if record["mode"] != "stream":
        raise Problem(409, f"the job had mode {record['mode']}, which keeps no rows; submit it with mode stream")
    stored = service.results.by_job.get(id)
    if stored is None:
        raise _gone(service, id)
    service.results.touch(stored)
    return stored


async def spooled(service: ServiceParts, stored: Stored) -> Any:
    """Return the file of a result; the ranks write it if they still hold the rows.

    Raises:
        Problem: 410 if it was evicted meanwhile, or an error of the ranks.
    """
    if stored.path is None:
        if stored.spooling is None:
            stored.spooling = asyncio.ensure_future(_spool(service, stored))
        await asyncio.shield(stored.spooling)
    if stored.path is None or not stored.path.exists():
        raise _gone(service, stored.job)
    return stored.path


def _gone(service: ServiceParts, job: str) -> Problem:
    return Problem(410, f"{service.results.why_gone(job)}; submit the job again", "Evicted")


async def _spool(service: ServiceParts, stored: Stored) -> None:
    path = service.results.path(stored.job)
    try:
        await _held(service, stored, "rows", job=stored.job, spool=str(path), columns=None, offset=0, limit=None)
        service.results.spool(stored, path)
    finally:
        stored.spooling = None


async def _held(service: ServiceParts, stored: Stored, op: str, **fields: Any) -> dict[str, Any]:
    """Ask the ranks for rows of a held result.

    Raises:
        Problem: 410 if they gave it up to make room, or another error of the ranks.
    """
    try:
        return await service.ranks.ask(op, **fields)
    except Problem as problem:
        if problem.kind != "NotFound":
            raise
        service.results.drop(stored)
        raise _gone(service, stored.job) from None


async def lookup(service: ServiceParts, stored: Stored, vertices: list[int | str]) -> dict[str, list]:
    """Return the rows of some vertices."""
    if stored.path is None:
        reply = await _held(service, stored, "lookup", job=stored.job, vertices=vertices)
        return reply["columns"]
    path = await spooled(service, stored)

    def work() -> dict[str, list]:
        if stored.lookup is None:
            stored.lookup = Lookup(path)
        return stored.lookup.find(vertices)

    return await in_thread(work)
