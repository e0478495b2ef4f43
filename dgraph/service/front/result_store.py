"""Results: rows that the ranks hold or that lie in spooled Arrow files, and the cache over them.

Rule of eviction: the least recently used result goes first, beyond ``spool_bytes`` of files, beyond a token's
``spool_bytes_each``, and the oldest beyond ``held_results`` on the ranks. A job whose result is gone answers 410.
Files outlive the service: :meth:`ResultStore.restore` takes those that the history knows, by their jobs' age.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dgraph.service.front.jobs.job import Job
from dgraph.service.front.metrics import Metrics
from dgraph.service.front.settings import Settings

EVICTED = "the result was evicted to make room for others"
RESTARTED = "the ranks that held the result restarted"
DELETED = "the graph of the result, or its version, was deleted"
UNKNOWN = "the result is not kept any more: it was evicted, or the service ended while the ranks held it"

GONE = 10_000
"""Jobs for which the reason is kept why their result is gone."""

ALIASES = 1000
"""Jobs of one cached result whose ``/result`` works; of the oldest of more, it answers 410."""

Key = tuple[str, int, str]
"""Graph, version, and algorithm with its parameters."""


class Stored:
    """Result of a run.

    Attributes:
        job: id of the job that made it; the ranks know it by this id.
        path: its Arrow file; None: the ranks hold it.
        top: first rows by column, and how many were asked for.
        rows, columns, summary, rounds, converged, limit: of the run.
        size: bytes of the file.
    """

    __slots__ = (
        "aliases", "columns", "converged", "job", "key", "limit", "lookup", "owner", "path", "rounds", "rows", "size",
        "spooling", "summary", "top", "top_k",
    )  # fmt: skip

    def __init__(self, job: str, owner: str, key: Key | None, path: Path | None, reply: dict[str, Any], top: int):
        self.job, self.owner, self.key, self.path = job, owner, key, path
        self.top, self.top_k = reply.get("top") or {}, top
        self.rows, self.columns = reply.get("rows") or 0, list(reply.get("columns") or ())
        self.summary = reply.get("summary") or {}
        self.rounds, self.converged, self.limit = reply.get("rounds"), reply.get("converged"), reply.get("limit")
        self.size = path.stat().st_size if path is not None and path.exists() else 0
        self.aliases = [job]
        self.lookup: Any = None
        self.spooling: Any = None

    def answers(self, top: int) -> bool:
        """Return True if it answers a job with this ``top``; 0 stands for any rows."""
        return top <= self.top_k or self.path is not None or self.rows <= self.top_k

    def first(self, top: int) -> dict[str, list]:
        """Return the first rows by column."""
        return {name: values[:top] for name, values in self.top.items()}


class ResultStore:
    """All results of the service.

    Args:
        settings: limits.
        metrics: counters.
        release: function that makes the ranks free the held result of a job.
    """

    def __init__(self, settings: Settings, metrics: Metrics, release: Callable[[str], None]):
        self.settings, self.metrics, self._release = settings, metrics, release
        self.by_job: dict[str, Stored] = {}
        self.cache: dict[Key, Stored] = {}
        self.spooled: OrderedDict[str, Stored] = OrderedDict()
        self.on_ranks: OrderedDict[str, Stored] = OrderedDict()
        self.bytes = 0
        self.bytes_of: dict[str, int] = {}
        self.gone: OrderedDict[str, str] = OrderedDict()

    def path(self, job: str) -> Path:
        """Return the file of a job's result."""
        return self.settings.spool / f"{job}.arrow"

    def cached(self, key: Key, top: int) -> Stored | None:
        """Return the result of an equal job; None if there is none that can answer."""
        stored = self.cache.get(key)
        if stored is None or not stored.answers(top):
            return None
        self.touch(stored)
        return stored

    def add(self, stored: Stored) -> None:
        """Take a new result."""
        self.by_job[stored.job] = stored
        if stored.key is not None:
            self.cache[stored.key] = stored
        self.on_ranks[stored.job] = stored
        if stored.path is not None:
            self._spool(stored)
        self._evict()

    def alias(self, job: str, stored: Stored) -> None:
        """Let a job answer with another's result."""
        self.by_job[job] = stored
        stored.aliases.append(job)
        if len(stored.aliases) > ALIASES:
            self.by_job.pop(stored.aliases.pop(0), None)

    def restore(self, documents: list[dict[str, Any]], current: Callable[[str, str, int | None], bool]) -> None:
        """Take the files of the last run of the service; delete those that belong to no job.

        Args:
            documents: of the history's jobs whose results are these files.
            current: function of a job's graph, its id and version; True if the graph is still there.
        """
        for document in documents:
            more, id = document["_"], document["id"]
            if more["result"] == id:
                graph, version = document["graph"], document["version"]
                same = more["key"] and current(graph, more["graph_id"], version)
                key = (graph, version, more["key"]) if same else None
                stored = Stored(id, more["owner"], key, self.path(id), document, 0)
                self.by_job[id] = stored
                if key is not None:
                    self.cache[key] = stored
                self._spool(stored)
        for document in documents:
            result = self.by_job.get(document["_"]["result"])
            if result is not None and document["id"] != result.job:
                self.alias(document["id"], result)
        for path in self.settings.spool.iterdir():
            if path.name.startswith(".") or path.stem not in self.spooled:
                path.unlink(missing_ok=True)
        self._evict()

    def files(self) -> set[str]:
        """Return the ids of the jobs whose results are files now."""
        return {path.stem for path in self.settings.spool.glob("[!.]*.arrow")}

    def why_gone(self, job: str) -> str:
        """Return why a job's result is gone."""
        return self.gone.get(job, UNKNOWN)

    def spool(self, stored: Stored, path: Path) -> None:
        """Note that a held result was written to a file."""
        if stored.job not in self.on_ranks:
            path.unlink(missing_ok=True)
            return
        stored.path, stored.size = path, path.stat().st_size
        self._spool(stored)
        self._evict()

    def _spool(self, stored: Stored) -> None:
        self.spooled[stored.job] = stored
        self.bytes += stored.size
        self.bytes_of[stored.owner] = self.bytes_of.get(stored.owner, 0) + stored.size

    def before(self, job: Job) -> str | None:
        """Return the job of a held result of an older version, from which this run may start; None if there is none."""
        if job.key is None or not job.version:
            return None
        for version in range(job.version - 1, 0, -1):
            stored = self.cache.get((job.graph, version, job.key))
            if stored is not None:
                return stored.job if stored.job in self.on_ranks else None
        return None

    def touch(self, stored: Stored) -> None:
        """Note that a result was used."""
        if stored.job in self.spooled:
            self.spooled.move_to_end(stored.job)

    def _evict(self) -> None:
        limit = self.settings.spool_bytes_each
        for owner in [owner for owner, size in self.bytes_of.items() if size > limit]:
            for stored in [stored for stored in self.spooled.values() if stored.owner == owner][:-1]:
                if self.bytes_of.get(owner, 0) <= limit:
                    break
                self.drop(stored)
        while self.bytes > self.settings.spool_bytes and len(self.spooled) > 1:
            self.drop(next(iter(self.spooled.values())))
        while len(self.on_ranks) > self.settings.held_results:
            _, oldest = self.on_ranks.popitem(last=False)  # the ranks have dropped it by the same rule
            if oldest.path is None:
                self.drop(oldest)

    def drop(self, stored: Stored, why: str = EVICTED) -> None:
        """Forget a result, its file and its place on the ranks."""
        for alias in stored.aliases:
            self.by_job.pop(alias, None)
            self.gone[alias] = why
        while len(self.gone) > GONE:
            self.gone.popitem(last=False)
        if stored.key is not None and self.cache.get(stored.key) is stored:
            del self.cache[stored.key]
        if self.on_ranks.pop(stored.job, None) is not None:
            self._release(stored.job)
        if self.spooled.pop(stored.job, None) is not None and stored.path is not None:
            stored.path.unlink(missing_ok=True)
            self.bytes -= stored.size
            self.bytes_of[stored.owner] -= stored.size
            if not self.bytes_of[stored.owner]:
                del self.bytes_of[stored.owner]
        stored.lookup = None
        self.metrics.evicted.inc()

    def forget(self, job: str) -> None:
        """Forget the result of a job that was removed; its rows stay as long as another job answers with them."""
        stored = self.by_job.pop(job, None)
        if stored is not None:
            stored.aliases.remove(job)
            if not stored.aliases:
                self.drop(stored, DELETED)
        self.gone.pop(job, None)

    def ranks_died(self) -> None:
        """Forget the results that the ranks held."""
        for stored in list(self.on_ranks.values()):
            del self.on_ranks[stored.job]
            if stored.path is None:
                self.drop(stored, RESTARTED)

    def drop_graph(self, name: str, versions: set[int] | None = None) -> None:
        """Forget the cache of a graph, or of some of its versions; files go."""
        for key, stored in list(self.cache.items()):
            if key[0] == name and (versions is None or key[1] in versions):
                self.drop(stored, DELETED)
