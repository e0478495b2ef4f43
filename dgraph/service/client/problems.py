"""Errors of a service as classes of ``dgraph.errors``."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from dgraph import errors
from dgraph.errors import DgraphError, InternalError, OutputError, UsageError


class RowsGone(UsageError):
    """The rows of a job that is done: the ranks that held them ended, or they made room for others."""


BY_KIND: dict[str, type[DgraphError]] = {
    **dict.fromkeys(("TimedOut", "RanksDied", "Restarted"), OutputError),
    "NotFound": UsageError,
    "Evicted": RowsGone,
}
"""Kind of a service's error → class, for kinds that have no class of their own in ``dgraph.errors``."""

BY_STATUS: dict[int, type[DgraphError]] = {
    HTTPStatus.TOO_MANY_REQUESTS: OutputError,
    HTTPStatus.SERVICE_UNAVAILABLE: OutputError,
    HTTPStatus.INSUFFICIENT_STORAGE: OutputError,
}
"""Status → class; other statuses below 500 are the request's fault, others the service's."""


def class_of(kind: str | None, status: int = 500) -> type[DgraphError]:
    """Return the class of an error's kind, or else of a status of HTTP."""
    named = getattr(errors, kind or "", None)
    if isinstance(named, type) and issubclass(named, DgraphError):
        return named
    if kind in BY_KIND:
        return BY_KIND[kind]
    return BY_STATUS.get(status, UsageError if status < 500 else InternalError)


def error_of(status: int, body: bytes, reason: str, address: str) -> DgraphError:
    """Return the exception of an answer with a status of 400 or more.

    Args:
        status: of HTTP.
        body: a problem document (RFC 9457), whose ``type`` ends with the kind; or whatever else came.
        reason: of the status, in words.
        address: the service's.
    """
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    problem = problem if isinstance(problem, dict) else {}
    text = problem.get("detail") or problem.get("title") or f"{address} answered {status} {reason}"
    if status == HTTPStatus.UNAUTHORIZED:
        text = f"{text}; pass token=, a line of the service's token file"
    kind = str(problem.get("type", "")).rpartition(":")[2]
    return class_of(kind, status)(str(text))


def error_of_job(job: str, state: str, error: object) -> DgraphError:
    """Return the exception of a job that failed or was cancelled.

    Args:
        job: its id.
        state: "failed" or "cancelled".
        error: of its record: a problem document, an object with kind and message, a text, or None.
    """
    problem: dict[str, Any] = error if isinstance(error, dict) else {"detail": error}
    kind = problem.get("kind") or ("Cancelled" if state == "cancelled" else None)
    text = problem.get("detail") or problem.get("message") or f"job {job} was {state}"
    error_class = class_of(kind, problem.get("status", 500))
    return error_class(str(text))
