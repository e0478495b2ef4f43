"""Catalogue: named graphs with versions, which the ranks load, change, open again and drop.

A load or change holds the turn of the ranks, as a job does; when the ranks come up again, all versions are opened from
their stores before the queue goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dgraph.service.front.graph_entries import Graph, Version
from dgraph.service.front.history import History
from dgraph.service.front.problem_documents import Problem, of_error
from dgraph.service.front.rank_calls import RankCalls
from dgraph.service.front.service_log import fault, log
from dgraph.service.front.settings import Settings
from dgraph.service.supervisor.supervisor import RankError, RanksDied, Ticket

VERSIONS = 2
"""Versions of a graph that stay open besides those that a queued job names: the newest and the one before."""

SWEEP_S = 5.0
"""Seconds between two looks for graphs that nobody uses."""

DEATHS = 3
"""Deaths of the ranks during the load of one version after which it has failed, so that the service goes on."""


class Catalogue:
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
        self.settings, self.ranks, self.history = settings, ranks, history
        self.ready, self.forget = ready, forget
        self.graphs: dict[str, Graph] = {}
        self.tasks: set[asyncio.Task] = set()
        self.changing: dict[str, asyncio.Lock] = {}
        self.opening: asyncio.Task | None = None

    def graph(self, name: str) -> Graph:
        """Return a graph.

        Raises:
            Problem: 404.
        """
        found = self.graphs.get(name)
        if found is None:
            known = ", ".join(sorted(self.graphs)[:20]) or "none"
            raise Problem(404, f"got the graph {name!r}, which is not in the catalogue; known are: {known}", "NotFound")
        found.used = time.time()
        return found

    def version(self, graph: Graph, number: int | None) -> Version | None:
        """Return a version, or the newest; None while the first load is under way.

        Raises:
            Problem: 404 for a version that does not exist, 422 if the graph failed to load.
        """
        if number is not None:
            found = graph.versions.get(number)
            if found is None or found.state == "failed":
                have = ", ".join(str(each) for each, one in graph.versions.items() if one.state != "failed")
                why = f"; it failed: {found.error['message']}" if found is not None and found.error else ""
                raise Problem(404, f"got version {number} of {graph.name}, which has {have or 'none'}{why}", "NotFound")
            return found
        if graph.current is None and graph.state == "failed":
            raise of_error(graph.error or {"kind": "InternalError", "message": f"{graph.name} failed to load"})
        return graph.current

    def settled(self, graph: Graph, number: int | None) -> Version | None:
        """Return the version on which a job that names ``number`` would run; None if a newer one is in the making.

        Raises:
            Problem: as of :meth:`version`.
        """
        found = self.version(graph, number)
        newer = number is None and any(each.state == "loading" for each in graph.versions.values())
        return None if newer else found

    def add(
        self,
        name: str,
        source: str,
        options: dict[str, Any],
        op: str,
        fields: dict[str, Any],
        idle_s: float | None = None,
    ) -> Graph:
        """Begin the load of a new graph; it ends after ``idle_s`` seconds without use, if that is not None.

        Raises:
            Problem: 409 if the name is taken by a graph that did not fail.
        """
        old = self.graphs.get(name)
        if old is not None and old.state != "failed":
            raise Problem(409, f"got the name {name!r}, which a graph of the catalogue has; delete it or give another")
        graph = Graph(name, source, options, newest=old.newest if old else 0, idle_s=idle_s)
        self.graphs[name] = graph
        self._start(graph, graph.begin(op, fields))
        return graph

    def replace(self, graph: Graph, source: str, options: dict[str, Any], op: str, fields: dict[str, Any]) -> Version:
        """Begin the load of a new version of a graph, from new data."""
        graph.source, graph.options = source, options
        version = graph.begin(op, fields)
        self._start(graph, version)
        return version

    def change(self, graph: Graph, fields: dict[str, Any]) -> tuple[Version, asyncio.Task]:
        """Begin a version that differs from the newest by a batch of edges; return it and the task that makes it."""
        version = graph.begin("change", fields)
        return version, self._start(graph, version)

    async def take_back(self, graph: Graph, version: Version) -> None:
        """Forget a version that failed, once its error was reported; its number is free unless a later one exists."""
        graph.versions.pop(version.number, None)
        if graph.newest == version.number:
            graph.newest -= 1
        if graph.error is version.error:
            graph.error = None
        if not graph.dropped:
            await self.history.keep_graph(graph.name, graph.document())

    def _start(self, graph: Graph, version: Version) -> asyncio.Task:
        return self._task(self._make(graph, version))

    def _task(self, work: Any) -> asyncio.Task:
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _make(self, graph: Graph, version: Version) -> None:
        """Load or change a version; versions of one graph are made in order."""
        async with self.changing.setdefault(graph.name, asyncio.Lock()):
            await self.history.keep_graph(graph.name, graph.document())
            async with self.ranks.turn:
                await self._ask(graph, version)

    async def _ask(self, graph: Graph, version: Version) -> None:
        """Make the ranks load, change or open a version, and note the outcome."""
        if graph.dropped or version.state != "loading":
            return
        store = self.settings.store(graph.name, version.number)
        op, fields = ("open", {}) if version.stored else (version.op, dict(version.fields))
        base = version.number
        if op == "change":
            before = [each.number for each in graph.versions.values() if each.stored and each.number < version.number]
            if not before:
                return self._failed(graph, version, "UsageError", "the version that it changes does not exist")
            base, fields["new_version"] = before[-1], version.number
        if not version.stored:
            await asyncio.to_thread(shutil.rmtree, store, True)
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
        version.state, version.stored = "ready", True
        version.facts, version.bytes_by_rank = reply.get("facts"), reply.get("bytes_by_rank")
        version.columns = list(reply.get("columns", ()))
        if version.facts and "notes" in version.facts:
            version.facts["notes"] = [self.ranks.plain(note) for note in version.facts["notes"]]
        graph.error = None
        if path := version.fields.get("path"):
            Path(path).unlink(missing_ok=True)
        log("graph ready", graph=graph.name, version=version.number, op=op, bytes_by_rank=version.bytes_by_rank)
        await self._drop_old(graph)
        await self.history.keep_graph(graph.name, graph.document())
        self.ready(graph.name)

    def _failed(self, graph: Graph, version: Version, kind: str, message: str) -> None:
        version.state = "failed"
        graph.error = version.error = {"kind": kind, "message": message}
        if path := version.fields.get("path"):
            Path(path).unlink(missing_ok=True)
        log("graph failed", graph=graph.name, version=version.number, kind=kind, error=message)
        if not graph.dropped:
            self._task(self.history.keep_graph(graph.name, graph.document()))
            self.ready(graph.name)

    async def _drop_old(self, graph: Graph) -> None:
        """Drop versions that are neither among the newest nor named by a job."""
        stored = [version for version in graph.versions.values() if version.stored]
        old = [version for version in stored[:-VERSIONS] if not version.jobs]
        for version in old:
            del graph.versions[version.number]
        for number in [n for n, each in graph.versions.items() if each.state == "failed" and n != graph.newest]:
            del graph.versions[number]
        if old:
            self.forget(graph.name, {version.number for version in old})
        for version in old:
            self._task(self._remove(graph.name, version.number))

    async def _remove(self, name: str, number: int | None) -> None:
        """Make the ranks drop a version, or all, and delete the stores."""
        fields = {"graph": name} if number is None else {"graph": name, "version": number}
        with contextlib.suppress(RanksDied, RankError):  # dead ranks hold nothing
            await self.ranks.call("drop", **fields)
        folder = self.settings.state / "graphs" / name
        if number is not None or name not in self.graphs:
            await asyncio.to_thread(shutil.rmtree, folder if number is None else folder / str(number), True)

    async def drop(self, graph: Graph) -> None:
        """Delete a graph, its stores and its results.

        Raises:
            Problem: 409 if it is pinned.
        """
        if graph.pinned:
            raise Problem(409, f"{graph.name} is pinned; PATCH it with pinned false, then delete it")
        graph.dropped = True
        del self.graphs[graph.name]
        self.changing.pop(graph.name, None)
        if graph.ticket is not None:
            graph.ticket.cancel()
        for version in graph.versions.values():
            if path := version.fields.get("path"):
                Path(path).unlink(missing_ok=True)
        self.forget(graph.name, None)
        await self.history.drop_graph(graph.name)
        self._task(self._remove(graph.name, None))
        self.ready(graph.name)
        log("graph deleted", graph=graph.name)

    async def end_idle(self) -> None:
        """Delete graphs that nobody uses, for ever."""
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
            graph = Graph.of(document)
            self.graphs[graph.name] = graph
        self._task(self.end_idle())

    def has(self, name: str, version: int, since: float) -> bool:
        """Return True if a version of a graph is there, and the graph has its name since before a time."""
        graph = self.graphs.get(name)
        return graph is not None and version in graph.versions and graph.created <= since

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
