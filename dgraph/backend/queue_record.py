"""Record of the queues of schedule ``steal``: elements taken and stolen, by queue and by round [003, Table I]."""

from __future__ import annotations

from typing import Any

import numpy as np

KEPT = 256
"""Rounds whose statistics are kept, from the first one on."""


NO_QUEUES = np.zeros((0, 2), np.int64)
"""Counts of no queues: every machine of a call has them."""


class QueueRecord:
    """Elements that the queues' blocks took, and stolen ones among them, over the rounds of one rank.

    Attributes:
        counts: int64 (queues, 2): taken, stolen.
        rounds: statistics of the first rounds.
    """

    def __init__(self) -> None:
        self.counts = NO_QUEUES
        self.rounds: list[dict[str, float]] = []

    def add(self, counts: np.ndarray) -> None:
        """Add one round, as ``counts`` has it."""
        self._sum(counts)
        self._keep([statistics(counts)])

    def join(self, other: QueueRecord) -> None:
        """Add the rounds of another program."""
        if other.rounds:
            self._sum(other.counts)
            self._keep(other.rounds)

    def facts(self) -> dict[str, Any]:
        """Return ``ranks[i].queues`` of ``schema.json``; empty if no queue was used."""
        if not self.counts.size:
            return {}
        taken, stolen = self.counts.T.tolist()
        return {
            "queues": len(taken),
            **statistics(self.counts),
            "taken": taken,
            "thefts": stolen,
            "rounds": self.rounds,
        }

    def _sum(self, counts: np.ndarray) -> None:
        """Add counts; programs may have grids of different sizes."""
        wider, narrower = sorted((self.counts, counts), key=len, reverse=True)
        self.counts = wider.copy()
        self.counts[: len(narrower)] += narrower

    def _keep(self, rounds: list[dict[str, float]]) -> None:
        self.rounds += rounds[: KEPT - len(self.rounds)]


def statistics(counts: np.ndarray) -> dict[str, float]:
    """Return ``tasks`` and ``stolen`` in all, and ``most``, ``least``, ``mean`` and ``deviation`` of tasks by queue."""
    taken, stolen = counts.T
    return {
        "tasks": int(taken.sum()),
        "stolen": int(stolen.sum()),
        "most": int(taken.max()),
        "least": int(taken.min()),
        "mean": float(taken.mean()),
        "deviation": float(taken.std()),
    }
