"""``/mcp``: the tools of ``service/mcp`` by the Model Context Protocol over HTTP, in the front itself.

Each request is answered in full by one JSON document; there are no sessions. The tools use the client of Python, whose
requests :class:`InnerLink` passes to the application without a socket, with the rights and limits of the caller's
token. The package ``mcp`` is imported at the first request.
"""

from __future__ import annotations

import asyncio
import json
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dgraph.errors import OutputError
from dgraph.service.client.connection import TIMEOUT_S
from dgraph.service.client.http_link import JSON, Link
from dgraph.service.client.problems import error_of
from dgraph.service.front import problem_documents as problems
from dgraph.service.front.security import Principal, forbidden
from dgraph.service.front.service_context import ServiceParts
from dgraph.service.front.worker_threads import in_thread

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"

CALLER: ContextVar[Principal] = ContextVar("CALLER")
"""Bearer of the token of the request under way."""


class InnerLink(Link):
    """Requests of the tools' threads to the application in this process.

    Args:
        app: the application, without its guard.
        service: its service.
    """

    def __init__(self, app: ASGIApp, service: ServiceParts):
        super().__init__(f"unix:{service.settings.unix_socket}", None, TIMEOUT_S)
        self._app, self._service = app, service
        self._loop = asyncio.get_running_loop()

    def fetch(self, method: str, path: str, body: Any = None, kind: str = JSON, **query: Any) -> memoryview:
        """Pass a request to the application and return the answer's body; errors as of ``Link.fetch``."""
        if self._service.ending.is_set():
            raise OutputError("the service ends; ask again when it is up")
        who = CALLER.get()
        if (why := forbidden(who, method, path)) is not None:
            raise error_of(403, json.dumps({"detail": why}).encode(), "", self.address)
        asked = urlencode({name: value for name, value in query.items() if value is not None})
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "method": method,
            "path": path, "raw_path": path.encode(), "root_path": "", "query_string": asked.encode(),
            "headers": [(b"content-type", kind.encode())], "client": None, "server": None, "state": {"principal": who},
        }  # fmt: skip
        sent = b"" if body is None else json.dumps(body, allow_nan=False).encode()
        status, answer = asyncio.run_coroutine_threadsafe(_answered(self._app, scope, sent), self._loop).result()
        if status >= 400:
            raise error_of(status, answer, "", self.address)
        return memoryview(answer)

    def events(self, path: str, last: str | None = None) -> Any:
        """Wait for the end of a stream of events; the tools read none of them."""
        self.fetch("GET", path)
        return iter(())


async def _answered(app: ASGIApp, scope: Scope, body: bytes) -> tuple[int, bytes]:
    """Return status and body of the application's answer to a request."""
    status, parts, sent = 500, list[bytes](), False

    async def receive() -> Message:
        nonlocal sent
        if sent:  # a stream waits for the disconnect of its client
            await asyncio.get_running_loop().create_future()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        nonlocal status
        status = message.get("status", status)
        parts.append(bytes(message.get("body", b"")))

    await app(scope, receive, send)
    return status, b"".join(parts)


class McpEndpoint:
    """ASGI application of the path ``/mcp``.

    Args:
        app: the application whose interface the tools use.
        service: its service.
    """

    def __init__(self, app: ASGIApp, service: ServiceParts):
        self._app, self._service = app, service
        self._starting: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a message."""
        if scope["method"] != "POST":
            refused = problems.response(405, "got no message; POST messages of MCP to /mcp", headers={"Allow": "POST"})
            return await refused(scope, receive, send)
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_future()
            self._running = asyncio.ensure_future(self._run(self._starting))
        try:
            manager = await asyncio.shield(self._starting)
        except ImportError as missing:
            detail = f"/mcp needs more packages, and {missing}: pip install 'dgraph-analytics[mcp]' and start again"
            return await problems.response(404, detail, "Missing")(scope, receive, send)
        CALLER.set(scope["state"]["principal"])
        await manager.handle_request(scope, receive, send)

    async def _run(self, started: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Serve the protocol until the service ends."""
        try:
            manager = await in_thread(_manager, InnerLink(self._app, self._service))
        except Exception as error:
            return started.set_exception(error)
        async with manager.run():
            started.set_result(manager)
            await self._service.ending.wait()


def _manager(link: Link) -> StreamableHTTPSessionManager:
    from mcp.server.transport_security import TransportSecuritySettings

    from dgraph.service.client.connection import Service as Client
    from dgraph.service.mcp.mcp_tools import server_of

    server = server_of(Client(link))
    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # by the guard, which knows the hosts
    server.streamable_http_app(json_response=True, stateless_http=True, transport_security=checked)
    return server.session_manager
