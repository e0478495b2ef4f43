"""``Graph`` and ``Version``: entries of the catalogue."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

GRAPH_STATES = ("loading", "ready", "failed")


def new_id() -> str:
    """Return an id that no other graph or version has, unlike names and numbers, which are used again."""
    return secrets.token_hex(8)


@dataclass
class Version:
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
        id: tells it from others of its number.
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
class Graph:
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
        id: tells it from others of its name.
        jobs: queued and running jobs on it.
    """

    name: str
    source: str
    options: dict[str, Any]
    versions: dict[int, Version] = field(default_factory=dict)
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
    def current(self) -> Version | None:
        """Newest version that is ready, or will be once it is open again; None before the first load ends."""
        done = [version for version in self.versions.values() if version.stored]
        return done[-1] if done else None

    @property
    def state(self) -> str:
        """State of the newest version that can be asked; before the first, of its load."""
        version = self.current or (next(iter(self.versions.values()), None))
        return "failed" if version is None else version.state

    def is_idle(self) -> bool:
        """Return True if it shall end now, because nobody used it; a load and a job that waits or runs are uses."""
        if self.jobs or any(version.state == "loading" for version in self.versions.values()):
            self.used = time.time()
        return self.idle_s is not None and not self.pinned and time.time() - self.used > self.idle_s

    def begin(self, op: str, fields: dict[str, Any]) -> Version:
        """Add the next version."""
        self.newest += 1
        version = self.versions[self.newest] = Version(self.newest, op, fields)
        return version

    def record(self, version: Version | None = None) -> dict[str, Any]:
        """Return the public record, with the figures of a version, by default of the newest that is stored."""
        current = version or self.current
        return {
            "name": self.name,
            "state": self.state if version is None else version.state,
            "version": current.number if current else 0,
            "versions": [number for number, version in self.versions.items() if version.stored],
            "source": self.source,
            "options": self.options,
            "pinned": self.pinned,
            "created": self.created,
            "idle_s": self.idle_s,
            "facts": current.facts if current else None,
            "bytes_by_rank": current.bytes_by_rank if current else None,
            "columns": current.columns if current else [],
            "error": self.error,
        }

    def document(self) -> dict[str, Any]:
        """Return what the history keeps."""
        names = ("id", "name", "source", "options", "newest", "pinned", "created", "idle_s", "error")
        kept = [version.document() for version in self.versions.values()]
        return {**{name: getattr(self, name) for name in names}, "versions": kept}

    @classmethod
    def of(cls, document: dict[str, Any]) -> Graph:
        """Return the graph of a document; versions that were ready are loading until they are open again."""
        versions = [Version(**{"id": str(each["number"]), **each}) for each in document.pop("versions")]
        document.setdefault("id", f"created {document['created']}")  # of a service without ids: the same at each start
        for version in versions:
            version.state = "failed" if version.state == "failed" else "loading"
        return cls(**document, versions={version.number: version for version in versions})
