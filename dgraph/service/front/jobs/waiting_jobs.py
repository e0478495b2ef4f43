"""``WaitingJobs``: jobs by priority, of equal ones the oldest first, and apart those whose graph is not ready."""

from __future__ import annotations

import heapq

from dgraph.service.front.jobs.job import Job
from dgraph.service.messages import SHARING

Entry = tuple[int, str, Job]
"""A job after its priority, negated, and its id, which is larger the later the job came."""


class WaitingJobs:
    """Heap of jobs; one that has ended meanwhile is left out when its turn comes.

    Attributes:
        parked: name of a graph → jobs that wait for it.
    """

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self.parked: dict[str, list[Job]] = {}

    def put(self, job: Job) -> None:
        """Take a job, or take it back: it has the turn that it had."""
        heapq.heappush(self._heap, (-job.priority, job.id, job))

    def take(self) -> Job | None:
        """Remove the best job, and return it; None if there is none."""
        while self._heap:
            job = heapq.heappop(self._heap)[2]
            if job.state == "queued":
                return job
        return None

    def take_alike(self, first: Job, most: int) -> list[Job]:
        """Remove the best jobs that can share a pass with ``first``, one fewer than ``most``, and return them."""
        kind = shape(first)
        alike = (entry for entry in self._heap if entry[2].state == "queued" and shape(entry[2]) == kind)
        best = heapq.nsmallest(most - 1, alike)
        if best:
            ids = {job.id for *_, job in best}
            self._heap = [entry for entry in self._heap if entry[2].id not in ids]
            heapq.heapify(self._heap)
        return [job for *_, job in best]

    def park(self, job: Job) -> None:
        """Let a job wait for its graph."""
        self.parked.setdefault(job.graph, []).append(job)

    def unpark(self, graph: str) -> None:
        """Give the jobs that wait for a graph their turn."""
        for job in self.parked.pop(graph, ()):
            self.put(job)


def shape(job: Job) -> tuple | None:
    """Return what jobs that share a pass have in common; None for a job that shares none."""
    if job.algorithm not in SHARING or job.mode not in ("stream", "stats") or job.extra:
        return None
    return job.graph, job.algorithm, {name: value for name, value in job.parameters.items() if name != "source"}
