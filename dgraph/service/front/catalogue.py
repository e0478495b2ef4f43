"""Catalogue: named graphs with versions, which the ranks load, change, open again and drop.

A load or change is in the history before it is answered, and holds the turn of the ranks, as a job does; when the ranks
come up again, all versions are opened from their stores before the queue goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dgraph.service.front.graph_entries import Entries, GraphEntry, VersionEntry
from dgraph.service.front.history import History
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.rank_calls import RankCalls
from dgraph.service.front.service_log import fault, log
from dgraph.service.front.settings import Settings
from dgraph.service.front.store_folders import remove, remove_leftovers, set_aside
from dgraph.service.front.worker_threads import in_thread
from dgraph.service.supervisor.supervisor import RankError, RanksDied, Ticket

VERSIONS = 2
"""Versions of a graph that stay open besides those that a queued job names: the newest and the one before."""

SWEEP_S = 5.0
"""Seconds between two searches for unused graphs."""

DEATHS = 3
"""Deaths of the ranks during the load of one version after which it has failed, so that the service goes on."""


class Catalogue(Entries):
    """All graphs.

    Args:
        settings: folders.
        ranks: calls to the ranks.
        history: where the catalogue is kept.
        ready: called with a graph's name when one of its versions became ready or failed.
        forget: called with a graph's name and the versions that were dropped; None: all.
    """

    def __init__(
        self,
        settings: Settings,
        ranks: RankCalls,
        history: History,
        ready: Callable[[str], None],
        forget: Callable[[str, set[int] | None], None],
    ):
        super().__init__()
        self.settings, self.ranks, self.history = settings, ranks, history
        self.ready, self.forget = ready, forget
        self.tasks: set[asyncio.Task] = set()
        self.changing: dict[str, asyncio.Lock] = {}
        self.opening: asyncio.Task | None = None

    async def add(
        self,
        name: str,
        source: str,
        options: dict[str, Any],
        op: str,
        fields: dict[str, Any],
        idle_s: float | None = None,
    ) -> GraphEntry:
        """Begin the load of a new graph; it ends after ``idle_s`` seconds without use, if that is not None.

        Raises:
            Problem: 409 if the name is taken by a graph that did not fail; 507 if the state folder is full.
        """
        old = self.graphs.get(name)
        if old is not None and old.state != "failed":
            raise Problem(409, f"got the name {name!r}, which a graph of the catalogue has; delete it or give another")
        graph = GraphEntry(name, source, options, newest=old.newest if old else 0, idle_s=idle_s)
        self.graphs[name] = graph
        try:
            await self._begin(graph, graph.begin(op, fields))
        except Problem:
            if self.graphs.get(name) is graph:
                self._forget_graph(graph)
                if old is not None:
                    self.graphs[name] = old
                    self.history.note_graph(name, old.document())
            raise
        return graph

    async def replace(
        self, graph: GraphEntry, source: str, options: dict[str, Any], fields: dict[str, Any]
    ) -> VersionEntry:
        """Begin the load of a new version of a graph, from new data; return the version.

        Raises:
            Problem: 507 if the state folder is full.
        """
        before = graph.source, graph.options
        graph.source, graph.options = source, options
        version = graph.begin("table", fields)
        try:
            await self._begin(graph, version)
        except Problem:
            graph.source, graph.options = before
            raise
        return version

    async def change(self, graph: GraphEntry, fields: dict[str, Any]) -> tuple[VersionEntry, asyncio.Task]:
        """Begin a version that differs from the newest by a batch of edges; return it and the task that makes it.

        Raises:
            Problem: 507 if the state folder is full.
        """
        version = graph.begin("change", fields)
        return version, await self._begin(graph, version)

    async def pin(self, graph: GraphEntry, pinned: bool) -> None:
        """Pin a graph, or unpin it.

        Raises:
            Problem: 507 if the state folder is full; nothing has changed then.
        """
        before, graph.pinned = graph.pinned, pinned
        if not await self._keep(graph):
            graph.pinned = before
            self._note(graph)
            raise self.history.refusal()

    async def take_back(self, graph: GraphEntry, version: VersionEntry) -> None:
        """Forget a version that failed, once its error was reported; its number is free unless a later one exists."""
        graph.versions.pop(version.number, None)
        if graph.newest == version.number:
            graph.newest -= 1
        if graph.error is version.error:
            graph.error = None
        await self._keep(graph)

    def _note(self, graph: GraphEntry) -> None:
        if not graph.dropped:  # another may have its name
            self.history.note_graph(graph.name, graph.document())

    async def _keep(self, graph: GraphEntry) -> bool:
        """Write a graph to the history; return False if the disk refused it, which is then tried again."""
        self._note(graph)
        return await self.history.flush()

    async def _begin(self, graph: GraphEntry, version: VersionEntry) -> asyncio.Task:
        """Write a new version to the history, and begin to make it; return the task.

        Raises:
            Problem: 507; nothing of the version is kept.
        """
        if await self._keep(graph):
            return self._start(graph, version)
        version.state = "failed"
        await self.take_back(graph, version)
        raise self.history.refusal()

    def _start(self, graph: GraphEntry, version: VersionEntry) -> asyncio.Task:
        return self._task(self._make(graph, version))

    def _task(self, work: Any) -> asyncio.Task:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _make(self, graph: GraphEntry, version: VersionEntry) -> None:
        """Load or change a version; versions of one graph are made in order."""
        async with self.changing.setdefault(graph.id, asyncio.Lock()), self.ranks.turn:
            await self._ask(graph, version)

    async def _ask(self, graph: GraphEntry, version: VersionEntry) -> None:
        """Make the ranks load, change or open a version, and note the outcome; every attempt has one."""
        try:
            await self._asked(graph, version)
        except OSError as error:
            message = f"{error.filename or self.settings.state}: {error.strerror}; make room there, and load it again"
            self._failed(graph, version, "OutputError", self.ranks.plain(message))
        except Exception as error:
            fault("a graph failed by a fault of the front", graph=graph.name, version=version.number)
            self._failed(graph, version, "InternalError", f"a fault of the front: {type(error).__name__}; see the log")

    async def _asked(self, graph: GraphEntry, version: VersionEntry) -> None:
        if graph.dropped or version.state != "loading":
            return
        store = self.settings.store(graph.name, version.number)
        op, fields = ("open", {}) if version.stored else (version.op, dict(version.fields))
        base = version.number
        if op == "change":
            before = [v.number for v in graph.versions.values() if v.stored and v.number < version.number]
            if not before:
                return self._failed(graph, version, "UsageError", "the version that it changes does not exist")
            base, fields["new_version"] = before[-1], version.number
        if not version.stored:
            await in_thread(remove, store)
            store.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.ranks.up:
            return None  # asked for when they are
        graph.ticket = Ticket()
        try:
            reply = await self.ranks.call(
                op, ticket=graph.ticket, graph=graph.name, version=base, store=str(store), **fields
            )
        except RanksDied as died:
            version.deaths += 1
            if version.deaths < DEATHS:
                return None  # tried again when they are up
            detail = f"the ranks died {DEATHS} times while they loaded it: {died}; give a smaller graph or more ranks"
            return self._failed(graph, version, "RanksDied", detail)
        except RankError as error:
            return self._failed(graph, version, error.kind, error.message)
        finally:
            graph.ticket = None
        if graph.dropped:
            self._task(self._remove(graph.name, None))
            return
        version.stored = True
        version.facts, version.bytes_by_rank = reply.get("facts"), reply.get("bytes_by_rank")
        version.columns = list(reply.get("columns", ()))
        if version.facts and "notes" in version.facts:
            version.facts["notes"] = [self.ranks.plain(note) for note in version.facts["notes"]]
        graph.error = None
        if await self._keep(graph):  # a restart needs the data until then
            _forget_data(version)
        version.state = "ready"
        log("graph ready", graph=graph.name, version=version.number, op=op, bytes_by_rank=version.bytes_by_rank)
        if self._drop_old(graph):
            self._note(graph)
        self.ready(graph.name)

    def _failed(self, graph: GraphEntry, version: VersionEntry, kind: str, message: str) -> None:
        version.state = "failed"
        graph.error = version.error = {"kind": kind, "message": message}
        _forget_data(version)
        log("graph failed", graph=graph.name, version=version.number, kind=kind, error=message)
        if not graph.dropped:
            self._note(graph)
            self.ready(graph.name)

    def _drop_old(self, graph: GraphEntry) -> bool:
        """Drop versions that are neither among the newest nor named by a job; return True if there were some."""
        stored = [version for version in graph.versions.values() if version.stored]
        old = [version for version in stored[:-VERSIONS] if not version.jobs]
        for version in old:
            del graph.versions[version.number]
        failed = [n for n, other in graph.versions.items() if other.state == "failed" and n != graph.newest]
        for number in failed:
            del graph.versions[number]
        if old:
            self.forget(graph.name, {version.number for version in old})
        for version in old:
            self._task(self._remove(graph.name, version.number))
        return bool(old or failed)

    async def _remove(self, name: str, number: int | None) -> None:
        """Make the ranks drop a version, or all, and delete the stores.

        Its first step sends the request and frees the folder, so that a load of another graph of the name comes after.
        """
        graphs = self.settings.state / "graphs"
        fields = {"graph": name} if number is None else {"graph": name, "version": number}
        self.ranks.send("drop", **fields)
        await in_thread(remove, set_aside(graphs / name if number is None else graphs / name / str(number), graphs))

    def _forget_graph(self, graph: GraphEntry) -> None:
        """Take a graph out of the catalogue; its queued jobs fail."""
        graph.dropped = True
        del self.graphs[graph.name]
        self.changing.pop(graph.id, None)
        for version in graph.versions.values():
            _forget_data(version)
        self.forget(graph.name, None)
        self.history.note_graph(graph.name, None)
        self.ready(graph.name)

    async def drop(self, graph: GraphEntry) -> None:
        """Delete a graph, its stores and its results.

        Raises:
            Problem: 409 if it is pinned; 507 if the state folder is still full after it: it is deleted, and the history
                notes that when there is room.
        """
        if graph.pinned:
            raise Problem(409, f"{graph.name} is pinned; PATCH it with pinned false, then delete it")
        self._forget_graph(graph)
        if graph.ticket is not None:
            graph.ticket.cancel()
        self._task(self._remove(graph.name, None))
        log("graph deleted", graph=graph.name)
        if not await self.history.flush():
            raise self.history.refusal()

    async def end_idle(self) -> None:
        """Delete unused graphs, for ever."""
        while True:
            await asyncio.sleep(SWEEP_S)
            for graph in list(self.graphs.values()):
                if graph.dropped or not graph.is_idle():  # one may be used or deleted while another is dropped
                    continue
                log("graph is idle", graph=graph.name, idle_s=graph.idle_s)
                try:
                    await self.drop(graph)
                except Exception:
                    fault("an idle graph cannot be deleted", graph=graph.name)

    async def restore(self) -> None:
        """Read the catalogue of the last run of the service; graphs open when the ranks come up."""
        for document in await self.history.graphs():
            try:
                graph = GraphEntry.of(document)
            except (KeyError, TypeError, AttributeError):
                fault("a graph of the history is damaged, and is left out", document=str(document)[:200])
                continue
            self.graphs[graph.name] = graph
        paths = [version.fields.get("path") for graph in self.graphs.values() for version in graph.versions.values()]
        await in_thread(remove_leftovers, self.settings.state, [path for path in paths if path])
        self._task(self.end_idle())

    def ranks_changed(self, condition: str) -> None:
        """Take a change of the ranks' condition."""
        if condition == "up":
            if self.opening is None or self.opening.done():
                self.opening = self._task(self._open_all())
        elif condition == "down":
            for graph in self.graphs.values():
                for version in graph.versions.values():
                    if version.state == "ready":
                        version.state = "loading"

    async def _open_all(self) -> None:
        """Open or load every version that is not, in order; jobs wait meanwhile."""
        try:
            async with self.ranks.turn:
                for graph in list(self.graphs.values()):
                    for version in list(graph.versions.values()):
                        await self._ask(graph, version)
        except Exception:
            fault("graphs cannot be opened again")

    async def close(self) -> None:
        """End the tasks under way."""
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def _forget_data(version: VersionEntry) -> None:
    """Delete the data that the front received for a version."""
    if path := version.fields.get("path"):
        Path(path).unlink(missing_ok=True)
