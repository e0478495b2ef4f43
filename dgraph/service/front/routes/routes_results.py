"""Routes of results: whole or in part, in four formats, rows of some vertices, and figures."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from dgraph.errors import UsageError
from dgraph.result.result_picture import OF_ROUNDS
from dgraph.service.front import result_answers, result_encodings
from dgraph.service.front.file_response import FileResponse
from dgraph.service.front.limits.json_values import JsonRoute
from dgraph.service.front.problem_documents import Problem, documented
from dgraph.service.front.result_encodings import MEDIA, Selection
from dgraph.service.front.routes import figures, models
from dgraph.service.front.routes.routes_jobs import JobId, job_record, json_response, report_of
from dgraph.service.front.service_context import service_of
from dgraph.service.front.worker_threads import in_thread

FIGURE_S = 20.0
"""Seconds that a figure waits for those that are drawn before it."""

FIGURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
"""Content-Security-Policy of a figure: its styles are attributes, and it loads nothing."""

router = APIRouter(tags=["results"], route_class=JsonRoute)
Count = Annotated[int | None, Query(ge=0, le=models.LARGEST)]


@router.get(
    "/v1/jobs/{id}/result",
    response_model=models.Rows,
    responses={
        200: {
            "content": {MEDIA["arrow"]: {}, MEDIA["parquet"]: {}, MEDIA["csv"]: {}},
            "description": "Rows of the result.",
        },
        **documented(404, 409, 410, 422, 500, 503, 507),
    },
)
async def result(
    request: Request,
    id: JobId,
    format: Annotated[Literal["json", "arrow", "parquet", "csv"], Query()] = "json",
    columns: Annotated[str | None, Query(max_length=4096, description="names, separated by commas")] = None,
    offset: Annotated[int, Query(ge=0, le=models.LARGEST, description="first row")] = 0,
    limit: Count = None,
    top: Count = None,
) -> Any:
    """Return rows of a result, in ascending order of vertices, or the ``top`` rows of largest value."""
    service = service_of(request)
    stored = await result_answers.find(service, id, await job_record(service, id))
    names = tuple(columns.split(",")) if columns is not None else None
    chosen = Selection(names, offset, limit, top)
    if stored.columns:
        result_encodings.check_columns(names, stored.columns)
    path = await result_answers.spooled(service, stored)
    name = f"{id}.{'arrows' if format == 'arrow' else format}"
    if format == "arrow" and chosen.whole:
        start, length = result_encodings.stream_of(path)
        return FileResponse(path.open("rb"), start, length, MEDIA["arrow"], name)

    def rows() -> Any:
        return result_encodings.selected(result_encodings.table(path), chosen)

    if format == "json":
        table = await in_thread(rows)
        return StreamingResponse(result_encodings.json_parts(table, stored.rows), media_type=MEDIA["json"])
    file = await in_thread(lambda: result_encodings.written(rows(), format, service.settings.spool))
    return FileResponse(file, 0, os.fstat(file.fileno()).st_size, MEDIA[format], name)


@router.post(
    "/v1/jobs/{id}/lookup",
    response_model=models.Rows,
    responses=documented(404, 408, 409, 410, 413, 415, 422, 500, 503),
)
async def lookup(request: Request, id: Annotated[str, Path(max_length=64)], body: models.LookupQuery) -> Response:
    """Return the rows of some vertices, in the order asked."""
    service = service_of(request)
    stored = await result_answers.find(service, id, await job_record(service, id))
    columns = await result_answers.lookup(service, stored, body.vertices)
    return json_response({"columns": columns, "rows": len(body.vertices)})


@router.get(
    "/v1/jobs/{id}/figure.svg",
    response_class=Response,
    responses={
        200: {"content": {"image/svg+xml": {}}, "description": "The figure."},
        **documented(404, 409, 410, 422, 500, 501, 503, 507),
    },
)
async def figure(
    request: Request,
    id: JobId,
    kind: Annotated[models.FigureKind | None, Query(description="as of Result.plot; null: by the column")] = None,
    column: Annotated[str | None, Query(max_length=255, description="null: the first that is not vertex")] = None,
    width: Annotated[int, Query(ge=figures.LEAST_WIDTH, le=figures.MOST_WIDTH, description="pixels")] = 640,
    scheme: Annotated[Literal["light", "dark"], Query(description="of the page that shows it")] = "light",
) -> Response:
    """Draw a column, the rounds or the convergence; the latter two are those of a job with ``report``."""
    service = service_of(request)
    record = await job_record(service, id)
    name, path, report = "", None, {}
    if kind in OF_ROUNDS:
        report = report_of(service, record)
    else:
        stored = await result_answers.find(service, id, record)
        if stored.rows > figures.MOST_ROWS:
            raise Problem(
                422,
                f"the result has {stored.rows:,} rows, and the service draws at most {figures.MOST_ROWS:,}; draw it by "
                "result.plot() of the Python client",
            )
        name = column or next(iter(stored.columns[1:]), "vertex")
        result_encodings.check_columns((name,), stored.columns)
        path = await result_answers.spooled(service, stored)
    result = figures.DrawnResult(record["algorithm"], report)

    def draw() -> bytes:
        values = np.empty(0) if path is None else figures.column_of(path, name, kind)
        return figures.drawn(result, values, kind, name, width, scheme)

    try:
        async with asyncio.timeout(FIGURE_S):
            await service.drawing.acquire()
    except TimeoutError:
        raise Problem(503, "other figures are drawn; ask again", headers={"Retry-After": "5"}) from None
    try:
        picture = await in_thread(draw)
    except UsageError as error:
        status = 501 if isinstance(error.__cause__, ImportError) else 422
        raise Problem(status, str(error), "UsageError") from None
    finally:
        service.drawing.release()
    return Response(picture, headers={"Content-Security-Policy": FIGURE_POLICY}, media_type="image/svg+xml")
