"""``POST /v1/jobs`` without FastAPI's resolution of a request, which takes longer than a bfs of a small graph.

:class:`DirectSubmit` validates with the models of the documented route, and passes to that route whatever is not valid
at once: the route then says what is wrong, so that both accept the same requests.
"""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace
from urllib.parse import parse_qsl

from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dgraph.service.front import problem_documents as problems
from dgraph.service.front.limits import json_values
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.routes import models, routes_jobs
from dgraph.service.front.service_context import ServiceParts
from dgraph.service.front.service_log import fault

ROUTE = SimpleNamespace(path=routes_jobs.SUBMIT)
"""The route as metrics name it."""

JSON = b"application/json"


class DirectSubmit:
    """ASGI application of submissions.

    Args:
        app: the application whose route takes what is not answered here.
        service: its service.
    """

    def __init__(self, app: ASGIApp, service: ServiceParts):
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a valid submission, or pass the request on."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != routes_jobs.SUBMIT:
            return await self.app(scope, receive, send)
        query = _query(scope["query_string"])
        if query is None or (b"content-type", JSON) not in scope["headers"]:
            return await self.app(scope, receive, send)
        try:
            messages, body = await _body(receive)
            if body is None:
                return await self.app(scope, _again(messages, receive), send)
            answer = await routes_jobs.submitted(self.service, scope["state"]["principal"], body, query)
        except Problem as problem:
            answer = problems.response_of(problem)
        except Exception as error:
            if (full := problems.of_fault(error)) is not None:
                answer = problems.response_of(full)
            else:
                fault("a submission failed by a fault of the front")
                answer = problems.fault_response(scope["method"], scope["path"])
        scope["route"] = ROUTE
        await answer(scope, receive, send)


@lru_cache(256)
def _query(text: bytes) -> models.SubmitQuery | None:
    """Return the query of a submission; None if it is not valid."""
    words = parse_qsl(text.decode("latin-1"), keep_blank_values=True)
    if len(dict(words)) < len(words):
        return None
    try:
        return models.SubmitQuery.model_validate(dict(words))
    except ValidationError:
        return None


async def _body(receive: Receive) -> tuple[list[Message], models.NewJob | None]:
    """Return the messages of a body, and the job in it; None if it is not one."""
    messages, more = [], True
    while more:
        message = await receive()
        messages.append(message)
        more = message["type"] == "http.request" and message.get("more_body", False)
    if messages[-1]["type"] != "http.request":  # the client has gone
        return messages, None
    try:
        return messages, models.NewJob.model_validate(
            json_values.loads(b"".join(part.get("body", b"") for part in messages))
        )
    except (ValueError, RecursionError):  # not JSON, or not a job
        return messages, None


def _again(messages: list[Message], receive: Receive) -> Receive:
    """Return a ``receive`` that begins with messages that were received."""

    async def received() -> Message:
        return messages.pop(0) if messages else await receive()

    return received
