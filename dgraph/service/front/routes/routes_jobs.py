"""Routes of jobs: submit, list, watch, cancel."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from dgraph.algorithms import ALGORITHMS
from dgraph.service.front import jail
from dgraph.service.front.jobs.job import ENDED, Job, checked
from dgraph.service.front.limits.json_values import JsonRoute
from dgraph.service.front.problem_documents import Problem, documented, of_error
from dgraph.service.front.result_answers import result_of
from dgraph.service.front.routes import models
from dgraph.service.front.routes.event_stream import event_text, events_of
from dgraph.service.front.security import Principal
from dgraph.service.front.service_context import ServiceParts, principal_of, service_of

router = APIRouter(tags=["jobs"], route_class=JsonRoute)
JobId = Annotated[str, Path(max_length=64, description="id of a job")]
SUBMIT = "/v1/jobs"
"""Path of submissions."""

MORE = {"weight", "where", "options", "validate_", "report"}
"""Fields of a job that the ranks take as further keys of ``run``."""

CANCEL_S = 5.0
"""Seconds that DELETE waits for a running job to end."""

PAGE = 100
"""Records of a page, by default."""

_encode = json.JSONEncoder(separators=(",", ":"), default=str, allow_nan=False).encode


def json_response(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response, without a validation of what the front itself made."""
    return Response(_encode(content), status, headers, "application/json")


@router.post(
    SUBMIT,
    response_model=models.JobAnswer,
    responses={
        202: {"model": models.JobRecord, "description": "The job is queued or runs."},
        **documented(404, 408, 409, 413, 415, 422, 429, 500, 503, 504, 507),
    },
)
async def submit(request: Request, body: models.NewJob, query: Annotated[models.SubmitQuery, Query()]) -> Response:
    """Submit a job.

    Answers 202 without ``wait`` or if the job has not ended by then; 200 with the result if it has. If it failed, the
    answer is a problem document with the job's id and state.
    """
    return await submitted(service_of(request), principal_of(request), body, query)


async def submitted(
    service: ServiceParts, owner: Principal, body: models.NewJob, query: models.SubmitQuery
) -> Response:
    """Submit a job that has been validated, and return the response.

    Raises:
        Problem: the job was refused, or failed while the request waited for it.
    """
    service.ranks.need()
    await service.history.need()
    parameters = checked(body.algorithm, body.parameters)
    if (body.mode == "write") != (body.write is not None):
        raise Problem(422, f"got mode {body.mode} with write {body.write!r}: write names the file of mode write alone")
    if body.column is not None and body.mode != "mutate":
        raise Problem(422, f"got mode {body.mode} with column {body.column!r}: a column is kept by mode mutate alone")
    column = body.column
    if body.mode == "mutate" and column is None:
        column = next(iter(ALGORITHMS[body.algorithm].columns), "")
        if not column:
            raise Problem(422, f"got mode mutate without column, and {body.algorithm} has no default; name the column")
    target = None if body.write is None else str(jail.writable(service.settings.data_root, body.write, body.replace))
    cache = body.cache and service.settings.cache and body.mode in ("stream", "stats")
    cache = cache and body.where is None  # a kept column may change
    extra: dict[str, Any] = {}
    if not MORE.isdisjoint(body.model_fields_set):
        extra = body.model_dump(include=MORE, exclude_defaults=True, by_alias=True)
    key = None
    if cache:
        shape = [body.algorithm, body.mode == "stats", parameters, {**extra, "report": None}]
        key = json.dumps(shape, sort_keys=True, default=str)
    job = Job(
        body.graph,
        body.version,
        body.algorithm,
        body.parameters,
        owner=owner,
        key=key,
        mode=body.mode,
        priority=body.priority,
        timeout_s=body.timeout_s,
        top=query.top if body.mode == "stream" else 0,
        extra=extra,
        column=column,
        target=target,
    )
    service.queue.submit(job)
    ended = query.wait and await job.ended(query.wait)
    if not await service.history.flush():  # what is accepted survives the end of the front
        service.queue.withdraw(job)
        raise service.history.refusal(id=job.id, state=job.state)
    if ended:
        return json_response(await _answer(service, job))
    return json_response(job.record(), 202, {"Location": f"/v1/jobs/{job.id}"})


async def _answer(service: ServiceParts, job: Job) -> dict[str, Any]:
    """Return a job that has ended, with its result.

    Raises:
        Problem: it failed or was cancelled.
    """
    if job.state != "done":
        error = job.error or {"kind": "Cancelled", "message": "the job was cancelled while this request waited for it"}
        raise of_error(error, id=job.id, state=job.state)
    return {**job.record(), "result": await result_of(service, job)}


@router.get("/v1/jobs", response_model=models.JobPage, responses=documented(422))
async def page(
    request: Request,
    state: Annotated[models.State | None, Query(description="of this state")] = None,
    graph: Annotated[str | None, Query(max_length=64, description="of this graph")] = None,
    cursor: Annotated[str | None, Query(max_length=64, description="as of the page before")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = PAGE,
) -> Response:
    """List jobs, newest first."""
    service = service_of(request)
    rows = await service.history.page(state, graph, cursor, limit + 1)
    records = [service.queue.jobs[row["id"]].record() if row["id"] in service.queue.jobs else row for row in rows]
    more = records[limit - 1]["id"] if len(records) > limit else None
    return json_response({"jobs": records[:limit], "cursor": more})


async def job_record(service: ServiceParts, id: str) -> dict[str, Any]:
    """Return a job's record.

    Raises:
        Problem: 404.
    """
    job = service.queue.jobs.get(id)
    record = job.record() if job is not None else await service.history.job(id)
    if record is None and (state := service.queue.removed.get(id)):
        raise Problem(404, f"the job {id} was {state} and was removed; submit it again", "NotFound", state=state)
    if record is None:
        raise Problem(404, f"got the job {id!r}, which is not in the history; GET /v1/jobs lists all", "NotFound")
    return record


@router.get("/v1/jobs/{id}", response_model=models.JobRecord, responses=documented(404, 422))
async def show(request: Request, id: JobId) -> Response:
    """Show a job."""
    return json_response(await job_record(service_of(request), id))


@router.get("/v1/jobs/{id}/report", responses={200: {"model": dict[str, Any]}, **documented(404, 410, 422)})
async def report(request: Request, id: JobId) -> Response:
    """Show the report of a run that was submitted with ``report``; the latest jobs keep theirs."""
    service = service_of(request)
    return json_response(report_of(service, await job_record(service, id)))


def report_of(service: ServiceParts, record: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a job; of one that was answered from the cache, that of the run.

    Raises:
        Problem: 410 if neither is kept.
    """
    jobs = service.queue.jobs
    job = jobs.get(record["id"])
    if job is not None and job.report is None and job.cached:
        job = jobs.get(job.result.job)
    if job is None or job.report is None:
        detail = f"the job is {record['state']} and keeps no report; submit it with report true, and cache false"
        raise Problem(410, detail, "NoReport")
    return job.report


@router.delete(
    "/v1/jobs/{id}",
    response_model=models.JobRecord,
    responses={
        202: {"model": models.JobRecord, "description": "The job ends with its next round."},
        **documented(404, 422, 507),
    },
)
async def cancel(
    request: Request,
    id: JobId,
    ended: Annotated[Literal["remove", "keep"], Query(description="what to do if the job has ended")] = "remove",
) -> Response:
    """Cancel a job, whose record stays and says cancelled; or remove one that has ended, and its rows."""
    service = service_of(request)
    job = service.queue.jobs.get(id)
    if job is not None and job.state not in ENDED:
        service.queue.cancel(job)
        status = 200 if await job.ended(CANCEL_S) else 202
        return json_response(job.record(), status)
    record = await job_record(service, id)
    if ended == "remove":
        await service.queue.forget(id, record["state"])
    return json_response(record)


@router.get(
    "/v1/jobs/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events."}, **documented(404, 422)},
)
async def events(request: Request, id: JobId) -> Response:
    """Stream a job's events: ``state``, ``phase`` and ``round``. Last-Event-ID continues after an event."""
    service = service_of(request)
    last = request.headers.get("last-event-id", "0")
    if not (last.isascii() and last.isdigit() and len(last) < 16):
        raise Problem(422, f"got Last-Event-ID {last[:32]!r}, but ids of events are integers from 1")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    if (job := service.queue.jobs.get(id)) is not None:
        stream = events_of(job, int(last), service.ending)
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")
    record = await job_record(service, id)
    text = event_text(1, "state", {"state": record["state"], "error": record["error"]})
    return Response(text if int(last) < 1 else "", headers=headers, media_type="text/event-stream")
