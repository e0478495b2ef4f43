"""Routes of the service itself: algorithms, health, metrics, logins, memory."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.responses import Response

from dgraph.service.front.limits.json_values import JsonRoute
from dgraph.service.front.problem_documents import Problem, documented
from dgraph.service.front.routes import models
from dgraph.service.front.routes.algorithm_schemas import schemas
from dgraph.service.front.routes.routes_jobs import json_response
from dgraph.service.front.service_context import principal_of, service_of

router = APIRouter(tags=["service"], route_class=JsonRoute)


class Algorithms(BaseModel):
    """All algorithms, with JSON Schemas of parameters and result columns."""

    algorithms: list[dict[str, Any]]


class Memory(BaseModel):
    """Memory of every rank, in bytes, at a time in seconds since 1970."""

    at: float
    by_rank: list[dict[str, int | None]]


class Login(BaseModel):
    """Address of the page with a one-time login."""

    url: str


@router.get("/v1/algorithms", response_model=Algorithms, responses=documented())
async def algorithms(request: Request) -> Response:
    """List the algorithms."""
    return json_response({"algorithms": schemas()})


@router.get("/v1/memory", response_model=Memory, responses=documented(500, 503, 507))
async def memory(request: Request) -> Response:
    """Show the memory of every rank; while a job runs, the last figures from before it."""
    measured, by_rank = await service_of(request).ranks.memory_by_rank()
    return json_response({"at": measured, "by_rank": by_rank})


@router.post("/v1/login", response_model=Login, responses=documented(409))
async def login(request: Request) -> Response:
    """Make a new one-time login of the page; only requests on the Unix socket may."""
    service = service_of(request)
    if principal_of(request) is not service.doors.socket:
        raise Problem(403, "a login is made on the Unix socket alone; ask there")
    if not service.address:
        raise Problem(409, "the service has no TCP port for the page; start it with --port")
    return json_response({"url": f"{service.address}/login?token={service.doors.new_login()}"})


def _health(request: Request, status: str) -> dict[str, Any]:
    service = service_of(request)
    return {"status": status, "ranks": service.supervisor.condition, "restarts": service.supervisor.restarts}


@router.get("/healthz", response_model=models.Health)
async def healthz(request: Request) -> Response:
    """Answer 200 while the front runs."""
    return json_response(_health(request, "ok"))


@router.get(
    "/readyz",
    response_model=models.Health,
    responses={503: {"model": models.Health, "description": "Not all ranks are up, or the service ends."}},
)
async def readyz(request: Request) -> Response:
    """Answer 200 if all ranks are up, else 503."""
    ranks = service_of(request).ranks
    if ranks.up and not ranks.draining:
        return json_response(_health(request, "ready"))
    status = "ending" if ranks.draining else "waiting for the ranks"
    return json_response(_health(request, status), 503, {"Retry-After": "1"})


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **documented()})
async def metrics(request: Request) -> Response:
    """Show Prometheus metrics; memory of the ranks is the latest that they sent."""
    service = service_of(request)
    await service.ranks.look_at_memory()
    return Response(service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
