"""Routes of results: whole or in part, in four formats, and rows of some vertices."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from dgraph.service.front import result_answers, result_encodings
from dgraph.service.front.file_response import FileResponse
from dgraph.service.front.limits.json_values import JsonRoute
from dgraph.service.front.problem_documents import documented
from dgraph.service.front.result_encodings import MEDIA, Selection
from dgraph.service.front.routes import models
from dgraph.service.front.routes.routes_jobs import JobId, job_record, json_response
from dgraph.service.front.service_context import service_of
from dgraph.service.front.worker_threads import in_thread

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
