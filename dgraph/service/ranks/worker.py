"""Loop of one rank: take a request, carry it out on all ranks, answer it. The front's ``stop`` or end ends it.

Rank 0 takes requests from the front and sends them to the others, so that all ranks make the same calls in the same
order. An error that all ranks raise is the answer; any other exception of one of several ranks ends the job, because
the others would wait for it, and the supervisor starts it again.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dgraph._support.version import __version__
from dgraph.backend import has_gpu
from dgraph.comm import Comm
from dgraph.engine.rounds.progress import Progress
from dgraph.errors import (
    Cancelled,
    ConvergenceWarning,
    DataError,
    DgraphError,
    InternalError,
    OutOfMemory,
    OutputError,
    PeerLost,
    UsageError,
    unknown,
)
from dgraph.service.ranks import graph_operations, job_passes, memory_operations, run_operations
from dgraph.service.ranks.front_link import FrontLink
from dgraph.service.ranks.held_results import NotFound
from dgraph.service.ranks.job_passes import SHARED, grouped
from dgraph.service.ranks.rank_state import RankState, Request
from dgraph.service.ranks.request_broadcast import RequestBroadcast
from dgraph.service.ranks.run_observer import RunObserver

Operation = Callable[[RankState, Request, Progress], dict[str, Any]]

GRAPH: dict[str, Any] = {"graph": str, "version": int}
JOB: dict[str, Any] = {"job": str}
VERTEX: Any = (int, str)

OPERATIONS: dict[str, tuple[Operation, dict[str, Any]]] = {
    "load": (graph_operations.load, {**GRAPH, "source": str, "store": str}),
    "table": (graph_operations.table, {**GRAPH, "path": str, "format": str, "store": str}),
    "open": (graph_operations.reopen, {**GRAPH, "store": str}),
    "change": (graph_operations.change, {**GRAPH, "new_version": int, "path": str, "store": str}),
    "drop": (graph_operations.drop, {"graph": str}),
    "estimate": (memory_operations.estimate, {}),
    "memory": (memory_operations.memory, {}),
    "run": (run_operations.run, {**GRAPH, **JOB, "algorithm": str}),
    "path": (run_operations.path, {**GRAPH, "source": VERTEX, "target": VERTEX}),
    "rows": (run_operations.rows, {**JOB, "spool": str}),
    "lookup": (run_operations.lookup, {**JOB, "vertices": list}),
    "top": (run_operations.top, {**JOB, "top": int}),
    "release": (run_operations.release, JOB),
}
"""Operation → function, and the keys that it needs, with their types."""

STOP: Request = {"op": "stop"}

OUT_OF_MEMORY = re.compile(r"\b_?\w*(MemoryError|OutOfMemory)\b")
"""Names of exceptions that mean too little memory, in the traceback that an error of another rank has."""


def work_for(front: Path, device: str, comm: Comm) -> int:
    """Work for the front at a Unix socket until it ends; return exit code 0; collective."""
    link = None
    with comm.together():
        link = FrontLink(front) if comm.rank == 0 else None
    return work(link, device, comm)


def work(link: FrontLink | None, device: str, comm: Comm) -> int:
    """Carry out requests until the front ends or sends ``stop``; return exit code 0; collective.

    Args:
        link: the front, on rank 0; None elsewhere.
        device: where rounds run: "auto", "cpu" or "cuda".
        comm: the ranks.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)  # the answer says it
    state, channel = RankState(comm, device), RequestBroadcast(comm)
    state.graphs.reopen = partial(graph_operations.reopened, state)
    ranks = comm.allgather_json([os.getpid(), socket.gethostname()])
    if link is not None:
        link.hello(
            ranks=comm.size, pids=[pid for pid, _ in ranks], hosts=[host for _, host in ranks],
            backend="cuda" if device == "cuda" or (device == "auto" and has_gpu()) else "cpu", version=__version__,
        )  # fmt: skip
        with contextlib.suppress(ImportError):  # now, and not in the first request that spools
            import pyarrow.ipc  # noqa: F401
    waiting: deque[Request] = deque()
    while True:
        if link is None:
            request = channel.receive(state.rest)
        else:
            request = _next(link, waiting, state)
            channel.send(request)
        if request["op"] == "stop":
            break
        if request["op"] == SHARED:
            job_passes.carry_out(state, request["requests"], link, _carried_out)
            continue
        observer = RunObserver(link, request["id"], request.get("timeout_s"))
        kind, answer = _carried_out(state, request, observer)
        if link is not None:
            link.reply(request["id"], kind, answer)
    if link is not None:
        if "id" in request:
            link.answer(request["id"], {})
        link.close()
    return 0


def _next(link: FrontLink, waiting: deque[Request], state: RankState) -> Request:
    """Return the next request that was not cancelled while it waited, or those that may share a pass.

    Args:
        link: the front.
        waiting: requests that came with earlier ones.
        state: this rank.
    """
    while True:
        if not waiting:
            waiting.extend(grouped(link.next(state.rest) or [STOP]))
        request = waiting.popleft()
        members = request.get("requests") or [request]
        kept = [member for member in members if "id" not in member or not link.cancelled(member["id"])]
        for queued in members:
            if queued not in kept and not link.gone:
                link.refuse(queued["id"], "Cancelled", "the request was cancelled before it started")
        if kept:
            return kept[0] if len(kept) == 1 else {"op": SHARED, "requests": kept}


def _carried_out(state: RankState, request: Request, observer: RunObserver) -> tuple[str | None, Any]:
    """Return (None, answer), or the kind of an error and its text; collective."""
    try:
        with state.comm.guarded():
            return None, _operation(request)(state, request, observer)
    except PeerLost:
        raise
    except Cancelled as error:
        return observer.reason(), observer.explained(error)
    except DgraphError as error:
        return _name_kind(error), str(error)
    except Exception as error:  # of the only rank: guarded() ends several
        with contextlib.suppress(OSError):  # the disk under the log is full
            print(traceback.format_exc(), file=sys.stderr, flush=True)
        kind = "OutOfMemory" if isinstance(error, MemoryError) else "InternalError"
        return kind, f"{type(error).__name__}: {error}"


def _operation(request: Request) -> Operation:
    """Return the operation of a request that has the keys it needs.

    Raises:
        UsageError: an unknown operation, or a key that is missing or of another type.
    """
    if request["op"] not in OPERATIONS:
        raise unknown("operation", str(request["op"]), OPERATIONS)
    operation, keys = OPERATIONS[request["op"]]
    for key, kind in keys.items():
        value = request.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise UsageError(f"{request['op']}: {key} = {value!r:.60} is not valid; give {kind}")
    return operation


def _name_kind(error: DgraphError) -> str:
    """Return the kind of an error, a word of ``messages.KINDS``."""
    if isinstance(error, InternalError) and OUT_OF_MEMORY.search(str(error).rpartition("\n")[2]):
        return "OutOfMemory"
    kinds = (NotFound, OutOfMemory, UsageError, DataError, OutputError)
    return next((kind.__name__ for kind in kinds if isinstance(error, kind)), "InternalError")
