"""Problem documents (RFC 9457): every error of the HTTP interface is one.

:class:`Problem` is raised anywhere in the front. ``detail`` says what was got, why it cannot be, and what to do.
"""

from __future__ import annotations

import errno
import html
import json
import re
import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

MEDIA = "application/problem+json"

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>dgraph: {title}</title>
<h1>dgraph: {title}</h1>
<p>{detail}</p>{help}
"""
LOG_IN = """
<p>To log in, run this where the service runs, and open the address that it answers; STATE is the service's
<code>--state-dir</code>, by default <code>~/.local/state/dgraph</code>:</p>
<p><code>curl --unix-socket STATE/service.sock -X POST http://localhost/v1/login</code></p>"""
"""Page of a refused request of a browser, and what it says of logins. Its style is the browser's."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of a disk that takes no more."""

NOT_JSON = ("model_attributes_type", "dict_type")
"""Types of the validator's errors for a body that was not read as JSON."""

STATUS = {
    "UsageError": 422,
    "DataError": 422,
    "OutputError": 507,
    "OutOfMemory": 507,
    "Cancelled": 409,
    "TimedOut": 504,
    "NotFound": 404,
    "RanksDied": 503,
    "Restarted": 503,
    "InternalError": 500,
}
"""Kind of a job's or a rank's error → HTTP status."""

MEANING = {
    400: "The request cannot be parsed.",
    401: "No token, or a wrong one.",
    403: "The token, the host, the origin or the file is not allowed.",
    404: "No such graph, job or page.",
    405: "The method does not exist for this path.",
    408: "The body did not arrive in time.",
    409: "The state of the graph or job does not allow it.",
    410: "The result existed and is gone; the document says why. Submit the job again.",
    413: "The body is larger than the limit.",
    415: "The body's type or encoding is not one of those listed.",
    422: "A field is missing, unknown, or has a value that it cannot have.",
    429: "The queue, or the token's share of it, is full; see Retry-After.",
    500: "A fault of dgraph.",
    501: "An optional package that this needs is not installed; the document names it.",
    503: "The ranks restart or the service ends; see Retry-After.",
    504: "The time limit of the job passed.",
    507: "It does not fit into the memory of the ranks, whose figures are in the document, or into the state folder.",
}


class ProblemDocument(BaseModel):
    """Body of every error."""

    model_config = ConfigDict(extra="allow")
    type: str = Field(description="URN of the kind of problem")
    title: str
    status: int
    detail: str = Field(description="what was got, why it cannot be, what to do")


class Problem(HTTPException):
    """Error with a problem document.

    Args:
        status: HTTP status.
        detail: what was got, why it cannot be, what to do.
        kind: last part of the document's ``type``; the status' phrase by default.
        headers: more headers of the response.
        more: further members of the document.
    """

    def __init__(self, status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None, **more: Any):
        super().__init__(status, detail, dict(headers) if headers else None)
        self.kind, self.more = kind, more


def of_error(error: Mapping[str, Any], **more: Any) -> Problem:
    """Return the problem of an error ``{"kind": …, "message": …}`` of a job or a rank."""
    kind = error["kind"]
    status = STATUS.get(kind, 500)
    figures = {key: value for key, value in error.items() if key not in ("kind", "message")}
    headers = {"Retry-After": "1"} if status == 503 else None
    return Problem(status, error["message"], kind, headers, **figures, **more)


def response(status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None, **more: Any):
    """Return the response with a problem document."""
    phrase = HTTPStatus(status).phrase
    name = kind or phrase.replace(" ", "")
    document = {"type": f"urn:dgraph:problem:{name}", "title": phrase, "status": status, "detail": detail, **more}
    return Response(json.dumps(document, default=str), status, headers, MEDIA)


def page_of(refused: Response) -> Response:
    """Return a problem's response as a page for a browser."""
    document = json.loads(bytes(refused.body))
    title, detail = (html.escape(str(document[name])) for name in ("title", "detail"))
    text = PAGE.format(title=title, detail=detail, help=LOG_IN if refused.status_code == 401 else "")
    headers = {name: value for name, value in refused.headers.items() if name == "www-authenticate"}
    return Response(text, refused.status_code, {**headers, "Vary": "Accept"}, "text/html")


def response_of(problem: Problem) -> Response:
    """Return the response with the document of a problem."""
    return response(problem.status_code, str(problem.detail), problem.kind, problem.headers, **problem.more)


def fault_response(method: str, path: str) -> Response:
    """Return the response to a request that met a fault of the front."""
    detail = "a fault of dgraph; its traceback is in the log of the service. Please report it"
    return response(500, f"{method} {path}: {detail}", "InternalError")


def of_fault(error: BaseException) -> Problem | None:
    """Return the problem of an exception that a full disk caused; None if the exception is a fault of the front."""
    if isinstance(error, sqlite3.OperationalError):
        why = str(error)
    elif isinstance(error, OSError) and error.errno in NO_ROOM:
        why = error.strerror or str(error)
    else:
        return None
    return Problem(507, f"the state folder of the service cannot be written ({why}); make room there, and try again")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of a route that may answer with these problems, besides those of all routes."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    return {
        status: {"description": MEANING[status], "content": {MEDIA: schema}} for status in (400, 401, 403, *statuses)
    }


def _methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods that the document of the interface has for a path."""
    for template, operations in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return sorted(method.upper() for method in operations)
    return ["GET"]


def install(app: FastAPI) -> None:
    """Make the application answer every error with a problem document."""

    @app.exception_handler(HTTPException)
    async def _problem(request: Request, error: HTTPException) -> Response:
        if isinstance(error, Problem):
            return response_of(error)
        detail = f"{request.method} {request.url.path}: {error.detail}; see /openapi.json"
        headers = error.headers
        if error.status_code == 405:
            headers = {"Allow": ", ".join(_methods(app, request.url.path))}
        return response(error.status_code, detail, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        problems = [
            {"where": ".".join(map(str, fault["loc"])), "message": fault["msg"], "got": str(fault.get("input"))[:80]}
            for fault in error.errors()[:20]
        ]
        unparsed = any(problem["type"] == "json_invalid" for problem in error.errors())
        first = problems[0]
        media = request.headers.get("content-type", "")
        if error.errors()[0]["type"] in NOT_JSON and "json" not in media.lower():
            detail = f"got a body of Content-Type {media[:100] or 'none'}; send Content-Type: application/json"
            return response(415, f"{detail} (curl: --json, or -H and -d)")
        detail = f"{first['where']}: {first['message']}, got {first['got']}; see /openapi.json for the valid values"
        return response(400 if unparsed else 422, detail, errors=problems)

    @app.exception_handler(ClientDisconnect)
    async def _gone(request: Request, error: ClientDisconnect) -> Response:
        return response(400, "the client disconnected before the body ended; send it again")

    @app.exception_handler(OSError)
    @app.exception_handler(sqlite3.Error)
    async def _full(request: Request, error: Exception) -> Response:
        problem = of_fault(error)
        if problem is None:
            raise error
        return response_of(problem)

    @app.exception_handler(Exception)
    async def _fault(request: Request, error: Exception) -> Response:
        return fault_response(request.method, request.url.path)
