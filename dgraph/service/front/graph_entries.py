"""``GraphEntry`` and ``VersionEntry``: entries of the catalogue; ``Entries`` finds them, by name or for a job."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from dgraph.service.front.jobs.job import Job
from dgraph.service.front.problem_documents import Problem, of_error

GRAPH_STATES = ("loading", "ready", "failed")


def new_id() -> str:
    """Return an id that no other graph or version has, unlike names and numbers, which are used again."""
    return secrets.token_hex(8)


@dataclass
class VersionEntry:
    """Version of a graph.

    Attributes:
        number: counts from 1; that of a version that failed may be used again.
        op: operation that makes it: "load", "table" or "change".
        fields: keys of that operation, besides graph, version and store.
        state: "loading", "ready" or "failed".
        stored: True if its store is complete, so that it can be opened.
        facts, bytes_by_rank: as the ranks reported.
        jobs: queued and running jobs that need it.
        error: why it failed.
        columns: names of the columns that jobs kept, as the ranks reported.
        deaths: times that the ranks died while they loaded or opened it.
        id: unlike that of any other version, also of the same number.
    """

    number: int
    op: str
    fields: dict[str, Any]
    state: str = "loading"
    stored: bool = False
    facts: dict[str, Any] | None = None
    bytes_by_rank: list[int] | None = None
    jobs: int = 0
    deaths: int = 0
    error: dict[str, Any] | None = None
    columns: list[str] = field(default_factory=list)
    id: str = field(default_factory=new_id)

    def document(self) -> dict[str, Any]:
        """Return what the history keeps."""
        names = ("id", "number", "op", "fields", "state", "stored", "facts", "bytes_by_rank")
        return {name: getattr(self, name) for name in names}


@dataclass
class GraphEntry:
    """Graph of the catalogue.

    Attributes:
        name: its name.
        source: what it was loaded from.
        options: options of the load.
        versions: by number, ascending.
        newest: number of the last version that was started.
        pinned: True if it cannot be deleted.
        created: seconds since 1970.
        error: why the last load failed.
        ticket: of the load under way.
        dropped: True once it was deleted.
        idle_s: seconds without use after which it is deleted; None: it stays.
        used: time of its last use.
        id: unlike that of any other graph, also of the same name.
        jobs: queued and running jobs on it.
    """

    name: str
    source: str
    options: dict[str, Any]
    versions: dict[int, VersionEntry] = field(default_factory=dict)
    newest: int = 0
    pinned: bool = False
    created: float = field(default_factory=time.time)
    error: dict[str, Any] | None = None
    ticket: Any = None
    dropped: bool = False
    idle_s: float | None = None
    used: float = field(default_factory=time.time)
    id: str = field(default_factory=new_id)
    jobs: int = 0

    @property
    def current(self) -> VersionEntry | None:
        """Newest version that is ready, or will be once it is open again; None before the first load ends."""
        done = [version for version in self.versions.values() if version.stored]
        return done[-1] if done else None

    @property
    def state(self) -> str:
        """State of the newest version that can be asked; before the first, of its load."""
        version = self.current or (next(iter(self.versions.values()), None))
        return "failed" if version is None else version.state

    def is_idle(self) -> bool:
        """Return True if it shall end now, because it was not used; a load and a job that waits or runs are uses."""
        if self.jobs or any(version.state == "loading" for version in self.versions.values()):
            self.used = time.time()
        return self.idle_s is not None and not self.pinned and time.time() - self.used > self.idle_s

    def begin(self, op: str, fields: dict[str, Any]) -> VersionEntry:
        """Add the next version."""
        self.newest += 1
        version = self.versions[self.newest] = VersionEntry(self.newest, op, fields)
        return version

    def record(self, version: VersionEntry | None = None) -> dict[str, Any]:
        """Return the public record, with the figures of a version, by default of the newest that is stored."""
        shown = version or self.current
        return {
            "name": self.name,
            "state": self.state if version is None else version.state,
            "version": shown.number if shown else 0,
            "versions": [number for number, version in self.versions.items() if version.stored],
            "source": self.source,
            "options": self.options,
            "pinned": self.pinned,
            "created": self.created,
            "idle_s": self.idle_s,
            "facts": shown.facts if shown else None,
            "bytes_by_rank": shown.bytes_by_rank if shown else None,
            "columns": shown.columns if shown else [],
            "error": self.error,
        }

    def document(self) -> dict[str, Any]:
        """Return what the history keeps."""
        names = ("id", "name", "source", "options", "newest", "pinned", "created", "idle_s", "error")
        kept = [version.document() for version in self.versions.values()]
        return {**{name: getattr(self, name) for name in names}, "versions": kept}

    @classmethod
    def of(cls, document: dict[str, Any]) -> GraphEntry:
        """Return the graph of a document; versions that were ready are loading until they are open again."""
        versions = [VersionEntry(**{"id": str(record["number"]), **record}) for record in document.pop("versions")]
        document.setdefault("id", f"created {document['created']}")  # of a service without ids: the same at each start
        for version in versions:
            version.state = "failed" if version.state == "failed" else "loading"
        return cls(**document, versions={version.number: version for version in versions})


class Entries:
    """Graphs by name. A name, or the number of a version, may be used again; an id is not."""

    def __init__(self) -> None:
        self.graphs: dict[str, GraphEntry] = {}

    def graph(self, name: str) -> GraphEntry:
        """Return a graph.

        Raises:
            Problem: 404.
        """
        graph = self.graphs.get(name)
        if graph is None:
            names = ", ".join(sorted(self.graphs)[:20]) or "none"
            raise Problem(404, f"got the graph {name!r}, which is not in the catalogue; known are: {names}", "NotFound")
        graph.used = time.time()
        return graph

    def version(self, graph: GraphEntry, number: int | None) -> VersionEntry | None:
        """Return a version, or the newest; None while the first load is under way.

        Raises:
            Problem: 404 for a version that does not exist, 422 if the graph failed to load.
        """
        if number is not None:
            match = graph.versions.get(number)
            if match is None or match.state == "failed":
                have = ", ".join(str(n) for n, one in graph.versions.items() if one.state != "failed")
                error = match.error if match is not None else None
                why, kind = (f"; it failed: {error['message']}", error["kind"]) if error else ("", "NotFound")
                raise Problem(404, f"got version {number} of {graph.name}, which has {have or 'none'}{why}", kind)
            return match
        if graph.current is None and graph.state == "failed":
            raise of_error(graph.error or {"kind": "InternalError", "message": f"{graph.name} failed to load"})
        return graph.current

    def settled(self, graph: GraphEntry, number: int | None) -> VersionEntry | None:
        """Return the version on which a job that names ``number`` would run; None if a newer one is in the making.

        Raises:
            Problem: as of :meth:`version`.
        """
        match = self.version(graph, number)
        newer = number is None and any(other.state == "loading" for other in graph.versions.values())
        return None if newer else match

    def of_job(self, job: Job) -> VersionEntry | None:
        """Return the version of a job, by default the newest; None while the first load is under way.

        Raises:
            Problem: 404 if they were deleted, though others may have their name and number; as of :meth:`version`.
        """
        graph = self.graphs.get(job.graph)
        if graph is None or graph.id != job.graph_id:
            raise _deleted(job.graph)
        version = self.version(graph, job.version)
        if version is not None and job.version_id and version.id != job.version_id:
            raise _deleted(f"version {job.version} of {job.graph}")
        return version

    def same(self, graph: GraphEntry | None, name: str) -> GraphEntry:
        """Return the graph of a name if it is ``graph``, which had the name when a request came.

        Raises:
            Problem: 404 if it was deleted since, though another may have its name.
        """
        if graph is None:
            return self.graph(name)
        if self.graphs.get(name) is not graph:
            raise _deleted(name)
        graph.used = time.time()
        return graph

    def id_of(self, name: str, since: float) -> str:
        """Return the id of the graph that has had a name since before a time; "" if there is none."""
        graph = self.graphs.get(name)
        return graph.id if graph is not None and graph.created <= since else ""

    def has(self, name: str, id: str, version: int | None) -> bool:
        """Return True if the graph of a name has this id, and this version."""
        graph = self.graphs.get(name)
        return graph is not None and graph.id == id and version in graph.versions


def _deleted(what: str) -> Problem:
    return Problem(404, f"{what} was deleted after the request for it; send it again if it is there anew", "NotFound")
