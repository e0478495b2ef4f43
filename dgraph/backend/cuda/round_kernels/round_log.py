"""Log of a machine's rounds: figures, schedules, and records of its kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.memory.work_arrays import READ_ROUNDS
from dgraph.backend.cuda.round_kernels.gpu_snapshot import MachineParts
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.queue_record import NO_QUEUES, QueueRecord
from dgraph.backend.round_stats import RoundStats, Spent
from dgraph.program.analysis import hands_on_edges

NAMES = ("persistent", *SCHEDULES)
"""Names of schedules, by the number that kernels record."""


class RoundLog(MachineParts):
    """Part of a :class:`~dgraph.backend.cuda.round_kernels.machine.GpuMachine` that logs rounds."""

    def _begin_log(self) -> None:
        self._notes: list[RoundStats] = []
        self._unread_from: int | None = None
        self._loads: list[dict[str, np.ndarray]] = []
        self._ring_read = -1, -1
        self._queues, self._taken = QueueRecord(), NO_QUEUES

    def figures(self, first: int) -> np.ndarray:
        """Return figures of fused rounds from ``first`` on, the last ones if they exceed the ring.

        Returns:
            int64 (rounds, 3): frontier vertices, frontier edges, 1 for a pull.
        """
        return self._ring(first)[:, :3]

    def notes(self) -> list[RoundStats] | Callable[[], list[RoundStats]]:
        """Return schedules of all rounds since the last call, and edges by thread where they are counted.

        A function that returns them where they need no further reading.
        """
        if self._unread_from is not None:
            numbers, loads = self._ring(self._unread_from)[:, 3], self._loads
            self._loads, self._unread_from = [], None
            if not (loads or self._notes):
                return partial(_runs, numbers)
            self._notes += map(RoundStats, map(_schedule, numbers.tolist()), loads) if loads else _runs(numbers)
        taken, self._notes = self._notes, []
        return taken

    def spent(self) -> list[Spent]:
        """Return seconds by kernel so far, where they are measured."""
        return self.kernels.record.spent() if self.kernels.record and self.options.timed else []

    def schedule_counts(self) -> dict[str, int]:
        """Return counts of ``split``'s graph, of ``hierarchical``, and of the lists of ``edge`` under emit=fused."""
        if self.options["edge_emit"] == "fused" and hands_on_edges(self.traced):
            listed, distinct, longest, condensed = self.device.get(self.arrays.scratch1).view(np.uint64).tolist()
            return {"listed_edges": listed, "repeated_edges": listed - distinct, "longest_list": longest,
                    "condensed_lists": condensed}  # fmt: skip
        if self.options.schedule not in ("split", "hierarchical"):
            return {}
        mdt = self.kernels.split_degree
        if self.options.schedule == "hierarchical":
            return {"mdt": mdt}
        split, children = self.graph.split_vertices(mdt)
        return {"mdt": mdt, "split_vertices": split, "child_vertices": children}

    def tasks(self) -> QueueRecord:
        """Return the record of the queues of ``steal`` so far; empty unless loads are recorded."""
        return self._queues

    def schedules(self, first: int) -> list[str]:
        """Return the schedule of each fused round from ``first`` on."""
        return [_schedule(number) for number in self._ring(first)[:, 3].tolist()]

    def _walked(self) -> dict[str, np.ndarray]:
        """Return kernel → edges by thread of a round that ended; empty where they are not counted."""
        if self.kernels.record is None:
            return {}
        if self.options.record and self.options.schedule == "steal":
            self._record_queues()
        return self.kernels.record.round()

    def _record_queues(self) -> None:
        """Record what each queue's block took in a round; kernels count from the start of the run (``steal.cuh``)."""
        queues = self.kernels.grid("steal:push", fused=self.local.mirrors == 0)
        taken = self.device.get(self.arrays.scratch2[: 3 * queues]).astype(np.int64).reshape(-1, 3)[:, 1:]
        before, self._taken = self._taken if self._taken.size else np.zeros_like(taken), taken
        if (taken != before).any():
            self._queues.add(taken - before)

    def _ring(self, first: int) -> np.ndarray:
        end = self.round
        first = max(first, end - control.RING)
        if self._ring_read != (first, end):
            self._ring_read = first, end
            if end <= READ_ROUNDS <= control.RING:
                recent = self.all_words[self.arrays.ring_at :].reshape(READ_ROUNDS, control.FIGURES)
                self._ring_words = recent[first:end].copy()
                return self._ring_words
            rows, low = self.arrays.ring.reshape(control.RING, control.FIGURES), first % control.RING
            high = low + end - first
            parts = [rows[low:high]] + [rows[: high - control.RING]] * (high > control.RING)
            self._ring_words = np.concatenate([self.device.get(part) for part in parts])
        return self._ring_words

    def note(self, name: str, rounds: int) -> None:
        """Log the schedule of the last rounds."""
        self._notes.append(RoundStats(name, rounds=rounds))


def _runs(numbers: np.ndarray) -> list[RoundStats]:
    """Return statistics of consecutive rounds of one schedule, from the numbers that kernels recorded."""
    runs = ((number, sum(1 for _ in run)) for number, run in groupby(numbers.tolist()))
    return [RoundStats(_schedule(number), rounds=count) for number, count in runs]


def _schedule(number: int) -> str:
    """Return the name of a schedule from the number that a kernel recorded."""
    return "pull" if number == control.PULLED else NAMES[number]
