"""The front as a process: listeners, start of the ranks, drain and end. :func:`serve` is the entry.

It ends on SIGTERM or SIGINT within 20 s: running jobs have ``Settings.drain_s`` to end, the ranks a few more seconds.
Whatever keeps the front from that, a thread of its own kills the ranks, removes the sockets and ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from dgraph.errors import OutputError, UsageError
from dgraph.service.front import service_log
from dgraph.service.front.app import make_app
from dgraph.service.front.limits.http_protocol import LimitedProtocol, Strangers
from dgraph.service.front.security import Guard
from dgraph.service.front.service_context import ServiceParts
from dgraph.service.front.service_log import fault, log
from dgraph.service.front.settings import Settings, take_state

CONNECTIONS = 1024
"""Open connections above which requests are answered 503."""

RANKS_S = 3.0
"""Seconds that the ranks have to end."""

LAST_S = 19.0
"""Seconds after a signal after which the process ends, come what may."""


class _Server(uvicorn.Server):
    """Server whose process handles signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


def _server(app: Any, strangers: Strangers | None = None) -> _Server:
    config = uvicorn.Config(
        app,
        http=partial(LimitedProtocol, strangers=strangers),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        loop="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=3,
        backlog=1024,
    )
    return _Server(config)


def unix_listener(settings: Settings) -> socket.socket:
    """Return the listening Unix socket, of mode 0600 from its first moment; the socket of a dead service is replaced.

    Raises:
        UsageError: a service answers at the path, or the file there is not a socket.
        OutputError: the system refused.
    """
    path = settings.unix_socket
    _check_free(path)
    listener = socket.socket(socket.AF_UNIX)
    path.unlink(missing_ok=True)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        raise OutputError(f"cannot listen on {path}: {error}; give another --socket") from None
    finally:
        os.umask(mask)
    listener.listen(1024)
    return listener


def _check_free(path: Path) -> None:
    """Refuse the path of a socket on which a process listens, and of a file that is not a socket."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.stat().st_mode):
            raise UsageError(f"got the socket {path}, which is a file of another kind; give another --socket")
        with socket.socket(socket.AF_UNIX) as one:
            one.setblocking(False)
            try:
                one.connect(str(path))
            except ConnectionRefusedError:
                return
            except BlockingIOError:  # it listens, and its backlog is full
                pass
            except OSError as error:
                raise OutputError(f"cannot listen on {path}: {error}; give another --socket") from None
        raise UsageError(f"another service answers at the socket {path}; end it, or give another --socket")


def _file_of(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a file; None if there is none."""
    with contextlib.suppress(FileNotFoundError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


def tcp_listener(settings: Settings) -> socket.socket:
    """Return the listening TCP socket."""
    family = socket.AF_INET6 if ":" in settings.bind else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.bind, settings.port or 0))
    except OSError as error:
        raise OutputError(f"cannot listen on {settings.bind}:{settings.port}: {error}; give another --port") from None
    listener.listen(1024)
    return listener


def serve(settings: Settings, make_ranks: Any, quiet: bool = False) -> int:
    """Run the service until a signal ends it.

    Args:
        settings: options.
        make_ranks: function of the settings that returns ``supervisor.Ranks``.
        quiet: log warnings and errors only.

    Returns:
        The exit code.

    Raises:
        UsageError: the state folder or the socket is in use, or the token file cannot be used.
        OutputError: a listener cannot be opened.
    """
    service_log.begin(quiet)
    with take_state(settings.state):
        if sys.platform == "win32" or os.environ.get("DGRAPH_LOOP") == "asyncio":
            return asyncio.run(_serve(settings, make_ranks(settings), _end_at_last))
        import uvloop

        return uvloop.run(_serve(settings, make_ranks(settings), _end_at_last))


async def _serve(settings: Settings, ranks: Any, at_last: Callable[[Any, list[Path]], None] | None = None) -> int:
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end.set)
    service = ServiceParts(settings, ranks)
    listeners = [unix_listener(settings)]
    own = _file_of(settings.unix_socket)
    app = make_app(service)
    doors = (app, service.doors, settings, service.metrics)
    servers = [_server(Guard(*doors, unix=True))]
    if settings.port is not None:
        listeners.append(tcp_listener(settings))
        servers.append(_server(Guard(*doors), Strangers()))
        host, port = listeners[-1].getsockname()[:2]
        service.address = (
            f"http://{'localhost' if host in ('0.0.0.0', '::') else f'[{host}]' if ':' in host else host}:{port}"
        )
    await service.start()
    serving = [
        asyncio.ensure_future(server.serve(sockets=[listener]))
        for server, listener in zip(servers, listeners, strict=True)
    ]
    starting = asyncio.ensure_future(_start_ranks(ranks, end))
    log("listening", socket=str(settings.unix_socket), address=service.address, state=str(settings.state))
    print(f"dgraph: Unix socket {settings.unix_socket}", flush=True)
    if service.address:
        print(f"dgraph: page {service.address}/login?token={service.doors.new_login()} (valid once)", flush=True)
    await end.wait()
    begun = time.monotonic()
    if at_last is not None:
        at_last(ranks, [settings.unix_socket] * (_file_of(settings.unix_socket) == own))
    log("ending", reason="signal")
    starting.cancel()
    try:
        await service.stop()
    except Exception:
        fault("the front did not end in order")
    await ranks.stop(grace_s=RANKS_S)
    for server in servers:
        server.should_exit = True
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(max(LAST_S - 0.5 - (time.monotonic() - begun), 0.1)):
            await asyncio.gather(*serving, return_exceptions=True)
    if _file_of(settings.unix_socket) == own:
        settings.unix_socket.unlink(missing_ok=True)
    log("ended", seconds=round(time.monotonic() - begun, 3))
    return int(starting.done() and not starting.cancelled() and bool(starting.result()))


def _end_at_last(ranks: Any, sockets: list[Path]) -> None:
    """End this process ``LAST_S`` from now, if it still runs then: its event loop or a thread waits for a dead disk."""

    def end() -> None:
        ranks.kill()
        for path in sockets:
            path.unlink(missing_ok=True)
        log("ended by force", 30, seconds=LAST_S)
        os._exit(0)

    timer = threading.Timer(LAST_S, end)
    timer.daemon = True
    timer.start()


async def _start_ranks(ranks: Any, end: asyncio.Event) -> int:
    """Start the ranks; end the service if they do not start."""
    try:
        await ranks.start()
        return 0
    except Exception as error:
        log("the ranks do not start", 40, error=str(error))
        print(f"dgraph: error: the ranks do not start: {error}", file=sys.stderr, flush=True)
        end.set()
        return 74
