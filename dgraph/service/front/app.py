"""The application: routes, problem documents, the page. :func:`make_app` assembles it; ``security.Guard`` wraps it."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dgraph._support.version import __version__
from dgraph.service.front import mcp_endpoint
from dgraph.service.front import problem_documents as problems
from dgraph.service.front.limits.json_values import JsonRoute
from dgraph.service.front.mcp_endpoint import McpEndpoint
from dgraph.service.front.routes import routes_graphs, routes_jobs, routes_results, routes_service
from dgraph.service.front.routes.direct_submit import DirectSubmit
from dgraph.service.front.service_context import ServiceParts

PAGE = Path(__file__).parents[1] / "page"
"""Folder of the page's files."""

DRAWING = PAGE.parents[1] / "report/page/drawing.js"
"""The module by which both this page and the page of a report draw."""

ABOUT = """Graphs stay loaded on the ranks; jobs run algorithms on them.

Errors are problem documents (RFC 9457). On TCP all but /healthz and /readyz needs `Authorization: Bearer TOKEN`."""


class _Application(FastAPI):
    """FastAPI that :class:`DirectSubmit` stands before, whose answers pass no middleware."""

    direct: DirectSubmit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self.direct(scope, receive, send)

    async def resolved(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by its route."""
        await super().__call__(scope, receive, send)


def make_app(service: ServiceParts) -> FastAPI:
    """Return the application of a service."""
    app = _Application(
        title="dgraph", version=__version__, description=ABOUT, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.state.service = service
    app.router.route_class = JsonRoute
    app.direct = DirectSubmit(app.resolved, service)
    for routes in (routes_jobs, routes_results, routes_graphs, routes_service):
        app.include_router(routes.router)
    app.router.routes.append(Route(mcp_endpoint.PATH, McpEndpoint(app, service)))
    problems.install(app)
    _add_page(app)
    document: dict[str, Any] = {}

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> Response:
        if not document:
            document.update(_openapi(app))
        return routes_jobs.json_response(document)

    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the token and the problem documents."""
    schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = schema.setdefault("components", {})
    components.setdefault("schemas", {})["ProblemDocument"] = problems.ProblemDocument.model_json_schema()
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"token": []}]
    for path in ("/healthz", "/readyz"):
        schema["paths"][path]["get"]["security"] = []
    return schema


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page: ``/`` and each by its name."""
    for path in sorted(PAGE.rglob("*")) if PAGE.is_dir() else ():
        if path.suffix in (".html", ".css", ".js", ".svg", ".json", ".png", ".ico"):
            name = path.relative_to(PAGE).as_posix()
            _add_file(app, "/" if name == "index.html" else f"/{name}", path)
    _add_file(app, f"/{DRAWING.name}", DRAWING)


def _add_file(app: FastAPI, route: str, path: Path) -> None:
    media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"

    @app.get(route, include_in_schema=False)
    async def file(request: Request) -> Response:
        return Response(path.read_bytes(), media_type=media, headers={"Cache-Control": "no-cache"})
