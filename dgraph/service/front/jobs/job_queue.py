"""``JobQueue``: jobs by priority, one pass at a time on the ranks, with limits, deadlines, cancellation and the cache.

``submit`` takes a job, ``_serve`` runs them. A job whose graph is not ready is parked until it is.
Jobs that differ only in their sources share a pass.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from typing import Any

from dgraph.algorithms.many_sources.passes.pass_limits import most_together
from dgraph.service.front.catalogue import Catalogue
from dgraph.service.front.graph_entries import GraphEntry, VersionEntry
from dgraph.service.front.history import History
from dgraph.service.front.jobs.job import ENDED, Job, check_record, restored
from dgraph.service.front.jobs.memory_guard import MemoryGuard
from dgraph.service.front.jobs.waiting_jobs import WaitingJobs, shape
from dgraph.service.front.metrics import Metrics
from dgraph.service.front.problem_documents import Problem
from dgraph.service.front.rank_calls import RankCalls
from dgraph.service.front.result_store import ResultStore, Stored
from dgraph.service.front.security import Principal
from dgraph.service.front.service_log import fault, log
from dgraph.service.front.settings import Settings
from dgraph.service.supervisor.supervisor import RankError, RanksDied, Ticket

RECENT = 500
"""Ended jobs whose events stay in memory; the records of older ones are read from the history."""

SERVICE_ENDED: dict[str, Any] = {
    "kind": "Cancelled",
    "message": "the service ended before the job; submit it again",
}
UNWRITTEN: dict[str, Any] = {"kind": "OutputError", "message": "the state folder is full, so the job was refused"}
SELECTED = "; the graph of this run is the selection of `where`"


class JobQueue:
    """Queue of all jobs.

    Args:
        settings: limits.
        ranks: calls to the ranks.
        history: where records go.
        results: where results go.
        metrics: counters.
    """

    def __init__(self, settings: Settings, ranks: RankCalls, history: History, results: ResultStore, metrics: Metrics):
        self.settings, self.ranks, self.history = settings, ranks, history
        self.results, self.metrics = results, metrics
        self.catalogue: Catalogue = None  # type: ignore[assignment]  # the catalogue needs ``graph_changed``
        self.guard = MemoryGuard(ranks)
        self.waiting = WaitingJobs()
        self.jobs: dict[str, Job] = {}
        self.ended: deque[str] = deque()
        self.removed: dict[str, str] = {}
        self.queued = 0
        self.running: list[Job] = []
        self.wake = asyncio.Event()
        self.server: asyncio.Task | None = None

    def start(self) -> None:
        """Begin to run jobs."""
        self.server = asyncio.ensure_future(self._serve())

    def submit(self, job: Job, again: bool = False) -> None:
        """Take a job; one whose result is known ends at once. ``again``: the last run of the service took it.

        Raises:
            Problem: 429 if the queue, or the owner's share of it, is full; 404 or 422 as of ``Catalogue.version``; 422
                if its record could not be written.
        """
        stored = None
        if not again:
            graph = self.catalogue.graph(job.graph)
            version, job.graph_id = self.catalogue.settled(graph, job.version), graph.id
            if job.version is not None and version is not None:
                job.version_id = version.id
            stored = None if version is None else self._known(job, version.number)
            if stored is None:
                self._check_room(job.owner)
                if version is not None:
                    self.guard.refuse(job, version.number)
            elif version is not None:
                job.version, job.version_id = version.number, version.id
            check_record(job)
        self.jobs[job.id] = job
        self.queued += 1
        job.owner.queued += 1
        for used in self._used(job):
            used.jobs += 1
        if job.deadline is not None:
            left = max(job.deadline - time.time(), 0)
            job.timer = asyncio.get_running_loop().call_later(left, self._too_late, job)
        job.event("state", {"state": "queued"})
        self.history.note(job)
        if stored is not None:  # the ranks, which may be busy, are not needed
            return self.answer(job, stored)
        self.waiting.put(job)
        self.wake.set()

    def _known(self, job: Job, version: int) -> Stored | None:
        """Return the result of an equal job on a version; None if there is none."""
        return None if job.key is None else self.results.cached((job.graph, version, job.key), job.top)

    def _check_room(self, owner: Principal) -> None:
        for count, limit, of in (
            (self.queued, self.settings.queue, ""),
            (owner.queued, self.settings.queue_each, " of this token"),
        ):
            if count >= limit:
                detail = f"{count} jobs{of} are queued, which is the limit; submit it again later"
                raise Problem(429, detail, headers={"Retry-After": "1"})

    def cancel(self, job: Job) -> None:
        """Cancel a job: at once if it is queued, within one round if it runs; no effect if it has ended."""
        if job.state == "queued":
            self._end(job, "cancelled")
        elif job.state == "running":
            job.cancelling = True
            if job.ticket is not None:
                job.ticket.cancel()

    def withdraw(self, job: Job) -> None:
        """End a job that could not be written to the history, and whose submission is refused."""
        if job.state == "queued":
            self._end(job, "cancelled", UNWRITTEN)
        self.cancel(job)

    async def forget(self, id: str, state: str) -> None:
        """Delete the record of a job that has ended in a state, and its rows.

        Raises:
            Problem: 507 as of the history.
        """
        self.removed[id] = state
        while len(self.removed) > RECENT:
            del self.removed[next(iter(self.removed))]
        self.jobs.pop(id, None)
        with contextlib.suppress(ValueError):
            self.ended.remove(id)
        self.results.forget(id)
        await self.history.forget(id)

    def _too_late(self, job: Job) -> None:
        error = {"kind": "TimedOut", "message": f"the job did not end within its {job.timeout_s:g} s; raise timeout_s"}
        if job.state == "queued":
            self._end(job, "failed", error)
        elif job.state == "running" and job.ticket is not None:
            job.error = error
            job.ticket.cancel()

    def graph_changed(self, name: str) -> None:
        """Queue the jobs that waited for a graph; those whose graph was deleted fail."""
        graph = self.catalogue.graphs.get(name)
        for job in [job for job in self.jobs.values() if job.graph == name and job.state == "queued"]:
            if graph is None or graph.id != job.graph_id:
                self._chosen(job)
        self.waiting.unpark(name)
        self.wake.set()

    def ranks_changed(self, condition: str) -> None:
        """Take a change of the ranks' condition."""
        if condition == "down":
            self.results.ranks_died()
        self.wake.set()

    async def _serve(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            while self.ranks.up and not self.ranks.draining and (job := self.waiting.take()) is not None:
                try:
                    await self._turn(job)
                except Exception as error:
                    fault("a job failed by a fault of the front", job=job.id)
                    for unfinished in [job, *self.running]:
                        if unfinished.state not in ENDED:
                            message = f"a fault of the front: {type(error).__name__}; see the log"
                            self._end(unfinished, "failed", {"kind": "InternalError", "message": message})
                    self.running = []

    async def _turn(self, first: Job) -> None:
        """Run the best job once the ranks are free; a better one may have arrived meanwhile."""
        if self.ranks.turn.locked():
            async with self.ranks.turn:
                self.waiting.put(first)
                job = self.waiting.take()
                if job is not None:
                    await self._run(job)
            return
        async with self.ranks.turn:
            await self._run(first)

    async def _run(self, first: Job) -> None:
        """Run a job, and in the same pass those that wait and differ only in their sources."""
        jobs = [first] if await self._ready(first) else []
        if jobs and shape(first) is not None and self.ranks.shares and self.results.before(first) is None:
            for job in self.waiting.take_alike(first, self._most_together(first)):
                if await self._ready(job):
                    if job.version == first.version and self.results.before(job) is None:
                        jobs.append(job)
                    else:
                        self.waiting.put(job)
        self.running = [job for job in jobs if job.state == "queued"]
        if len(self.running) == 1:
            await self._call(self.running[0])
        else:
            await asyncio.gather(*map(self._call, self.running))
        self.running = []

    def _most_together(self, job: Job) -> int:
        version = self._version(job)
        return most_together((version.facts or {}).get("n", 0)) if version is not None else 1

    async def _ready(self, job: Job) -> bool:
        """Return True if a job can start now; if not, it has ended, or waits for its graph or the ranks."""
        if self.ranks.draining or not self.ranks.up:
            self.waiting.put(job)
            return False
        version = self._chosen(job)
        if version is None:
            return False
        if not job.version_id:
            job.version, job.version_id = version.number, version.id
            version.jobs += 1
        if (stored := self._known(job, version.number)) is not None:
            self.answer(job, stored)
            return False
        try:
            refusal = await self.guard.refusal(job, version.number)
        except RanksDied:  # it was not sent yet: it stays queued
            self.waiting.put(job)
            return False
        if job.state == "queued" and refusal is not None:
            self._end(job, "failed", refusal)
        return job.state == "queued"

    def _chosen(self, job: Job) -> VersionEntry | None:
        """Return the version of a job; None if it waits for that, or has failed because that failed or was deleted."""
        try:
            version = self.catalogue.of_job(job)
        except Problem as problem:
            self._end(job, "failed", {"kind": problem.kind or "NotFound", "message": problem.detail})
            return None
        if version is None or version.state != "ready":
            self.waiting.park(job)
            return None
        return version

    async def _call(self, job: Job) -> None:
        """Run a job on the ranks."""
        key = None if job.key is None or job.version is None else (job.graph, job.version, job.key)
        rows = job.mode == "stream"
        spool = self.results.path(job.id) if rows and not job.top else None
        left = None if job.deadline is None else max(job.deadline - time.time(), 0.001)
        job.ticket = Ticket()
        self._leave_queue(job)
        job.enter("running")
        self.history.note(job)
        self.metrics.waited.observe(job.started - job.created if job.started else 0)
        try:
            reply = await self.ranks.call(
                "run",
                ticket=job.ticket,
                on_event=job.progress,
                job=job.id,
                graph=job.graph,
                version=job.version,
                algorithm=job.algorithm,
                parameters=job.parameters,
                mode=job.mode,
                top=job.top if rows else 0,
                keep=rows,
                spool=None if spool is None else str(spool),
                column=job.column,
                write=job.target,
                timeout_s=left,
                previous=self.results.before(job),
                **job.extra,
            )
        except (RanksDied, RankError) as failure:
            if job.cancelling:
                return self._cancelled(job, spool)
            error = job.error or _explained(job, failure)
            return self._failed(job, spool, "cancelled" if error["kind"] == "Cancelled" else "failed", error)
        for name in ("rows", "summary", "seconds", "rounds", "converged", "limit", "columns", "report"):
            setattr(job, name, reply.get(name))
        job.round = job.rounds or job.round
        if not self.catalogue.has(job.graph, job.graph_id, job.version):
            key = None  # another graph may have the name now
        stored = Stored(job.id, job.owner.name, key, spool, reply, job.top)
        if job.cancelling:  # it ended before the cancellation reached it
            if rows:
                self.ranks.send("release", job=job.id)
            return self._cancelled(job, spool)
        if job.mode == "mutate" and (kept := self._version(job)) is not None and job.column not in kept.columns:
            kept.columns.append(job.column or "")
        job.result = stored
        if rows:
            self.results.add(stored)
        self._end(job, "done")

    def _failed(self, job: Job, spool: Any, state: str, error: dict[str, Any] | None) -> None:
        if spool is not None:
            spool.unlink(missing_ok=True)
        self._end(job, state, error)

    def _cancelled(self, job: Job, spool: Any) -> None:
        self._failed(job, spool, "cancelled", SERVICE_ENDED if self.ranks.draining else None)

    def answer(self, job: Job, stored: Stored) -> None:
        """End a job with the result of an equal one."""
        job.cached, job.result = True, stored
        job.rows, job.summary, job.seconds, job.columns = stored.rows, stored.summary, 0.0, stored.columns
        job.rounds, job.converged, job.limit = stored.rounds, stored.converged, stored.limit
        self.results.alias(job.id, stored)
        self.metrics.cached.inc()
        self._end(job, "done")

    def _leave_queue(self, job: Job) -> None:
        if job.state == "queued":
            self.queued -= 1
            job.owner.queued -= 1

    def _used(self, job: Job) -> list[GraphEntry | VersionEntry]:
        """Return the graph and the version of a job, which count it."""
        return [entry for entry in (self._graph(job), self._version(job)) if entry is not None]

    def _graph(self, job: Job) -> GraphEntry | None:
        """Return the graph of a job; None if it was deleted."""
        graph = self.catalogue.graphs.get(job.graph)
        return graph if graph is not None and graph.id == job.graph_id else None

    def _version(self, job: Job) -> VersionEntry | None:
        """Return the version that was chosen for a job; None if there is none (any more)."""
        graph = self._graph(job)
        if graph is None or job.version is None:
            return None
        version = graph.versions.get(job.version)
        return version if version is not None and version.id == job.version_id else None

    def _end(self, job: Job, state: str, error: dict[str, Any] | None = None) -> None:
        self._leave_queue(job)
        for used in self._used(job):
            used.jobs -= 1
        job.error = error
        job.enter(state)
        self.history.note(job)
        self.ended.append(job.id)
        while len(self.ended) > RECENT:
            self.jobs.pop(self.ended.popleft(), None)
        asyncio.get_running_loop().call_later(0, self._account, job, state)  # its answer is sent before

    def _account(self, job: Job, state: str) -> None:
        """Count the end of a job, and log it."""
        self.metrics.job(job.algorithm, state)
        if job.seconds is not None and not job.cached:
            self.metrics.ran(job.algorithm, job.seconds)
        log("job ended", job=job.id, state=state, algorithm=job.algorithm, graph=job.graph, seconds=job.seconds)

    async def restore(self) -> None:
        """Queue the jobs of the last run of the service that were queued; note that those which ran have failed."""
        for document in await self.history.unfinished():
            try:
                job = restored(document)
            except (KeyError, TypeError):
                fault("a queued job of the history is damaged, and is left out", document=str(document)[:200])
                continue
            job.graph_id = job.graph_id or self.catalogue.id_of(job.graph, job.created)
            self.submit(job, again=True)
            if document["state"] == "running":
                message = "the service restarted while the job ran; submit it again"
                self._end(job, "failed", {"kind": "Restarted", "message": message})

    async def drain(self, seconds: float) -> None:
        """Let the running jobs end, and cancel them after some seconds; queued ones stay in the history."""
        running = list(self.running)
        ended = await asyncio.gather(*(job.ended(seconds) for job in running))
        for job, done in zip(running, ended, strict=True):
            if not done:
                self.cancel(job)
        await asyncio.gather(*(job.ended(2.0) for job in running))
        if self.server is not None:
            self.server.cancel()


def _explained(job: Job, error: RanksDied | RankError) -> dict[str, Any]:
    """Return the error of a job; if it selects vertices, with what that means for it."""
    if isinstance(error, RanksDied):
        return {"kind": "RanksDied", "message": f"{error}; the ranks restart: submit the job again"}
    selects = error.kind == "UsageError" and job.extra.get("where") and "unknown column" not in error.message
    return {"kind": error.kind, "message": error.message + SELECTED * bool(selects)}
