"""Memory guard: a run that cannot fit is refused with the figures, before it starts.

The ranks estimate each kind of run once for a graph's version; memory that is available is asked again after a while.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from dgraph.service.front.jobs.job import Job
from dgraph.service.front.problem_documents import of_error
from dgraph.service.front.rank_calls import RankCalls
from dgraph.service.supervisor.supervisor import RankError

FRESH_S = 10.0
"""Seconds for which an estimate is used again."""

KEPT = 1000
"""Estimates that are kept."""

Kind = tuple[str, int, str, str]


class MemoryGuard:
    """Estimates by graph, version, algorithm and parameters other than vertices."""

    def __init__(self, ranks: RankCalls):
        self.ranks = ranks
        self.estimates: OrderedDict[Kind, tuple[float, dict[str, Any]]] = OrderedDict()

    @staticmethod
    def _kind_of_job(job: Job, version: int) -> Kind:
        rest = sorted((name, str(value)) for name, value in job.parameters.items() if name != "source")
        return job.graph_id, version, job.algorithm, str(rest)

    def refuse(self, job: Job, version: int) -> None:
        """Refuse a job by known sizes, without a request to the ranks.

        Raises:
            Problem: 507 with the figures.
        """
        entry = self.estimates.get(self._kind_of_job(job, version))
        if entry is not None and time.monotonic() - entry[0] < FRESH_S and not entry[1]["fits"]:
            raise of_error(_error(job, entry[1]))

    async def refusal(self, job: Job, version: int) -> dict[str, Any] | None:
        """Return the error of a job that cannot fit; None if it can.

        Raises:
            RanksDied: they died before they answered.
        """
        kind = self._kind_of_job(job, version)
        entry = self.estimates.get(kind)
        if entry is None or time.monotonic() - entry[0] > FRESH_S:
            fields = {"algorithm": job.algorithm, "parameters": job.parameters}
            try:
                estimate = await self.ranks.call("estimate", graph=job.graph, version=version, **fields)
            except RankError as error:
                return {"kind": error.kind, "message": error.message}
            entry = self.estimates[kind] = time.monotonic(), estimate
            self.estimates.move_to_end(kind)
            while len(self.estimates) > KEPT:
                self.estimates.popitem(last=False)
        return None if entry[1]["fits"] else _error(job, entry[1])


def _error(job: Job, estimate: dict[str, Any]) -> dict[str, Any]:
    needed, available = estimate["bytes_by_rank"], estimate["available_by_rank"]
    least = min(size for size in available if size is not None)
    return {
        "kind": "OutOfMemory",
        "message": f"{job.algorithm} on {job.graph} needs up to {max(needed):,} bytes on a rank, but as few as "
        f"{least:,} are available; delete a graph, or start the service with more ranks",
        "bytes_by_rank": needed,
        "available_by_rank": available,
    }
