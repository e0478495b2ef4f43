"""``ServiceParts``: the parts of one front, which the routes share."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path
from typing import Any

from fastapi import Request

from dgraph.service.front.catalogue import Catalogue
from dgraph.service.front.graph_entries import GRAPH_STATES
from dgraph.service.front.history import History
from dgraph.service.front.jobs.job_queue import JobQueue
from dgraph.service.front.metrics import Metrics
from dgraph.service.front.rank_calls import RankCalls
from dgraph.service.front.result_store import ResultStore
from dgraph.service.front.security import Doors, Principal
from dgraph.service.front.service_log import log
from dgraph.service.front.settings import Settings


class ServiceParts:
    """All parts, made together.

    Args:
        settings: options.
        ranks: ``supervisor.Ranks``, or an object with its methods.
    """

    def __init__(self, settings: Settings, ranks: Any):
        self.settings, self.supervisor = settings, ranks
        self.ranks = RankCalls(ranks, settings)
        self.metrics = Metrics()
        self.doors = Doors.of(settings)
        self.history = History(settings.state / "history.sqlite", settings.keep_jobs)
        self.results = ResultStore(settings, self.metrics, lambda job: self.ranks.send("release", job=job))
        self.queue = JobQueue(settings, self.ranks, self.history, self.results, self.metrics)
        self.catalogue = Catalogue(
            settings, self.ranks, self.history, self.queue.graph_changed, self.results.drop_graph
        )
        self.queue.catalogue = self.catalogue
        self.ending = asyncio.Event()
        self.drawing = asyncio.Lock()
        self.address = ""
        self._measure()

    def _measure(self) -> None:
        gauge, queue = self.metrics.gauge, self.queue
        gauge("dgraph_jobs_queued", "Jobs that wait", lambda: queue.queued)
        gauge("dgraph_jobs_running", "Jobs that run", lambda: len(queue.running))
        gauge("dgraph_ranks_up", "1 if all ranks are up", lambda: self.ranks.up)
        gauge("dgraph_ranks_restarts", "Restarts of the ranks", lambda: self.supervisor.restarts)
        gauge("dgraph_results_spooled_bytes", "Bytes of spooled results", lambda: self.results.bytes)
        gauge("dgraph_results_held", "Results that the ranks hold", lambda: len(self.results.on_ranks))
        self.metrics.memory(self._memory)
        graphs = self.catalogue.graphs
        self.metrics.by_state(
            "dgraph_graphs",
            "Graphs of the catalogue",
            GRAPH_STATES,
            lambda state: sum(graph.state == state for graph in graphs.values()),
        )

    def _memory(self) -> dict[str, dict[str, float]]:
        """Return the memory of the front, and the latest figures of the ranks, as metrics name them."""
        by_rank = self.ranks.memory[1] if self.ranks.memory is not None else []
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return {
            "dgraph_front_memory_bytes": {"": pages * resource.getpagesize()},
            "dgraph_rank_memory_bytes": {str(k): one["host_used"] for k, one in enumerate(by_rank)},
            "dgraph_rank_gpu_memory_bytes": {
                str(k): one["device_used"] for k, one in enumerate(by_rank) if one["device_total"]
            },
            "dgraph_rank_gpu_memory_total_bytes": {
                str(k): one["device_total"] for k, one in enumerate(by_rank) if one["device_total"]
            },
        }

    async def start(self) -> None:
        """Read the catalogue and the queue of the last run, and begin to serve the ranks."""
        await self.catalogue.restore()
        done = await self.history.finished(self.results.files())
        for document in done:
            more = document["_"]
            more["graph_id"] = more.get("graph_id") or self.catalogue.id_of(document["graph"], document["created"])
        self.results.restore(done, self.catalogue.has)
        await self.queue.restore()
        self.supervisor.on_change(self._changed)
        self.queue.start()
        if self.ranks.up:
            self._changed("up")

    def _changed(self, condition: str) -> None:
        log("ranks", condition=condition, restarts=self.supervisor.restarts)
        self.queue.ranks_changed(condition)
        self.catalogue.ranks_changed(condition)

    async def stop(self) -> None:
        """Drain: no new jobs, the running one ends or is cancelled, the history is written, the ranks end."""
        self.ranks.draining = True
        self.ending.set()
        for job in self.queue.jobs.values():
            for listener in job.listeners:
                listener.set()
        await self.queue.drain(self.settings.drain_s)
        await self.catalogue.close()
        await self.history.close()


def service_of(request: Request) -> ServiceParts:
    """Return the service of a request."""
    return request.app.state.service


def principal_of(request: Request) -> Principal:
    """Return the bearer of a request's token."""
    return request.scope["state"]["principal"]
