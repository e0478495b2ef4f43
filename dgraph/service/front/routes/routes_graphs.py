"""Routes of the catalogue: load, upload, list, change, pin, delete, path, estimate."""

from __future__ import annotations

import asyncio
import functools
import secrets
from collections.abc import Callable, Coroutine
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from dgraph.graph.generate import is_generator
from dgraph.service.front import edge_batches, jail
from dgraph.service.front.graph_entries import GraphEntry
from dgraph.service.front.jobs.job import checked
from dgraph.service.front.limits.body_limits import save_upload
from dgraph.service.front.limits.json_values import JsonRoute
from dgraph.service.front.limits.table_checks import check_table
from dgraph.service.front.problem_documents import Problem, documented, of_error
from dgraph.service.front.routes import models
from dgraph.service.front.routes.routes_jobs import json_response
from dgraph.service.front.service_context import ServiceParts, principal_of, service_of
from dgraph.service.front.worker_threads import in_thread


class GraphRoute(JsonRoute):
    """Route that notes the graph of its name before the body arrives, for :func:`graph_of`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        handler = super().get_route_handler()

        async def noted(request: Request) -> Response:
            graphs = service_of(request).catalogue.graphs
            request.scope["state"]["graph"] = graphs.get(request.path_params.get("name", ""))
            return await handler(request)

        return noted


def graph_of(request: Request) -> GraphEntry:
    """Return the graph that a request names: the one that had the name when the request came.

    Raises:
        Problem: 404 if there is none, or it was deleted since.
    """
    return service_of(request).catalogue.same(request.scope["state"]["graph"], request.path_params["name"])


router = APIRouter(tags=["graphs"], route_class=GraphRoute)
GraphName = Annotated[str, Path(max_length=64, description="name of a graph")]
FORMS = {
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "text/csv": "csv",
}
"""Content-Type of an upload → its format."""

TABLE = {"schema": {"type": "string", "format": "binary"}}
CHANGE_S = 60.0
WAIT = f"by default {CHANGE_S:g}, but 0 while the ranks are busy with a job or load"


@router.get("/v1/graphs", response_model=models.Graphs, responses=documented())
async def graphs(request: Request) -> Response:
    """List the graphs of the catalogue."""
    entries = service_of(request).catalogue.graphs
    return json_response({"graphs": [entries[name].record() for name in sorted(entries)]})


@router.post(
    "/v1/graphs",
    status_code=202,
    response_model=models.GraphRecord,
    responses=documented(408, 409, 413, 415, 422, 503, 507),
)
async def load(request: Request, body: models.NewGraph) -> Response:
    """Load a graph from the data root or a generator. Jobs on it wait until it is ready."""
    service = service_of(request)
    service.ranks.need()
    await service.history.need()
    options = body.options.model_dump(exclude_unset=True)
    if is_generator(body.source):
        memory = 1 << 62 if service.ranks.on_gpus else jail.available_memory()  # GPUs refuse by themselves
        jail.check_size(body.source, memory)
        source = body.source
    else:
        source = str(await in_thread(jail.readable, service.settings.data_root, body.source))
    fields = {"source": source, "options": options}
    graph = await service.catalogue.add(body.name, body.source, options, "load", fields, body.idle_s)
    return json_response(graph.record(), 202, {"Location": f"/v1/graphs/{graph.name}"})


@router.put(
    "/v1/graphs/{name}/data",
    status_code=202,
    response_model=models.GraphRecord,
    responses=documented(404, 408, 409, 413, 415, 422, 429, 503, 507),
    openapi_extra={"requestBody": {"required": True, "content": dict.fromkeys(FORMS, TABLE)}},
)
async def upload(
    request: Request,
    name: Annotated[models.Name, Path()],
    fields: Annotated[models.LoadQuery, Query()],
) -> Response:
    """Make a graph, or a new version of one, of the edges in the body: Arrow, Parquet or CSV, gzip allowed."""
    service, owner = service_of(request), principal_of(request)
    service.ranks.need()
    await service.history.need()
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = request.headers.get("content-encoding", "identity").lower()
    if media not in FORMS:
        raise Problem(415, f"got Content-Type {media!r:.100}; send one of {', '.join(FORMS)}")
    if encoding not in ("identity", "gzip"):
        raise Problem(415, f"got Content-Encoding {encoding!r:.40}; send gzip or none")
    options = fields.model_dump(exclude_unset=True, exclude={"idle_s"})
    settings, form, received = service.settings, FORMS[media], 0
    path = settings.state / "uploads" / f"{secrets.token_hex(12)}.{form}"

    def count(size: int) -> None:
        nonlocal received
        received += size
        owner.uploading += size
        if owner.uploading > settings.upload_bytes_each:
            raise Problem(
                429,
                f"the uploads of this token have more than {settings.upload_bytes_each:,} bytes together; wait for one "
                "to end",
                headers={"Retry-After": "10"},
            )

    try:
        await save_upload(request.stream(), path, encoding, settings.upload_bytes, count)
        await in_thread(check_table, path, form, settings)
        table = {"path": str(path), "format": form, "options": options}
        graph, version = service.catalogue.graphs.get(name), None
        if request.scope["state"]["graph"] is not None:
            graph = graph_of(request)
        if graph is None or graph.state == "failed":
            graph = await service.catalogue.add(name, f"upload ({form})", options, "table", table, fields.idle_s)
        else:
            version = await service.catalogue.replace(graph, f"upload ({form})", options, table)
            graph.idle_s = fields.idle_s
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        owner.uploading -= received
    return json_response(graph.record(version), 202, {"Location": f"/v1/graphs/{name}"})


@router.get("/v1/graphs/{name}", response_model=models.GraphRecord, responses=documented(404, 422))
async def show(
    request: Request,
    name: GraphName,
    version: Annotated[int | None, Query(ge=1, lt=1 << 31, description="whose figures; null: the newest")] = None,
) -> Response:
    """Show a graph."""
    graph, catalogue = graph_of(request), service_of(request).catalogue
    return json_response(graph.record(None if version is None else catalogue.version(graph, version)))


@router.patch(
    "/v1/graphs/{name}", response_model=models.GraphRecord, responses=documented(404, 408, 413, 415, 422, 507)
)
async def pin(request: Request, name: GraphName, body: models.Pin) -> Response:
    """Pin a graph, so that DELETE refuses it, or unpin it."""
    graph = graph_of(request)
    await service_of(request).catalogue.pin(graph, body.pinned)
    return json_response(graph.record())


@router.delete("/v1/graphs/{name}", status_code=204, responses=documented(404, 409, 422, 507))
async def delete(request: Request, name: GraphName) -> Response:
    """Delete a graph, its versions and its cached results; its queued jobs fail."""
    await service_of(request).catalogue.drop(graph_of(request))
    return Response(status_code=204)


@router.post(
    "/v1/graphs/{name}/edges",
    response_model=models.Changed,
    responses={
        202: {"model": models.Changed, "description": "The version is not ready after ``wait`` seconds."},
        **documented(404, 408, 409, 413, 415, 422, 500, 503, 504, 507),
    },
)
async def edges(
    request: Request,
    name: GraphName,
    body: models.Edges,
    wait: Annotated[float | None, Query(ge=0, le=3600, description=f"seconds to wait for the version: {WAIT}")] = None,
) -> Response:
    """Add and remove edges. They are visible in the version that is returned, and in later ones.

    A batch that is refused before the answer makes no version. After a 202, the graph's record has the error.
    """
    service = service_of(request)
    service.ranks.need()
    await service.history.need()
    graph = graph_of(request)
    if service.catalogue.version(graph, None) is None:
        raise Problem(409, f"{name} is loading; change it when it is ready", headers={"Retry-After": "1"})
    path = service.settings.state / "uploads" / f"{secrets.token_hex(12)}.edges.arrow"
    try:
        await in_thread(edge_batches.write, body.add, body.remove, FilePath(path))
        if wait is None:
            wait = 0.0 if service.ranks.turn.locked() else CHANGE_S
        version, task = await service.catalogue.change(graph_of(request), {"path": str(path)})
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    await asyncio.wait([task], timeout=wait)
    graph_of(request)  # the batch is lost if it was deleted meanwhile
    if version.state == "failed":
        await service.catalogue.take_back(graph, version)
        raise of_error(version.error or {"kind": "InternalError", "message": "the change failed"})
    answer = {"name": name, "version": version.number, "state": version.state}
    return json_response(answer, 200 if version.state == "ready" else 202)


@router.post(
    "/v1/graphs/{name}/path",
    response_model=models.PathAnswer,
    responses=documented(404, 408, 409, 413, 415, 422, 500, 503, 504, 507),
)
async def path(request: Request, name: GraphName, body: models.PathQuery) -> Response:
    """Find a shortest path; 503 if a job keeps the ranks busy for longer than 10 s."""
    service = service_of(request)
    fields: dict[str, Any] = {"source": body.source, "target": body.target, "weighted": body.weighted}
    number = functools.partial(_ready, service, graph_of(request), body.version)
    reply = await service.ranks.ask_in_turn("path", version=number, graph=name, **fields)
    return json_response({"vertices": reply["vertices"], "length": reply["length"]})


@router.post(
    "/v1/estimate",
    response_model=models.EstimateAnswer,
    responses=documented(404, 408, 409, 413, 415, 422, 500, 503, 504, 507),
)
async def estimate(request: Request, body: models.EstimateQuery) -> Response:
    """Estimate the memory of a run on each rank; 503 if a job keeps the ranks busy for longer than 10 s."""
    service = service_of(request)
    checked(body.algorithm, body.parameters)
    number = functools.partial(_ready, service, service.catalogue.graph(body.graph), body.version)
    fields = {"algorithm": body.algorithm, "parameters": body.parameters}
    reply = await service.ranks.ask_in_turn("estimate", version=number, graph=body.graph, **fields)
    return json_response({name: reply[name] for name in ("bytes_by_rank", "available_by_rank", "fits")})


def _ready(service: ServiceParts, graph: GraphEntry, number: int | None) -> int:
    """Return the number of a version that is ready.

    Raises:
        Problem: 404, also if the graph was deleted meanwhile; 409 while it is loading; 503 while the ranks are down.
    """
    service.ranks.need()
    version = service.catalogue.version(service.catalogue.same(graph, graph.name), number)
    if version is None or version.state != "ready":
        raise Problem(409, f"{graph.name} is loading; ask again when it is ready", headers={"Retry-After": "1"})
    return version.number
