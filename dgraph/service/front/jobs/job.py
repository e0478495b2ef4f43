"""``Job``: one run of an algorithm, from its submission to its record in the history."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from dgraph.algorithms import ALGORITHMS
from dgraph.errors import DgraphError, UsageError, unknown
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.security import Principal

STATES = ("queued", "running", "done", "failed", "cancelled")
ENDED = frozenset(("done", "failed", "cancelled"))
EVENTS = 1000
"""Events of a job that are kept for listeners that come late or come again."""

RECORD = (
    "id", "state", "graph", "version", "algorithm", "parameters", "mode", "priority", "timeout_s", "created", "started",
    "finished", "round", "seconds", "rounds", "converged", "limit", "rows", "columns", "cached", "summary", "error",
)  # fmt: skip
"""Fields of a job's public record."""

_last = itertools.count()
_encode = json.JSONEncoder(separators=(",", ":"), default=str, allow_nan=False).encode


def new_id() -> str:
    """Return an id that is larger, as text, than those made before by this process."""
    return f"{time.time_ns() // 1000:014x}{next(_last) & 0xFFFF:04x}{os.urandom(3).hex()}"


def checked(algorithm: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters of a run, defaults included.

    Raises:
        Problem: 422 for an unknown algorithm or parameter, or a value that it cannot have.
    """
    try:
        if algorithm not in ALGORITHMS:
            raise unknown("algorithm", algorithm, ALGORITHMS)
        definition = ALGORITHMS[algorithm]
        for name, parameter in definition.parameters.items():
            if parameter.on_host and parameters.get(name) is not None:
                raise UsageError(f"{name} names a file of the service's host, which jobs do not write; leave it out")
        settings = definition(**parameters).settings()
    except (DgraphError, TypeError, ValueError, ArithmeticError) as error:
        raise Problem(422, f"{error}; see GET /v1/algorithms", "UsageError") from None
    if definition.needs_source:
        source = settings.get("source")
        if isinstance(source, bool) or not isinstance(source, (int, str)):
            named = "no source" if source is None else f"the source {str(source)[:80]!r}"
            raise Problem(422, f"{algorithm} got {named}, but it starts from one vertex; give its id", "UsageError")
    return settings


class Job:
    """One run. The queue changes it; routes read it.

    Args:
        graph, version, algorithm, parameters, mode, priority, timeout_s: as in ``models.NewJob``.
        key: graph-independent part of the cache's key; None: the job neither uses nor fills the cache.
        top: rows to return with the answer; 0: none.
        extra: more keys of the operation ``run``: weight, where, options, validate, report.
        column, target: of modes mutate and write.
        owner: principal that submitted it.
        id: its id; None: a new one.
        created: time of submission; None: now.

    Attributes:
        graph_id, version_id: of the graph, and of its version, on which the job runs, and on no other of their name
            and number; "" before they are chosen.
    """

    __slots__ = (
        "algorithm",
        "cached",
        "cancelling",
        "column",
        "columns",
        "converged",
        "created",
        "deadline",
        "done",
        "error",
        "event_count",
        "events",
        "extra",
        "finished",
        "graph",
        "graph_id",
        "id",
        "key",
        "limit",
        "listeners",
        "mode",
        "owner",
        "parameters",
        "priority",
        "report",
        "result",
        "round",
        "rounds",
        "rows",
        "seconds",
        "started",
        "state",
        "summary",
        "target",
        "ticket",
        "timeout_s",
        "timer",
        "top",
        "version",
        "version_id",
    )  # fmt: skip

    def __init__(
        self,
        graph: str,
        version: int | None,
        algorithm: str,
        parameters: dict[str, Any],
        *,
        owner: Principal,
        key: str | None = None,
        mode: str = "stream",
        priority: int = 0,
        timeout_s: float | None = None,
        top: int = 0,
        extra: dict[str, Any] | None = None,
        column: str | None = None,
        target: str | None = None,
        id: str | None = None,
        created: float | None = None,
    ):
        self.id = id or new_id()
        self.graph, self.version, self.algorithm, self.parameters = graph, version, algorithm, parameters
        self.graph_id = self.version_id = ""
        self.owner, self.key, self.mode, self.priority, self.timeout_s = owner, key, mode, priority, timeout_s
        self.top, self.column, self.target, self.extra = top, column, target, extra or {}
        self.created = time.time() if created is None else created
        self.deadline = None if timeout_s is None else self.created + timeout_s
        self.state, self.round, self.cached, self.cancelling = "queued", 0, False, False
        self.started: float | None = None
        self.finished: float | None = None
        self.seconds: float | None = None
        self.rounds: int | None = None
        self.converged: bool | None = None
        self.limit: str | None = None
        self.rows: int | None = None
        self.columns: list[str] | None = None
        self.report: dict[str, Any] | None = None
        self.summary: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.result: Any = None
        self.ticket: Any = None
        self.timer: asyncio.TimerHandle | None = None
        self.done: asyncio.Event | None = None
        self.events: deque[tuple[int, str, dict]] = deque(maxlen=EVENTS)
        self.event_count = 0
        self.listeners: list[asyncio.Event] = []

    def record(self) -> dict[str, Any]:
        """Return the public record."""
        return {name: getattr(self, name) for name in RECORD}

    def row(self) -> tuple[str, str, str, str]:
        """Return the row of the history: id, state, graph, and the record with what a restart needs, as JSON.

        Raises:
            ValueError: the record has a value that JSON does not have.
        """
        more = {"column": self.column, "write": self.target, "top": self.top, "key": self.key, "extra": self.extra}
        more |= {"graph_id": self.graph_id, "version_id": self.version_id}
        more |= {"owner": self.owner.name, "result": None if self.result is None else self.result.job}
        return self.id, self.state, self.graph, _encode({**self.record(), "_": more})

    def event(self, kind: str, fields: dict[str, Any]) -> None:
        """Add an event, and wake its listeners."""
        self.event_count += 1
        self.events.append((self.event_count, kind, fields))
        for listener in self.listeners:
            listener.set()

    def progress(self, event: dict[str, Any]) -> None:
        """Take an event of the ranks."""
        if "round" in event:
            self.round = event["round"]
            self.event("round", event)
        else:
            self.event("phase", event)

    def enter(self, state: str) -> None:
        """Change the state."""
        self.state = state
        if state == "running":
            self.started = time.time()
        elif state in ENDED:
            self.finished = time.time()
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            self.ticket = None
            if self.done is not None:
                self.done.set()
        self.event("state", {"state": state} if self.error is None else {"state": state, "error": self.error})

    async def ended(self, seconds: float) -> bool:
        """Wait until the job has ended; False if it has not within ``seconds``."""
        if self.state in ENDED:
            return True
        if seconds <= 0:
            return False
        if self.done is None:
            self.done = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self.done.wait()
        except TimeoutError:
            return False
        return True


def restored(document: dict[str, Any]) -> Job:
    """Return the job of a document of the history.

    Raises:
        KeyError, TypeError: the document is damaged.
    """
    more = document["_"]
    job = Job(
        *(document[name] for name in ("graph", "version", "algorithm", "parameters")),
        owner=Principal(more["owner"]),
        key=more["key"],
        extra=more["extra"],
        column=more["column"],
        target=more["write"],
        top=more["top"],
        **{name: document[name] for name in ("mode", "priority", "timeout_s", "id", "created")},
    )
    job.graph_id, job.version_id = more.get("graph_id", ""), more.get("version_id", "")
    return job


def check_record(job: Job) -> None:
    """Refuse a job whose record the history could not hold.

    Raises:
        Problem: 422.
    """
    try:
        job.row()
    except (ValueError, RecursionError) as error:
        detail = f"the job cannot be recorded as JSON: {error}; give finite numbers, and texts of Unicode"
        raise Problem(422, detail, "UsageError") from None
