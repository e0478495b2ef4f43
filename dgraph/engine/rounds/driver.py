"""Base of the drivers of a program's rounds: the start, the agreement of ranks, and the boundary of a round.

``drivers.py`` has the loops over rounds, and :func:`~dgraph.engine.rounds.drivers.driver_of`, which chooses one.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from dgraph._support import interrupts
from dgraph.backend.interface import Machine
from dgraph.backend.wire import UnreadableMessage
from dgraph.comm import Comm
from dgraph.engine.rounds.return_state import Reached, State, over_ranks
from dgraph.errors import Cancelled, PeerLost
from dgraph.program import Program, Traced

COLD = 1 << 32
"""Part of the word beside the first totals, by a rank without a kept machine; see :func:`start_without`."""

CANCEL = 1 << 40
"""Request of a rank to end the run after this round. Requests are summed over ranks; those for checkpoints are
smaller."""

GRACE = 10.0
"""Seconds that a rank has to report its own error after another rank timed out waiting for it."""

HEAD = 4
"""Words of an agreement before the machine's integers: failures, vertices that wait, requests, ``beside``."""

NO_SUMMARY = np.zeros(0, np.int64)
"""Summary of a program without one."""

PendingTotals = Callable[[], tuple[np.ndarray, np.ndarray, int]]
"""Wait for a round's totals: integers, sums of floats, and the number of vertices that wait in buckets."""


class Checkpoints(Protocol):
    """Checkpoints of a run, as the round loop uses them; ``dgraph/engine/checkpoint`` implements it.

    Collective, except for ``began``, ``request`` and ``until``.
    """

    @property
    def began(self) -> str | None:
        """Class name of the first program of the resumed run; None where the run starts anew."""

    def completed(self, program: Program) -> State | None:
        """Return the state of a program that had ended before the checkpoint, else None."""

    def resume(self, program: Program, machine: Machine) -> None:
        """Restore a started machine from the checkpoint, if the checkpoint is of this program."""

    def request(self) -> int:
        """Return this rank's request for a checkpoint at the next boundary; requests are summed over ranks."""

    def until(self, round: int) -> int:
        """Return the number of rounds from ``round`` to the next boundary at which to check for requests."""

    def boundary(self, program: Program, machine: Machine, requests: int) -> None:
        """Write a checkpoint between two rounds if one is due; raise where the run is to end with it."""

    def finished(self, program: Program, state: State, machine: Machine) -> None:
        """Record that a program has ended with ``state`` on its machine."""


class RoundDriver(ABC):
    """Driver of one program's rounds on all ranks, and the end of a round that all drivers share.

    Args:
        machine: the backend's machine of the program.
        arcs: of the whole graph.
        record, progress: receivers of timings and of progress.
        checkpoints: None where the run writes none.

    Attributes:
        summary: as of ``State``.
    """

    summary: tuple[Reached, Reached] | None = None

    def __init__(
        self, machine: Machine, arcs: int, comm: Comm, record, progress, checkpoints: Checkpoints | None = None
    ):
        self.machine, self.comm, self.checkpoints = machine, comm, checkpoints
        self.every_edge = arcs if machine.traced.all else 0
        self.record, self.progress, self.watchdog = record, progress, comm.watchdog
        self.error: BaseException | None = None
        self.requests = self.beside = 0
        self.residual = machine.traced.program.residual if record.residuals else None

    def start(self, initial: Mapping[str, np.ndarray], beside: int = 0) -> None:
        """Run ``init`` on every rank and agree on the first totals, and on the sum of ``beside`` over ranks.

        If a rank came without a machine (``self.beside >= COLD``), the start has to be repeated.
        """
        with self.record("init"):
            self._attempt(lambda: self.machine.start(initial))
            self.beside = beside
            self._agree(starting=True)

    @abstractmethod
    def run(self, limit: int) -> None:
        """Run rounds until the program ends or round ``limit`` is next; collective."""

    def _request(self) -> int:
        """Return this rank's requests for the end of this round: a checkpoint, or the end of the run."""
        return (self.checkpoints.request() if self.checkpoints else 0) + CANCEL * self.progress.cancelled()

    def _boundary(self) -> None:
        """Handle interrupts, cancellation and checkpoints; every rank stands between the same two rounds."""
        interrupts.check()
        if self.machine.done:
            return
        if self.requests >= CANCEL:
            raise Cancelled(f"the run was cancelled after round {self.machine.round}; its answer is incomplete")
        if self.checkpoints:
            with self.record("checkpoint"), self.watchdog.paused():
                self.checkpoints.boundary(self.machine.traced.program, self.machine, self.requests)

    def _visited(self, figures: np.ndarray) -> np.ndarray:
        """Set the edges of rounds, of which a machine counts none where all of the graph are active."""
        if self.every_edge:
            figures[:, 1] = self.every_edge
        return figures

    def _fields(self, rounds: int) -> dict[str, list]:
        """Return further fields of the rounds that just ended; a residual is known of the last one alone."""
        if self.residual is None:
            return {}
        value = self.machine.globals()[self.residual]
        counts = self.machine.round >= self.machine.traced.program.residual_from and math.isfinite(value)
        return {"residual": [None] * (rounds - 1) + [value if counts else None]}

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """Do local work. A rank that failed goes on with empty messages, and raises where all ranks agree."""
        if self.error is None:
            try:
                return work()
            except PeerLost as error:
                self.error, self.comm.deadline = error, time.monotonic() + GRACE
            except Exception as error:
                self.error = error
        return None

    def _exchange(self, send: Callable[[], None]) -> None:
        """Exchange messages. A rank that cannot read one raises where all ranks agree, as :meth:`_attempt` does."""
        try:
            send()
        except UnreadableMessage as error:
            self.error = self.error or error

    def _agree(self, pending: PendingTotals | None = None, starting: bool = False) -> None:
        """Agree on the round's totals; open the next bucket where no vertex is active but some wait."""
        machine = self.machine
        try:
            integers, floats, waiting = (pending or self._begin_agreement())()
        except TimeoutError:
            assert self.error is not None
            raise self.error from None
        if self.beside >= COLD:
            return
        if starting and machine.starts_together:
            if self._attempt(machine.start_together):
                return
            integers, floats, waiting = self._begin_agreement()()
        if integers[0] == 0 and waiting:
            bucket = self.comm.allreduce(np.array([machine.lowest_bucket()], np.int64), "min")
            self._attempt(lambda: machine.open_bucket(int(bucket[0])))
            opened, _, _ = self._begin_agreement()()
            integers[:2] = opened[:2]
            self._opened()
        machine.apply_totals(integers, floats, starting)

    def _opened(self) -> None:
        """Take note that a bucket was opened."""
        return

    def _begin_agreement(self, summary: np.ndarray = NO_SUMMARY) -> PendingTotals:
        """Start the allreduce of the round's totals; the returned function waits for it.

        ``summary``: of this rank, from :attr:`DeviceRounds.summary`.
        """
        machine, failed = self.machine, self.error is not None
        integers, floats = machine.totals()
        mine = np.empty(HEAD + integers.size, np.int64)
        mine[:HEAD], mine[HEAD:] = (failed, machine.waiting, self._request(), self.beside), integers
        if self.comm.size > 1 and (floats.size or machine.minima or summary.size):
            gathering = self.comm.begin_allgather(np.concatenate([mine, floats.view(np.int64), summary]))
            return lambda: self._end_agreement(*self._reduced(gathering(), mine.size, floats.size))
        started = self.comm.begin_allreduce(mine)
        return lambda: self._end_agreement(started(), floats)

    def _reduced(self, gathered: np.ndarray, size: int, floats: int) -> tuple[np.ndarray, np.ndarray]:
        """Reduce ``size`` integers and ``floats`` floats, added in rank order, so that every rank has the same bits."""
        sums, minima = np.zeros(floats), self.machine.minima
        for part in gathered[:, size : size + floats] if floats else ():
            sums += np.ascontiguousarray(part).view(np.float64)
        whole = np.add.reduce(gathered[:, :size])
        if minima:
            whole[size - minima :] = np.minimum.reduce(gathered[:, size - minima : size])
        summaries = gathered[:, size + floats :]
        if summaries.size and summaries[:, 0].all():
            parts, over_all = over_ranks(summaries[:, 1:], self.machine.traced.summary_kind)
            self.summary = parts[self.comm.rank], over_all
        return whole, sums

    def _end_agreement(self, whole: np.ndarray, floats: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Return reduced integers, sums of floats, and the number of waiting vertices."""
        if whole[0]:
            self.comm.deadline = math.inf
            self.comm.agree(self.error)
        self.requests, self.beside = whole[2:HEAD].tolist()
        return whole[HEAD:], floats, int(whole[1])


def start_without(traced: Traced, comm: Comm, beside: int, error: BaseException | None) -> int:
    """Take part in the agreement of :meth:`RoundDriver.start` on a rank without a machine; collective.

    Args:
        traced: the program.
        comm: the ranks.
        beside: this rank's word, ``COLD`` included.
        error: of this rank; it is raised on all ranks.

    Returns:
        The sum of ``beside`` over ranks.
    """
    mine = np.zeros(HEAD + 2 + len(traced.integer_sums), np.int64)
    mine[0], mine[HEAD - 1] = error is not None, beside
    if traced.float_sums or traced.minima:
        whole = comm.allgather(np.concatenate([mine, np.zeros(len(traced.float_sums), np.int64)])).sum(axis=0)
    else:
        whole = comm.allreduce(mine)
    if whole[0]:
        comm.agree(error)
    return int(whole[HEAD - 1])
