"""Admission of requests: tokens, the one-time login of the page, and checks of Host and Origin.

:class:`Guard` wraps the application for one listener. On the Unix socket the file's mode is the guard; on TCP every
path but ``/healthz``, ``/readyz`` and ``/login`` needs a token or the cookie of the login.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dgraph.errors import UsageError
from dgraph.service.front import problem_documents as problems
from dgraph.service.front.limits.body_limits import limited
from dgraph.service.front.metrics import Metrics
from dgraph.service.front.service_log import log_seldom
from dgraph.service.front.settings import Settings, loopback

OPEN = ("/healthz", "/readyz")
"""Paths that need no token."""

READ_POSTS = re.compile(r"/v1/(?:jobs/[^/]+/lookup|graphs/[^/]+/path|estimate)|/mcp")
"""Paths that a read token may POST to; the tools of MCP check each request of theirs."""

ROLES = ("admin", "read")
SESSIONS = 64
"""Logins of the page that are valid at a time; the oldest ends first."""

SAFE = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"),
]


@dataclass(eq=False)
class Principal:
    """Bearer of one token, of the page's cookie, or of the Unix socket, with its use of the limits.

    Attributes:
        name: first digits of the token's hash, or "socket" or "page"; for logs and history.
        role: "admin" or "read".
        queued: its queued jobs.
        uploading: bytes of its uploads under way.
    """

    name: str
    role: str = "admin"
    queued: int = 0
    uploading: int = 0


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def read_tokens(path: Path) -> dict[bytes, Principal]:
    """Return the digest of each token of a file → its principal.

    Raises:
        UsageError: the file is missing, can be read by others, or has a malformed or repeated line.
    """
    try:
        mode = path.stat().st_mode
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file {path} cannot be read: {error}; write one token a line into it") from None
    if mode & 0o077:
        raise UsageError(f"the token file {path} has mode {mode & 0o777:04o}, so others can use it; chmod 600 {path}")
    principals: dict[bytes, Principal] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        role = words[1] if len(words) > 1 else "admin"
        if len(words) > 2 or role not in ROLES:
            raise UsageError(f"{path}, line {number}: a line is TOKEN, TOKEN read or TOKEN admin; correct it")
        digest = _digest(words[0])
        if digest in principals:
            raise UsageError(f"{path}, line {number}: the token is in the file twice; remove one line")
        principals[digest] = Principal(digest.hex()[:8], role)
    if not principals:
        raise UsageError(f"the token file {path} has no token; write one a line")
    return principals


@dataclass
class Doors:
    """Valid tokens, logins and names of this host.

    Attributes:
        tokens: digest → principal.
        hosts: names that the Host header may have.
        logins: one-time logins that were not used.
        sessions: digests of the cookies of used logins.
        cookie: name of the cookie, which differs between services: browsers send cookies of a host to all its ports.
    """

    tokens: dict[bytes, Principal]
    hosts: frozenset[str]
    cookie: str = "dgraph"
    logins: set[bytes] = field(default_factory=set)
    sessions: dict[bytes, None] = field(default_factory=dict)
    page: Principal = field(default_factory=lambda: Principal("page"))
    socket: Principal = field(default_factory=lambda: Principal("socket"))

    @classmethod
    def of(cls, settings: Settings) -> Doors:
        """Return the doors of a service; reads the token file."""
        names = {"localhost", "127.0.0.1", "::1", settings.bind, *settings.hosts}
        if not loopback(settings.bind):
            names |= {socket.gethostname(), socket.getfqdn()}
        tokens = read_tokens(settings.token_file) if settings.token_file else {}
        service = hashlib.sha256(f"{socket.gethostname()}:{settings.state}".encode(errors="surrogateescape"))
        return cls(tokens, frozenset(map(str.lower, names)), f"dgraph_{service.hexdigest()[:12]}")

    def new_login(self) -> str:
        """Return the secret of a new one-time login; at most ``SESSIONS`` wait."""
        secret = secrets.token_urlsafe(24)
        if len(self.logins) >= SESSIONS:
            self.logins.clear()
        self.logins.add(_digest(secret))
        return secret

    def log_in(self, secret: str) -> str | None:
        """Use a login up, and return its cookie; None if the login is not valid."""
        stored = _find(self.logins, _digest(secret))
        if stored is None:
            return None
        self.logins.discard(stored)
        cookie = secrets.token_urlsafe(32)
        self.sessions[_digest(cookie)] = None
        while len(self.sessions) > SESSIONS:
            del self.sessions[next(iter(self.sessions))]
        return cookie

    def bearer(self, authorization: str) -> Principal | None:
        """Return the principal of an Authorization header; None if its token is not valid."""
        scheme, _, token = authorization.partition(" ")
        stored = _find(self.tokens, _digest(token.strip())) if scheme.lower() == "bearer" else None
        return None if stored is None else self.tokens[stored]

    def visitor(self, cookies: str) -> Principal | None:
        """Return the page's principal if a Cookie header has a valid session."""
        for pair in cookies.split(";"):  # those of other services of the host may have any form
            name, _, value = pair.strip().partition("=")
            if name == self.cookie and _find(self.sessions, _digest(value)) is not None:
                return self.page
        return None


def _host(scope: Scope) -> str | None:
    """Return the address of a request's client, if it has one."""
    return scope["client"][0] if scope.get("client") else None


def _find(digests: Iterable[bytes], digest: bytes) -> bytes | None:
    """Return the equal digest; all are compared, each in constant time."""
    match = None
    for candidate in digests:
        if hmac.compare_digest(candidate, digest):
            match = candidate
    return match


def forbidden(who: Principal, method: str, path: str) -> str | None:
    """Return why a token may not make a request; None if it may."""
    looks = method in ("GET", "HEAD") or (method == "POST" and READ_POSTS.fullmatch(path))
    if who.role == "admin" or looks:
        return None
    return f"got {method} {path} with a read token, which may only look; use an admin token"


class Guard:
    """ASGI wrapper of the application for one listener.

    Args:
        app: the application.
        doors: tokens and logins.
        settings: limits of bodies.
        metrics: counters of requests.
        unix: True for the listener on the Unix socket.
    """

    def __init__(self, app: ASGIApp, doors: Doors, settings: Settings, metrics: Metrics, unix: bool = False):
        self.app, self.doors, self.settings, self.metrics, self.unix = app, doors, settings, metrics, unix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it to the application."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        headers = dict(scope["headers"])
        status = 500

        async def counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message.get("headers", ())
                message["headers"] = [*own, *(pair for pair in SAFE if pair[0] not in dict(own))]
            await send(message)

        try:
            refused = self._refused(scope, headers)
            if refused is not None:
                if refused.status_code >= 400 and b"text/html" in headers.get(b"accept", b""):
                    refused = problems.page_of(refused)
                await refused(scope, receive, counted)
            else:
                if "principal" in scope["state"] and "connection" in scope["state"]:
                    scope["state"]["connection"].admit()
                await self.app(scope, limited(scope, headers, receive, self.settings), counted)
        finally:
            route = scope.get("route")
            self.metrics.request(scope["method"], getattr(route, "path", "other"), status)

    def _refused(self, scope: Scope, headers: dict[bytes, bytes]) -> Response | None:
        """Return the response that refuses a request; None if it is allowed: its principal is in ``scope["state"]``."""
        path, method = scope["path"], scope["method"]
        state = scope.setdefault("state", {})
        if self.unix:
            state["principal"] = self.doors.socket
            return None
        if (wrong := self._foreign(headers)) is not None:
            return wrong
        if path in OPEN:
            return None
        if path == "/login" and method == "GET":
            return self._login(scope)
        who = None
        if b"authorization" in headers:
            who = self.doors.bearer(headers[b"authorization"].decode("latin-1"))
        elif b"cookie" in headers:
            who = self.doors.visitor(headers[b"cookie"].decode("latin-1"))
        if who is None:
            if b"authorization" in headers:
                log_seldom("wrong token", client=_host(scope), path=path[:200])
            return problems.response(
                401,
                "got no valid token; send the header Authorization: Bearer TOKEN with a token of the token file, or "
                "open an address with a one-time login: the service printed one, and POST /v1/login on its Unix socket "
                "makes another",
                headers={"WWW-Authenticate": 'Bearer realm="dgraph"'},
            )
        if (why := forbidden(who, method, path)) is not None:
            return problems.response(403, why)
        state["principal"] = who
        return None

    def _foreign(self, headers: dict[bytes, bytes]) -> Response | None:
        """Return the refusal of a request for another host, or of a page of another origin."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name not in self.doors.hosts:
            return problems.response(
                403, f"got the Host {host!r}, which is not a name of this service; --allow-host adds one", "Host"
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin.partition("://")[2] != host:
            return problems.response(403, f"got the Origin {origin!r}, but only this service's page may ask", "Origin")
        return None

    def _login(self, scope: Scope) -> Response:
        secret = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        cookie = self.doors.log_in(secret)
        if cookie is None:
            log_seldom("wrong login", client=_host(scope))
            return problems.response(
                401, "the login is not valid or was used; POST /v1/login on the Unix socket makes a new one", "Login"
            )
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.doors.cookie, cookie, httponly=True, samesite="strict", path="/")
        return answer
