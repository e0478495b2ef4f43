"""Drivers of the rounds of one program: compute → reduce → apply → agree → broadcast.

Ranks agree on the totals before they broadcast. The broadcast then knows the direction of the next round, and the last
round broadcasts nothing. :func:`driver_of` chooses the driver once: :class:`HostDriven`, the reference loop, starts one
phase after the other; :class:`DeviceDriven` lets GPUs run rounds up to an agreement of hosts; :class:`OneLaunch` runs
whole rounds inside the backend, many a call, where no vertex has a mirror.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph._support import compile_clock
from dgraph.backend.interface import DeviceRounds, Machine, SharedMachine
from dgraph.comm import Comm
from dgraph.engine.rounds.driver import NO_SUMMARY, Checkpoints, RoundDriver
from dgraph.graph.local import LocalGraph

if TYPE_CHECKING:
    from dgraph.engine.sync import Sync

LEAST = 1e-9
"""Least seconds of rounds, where two clocks differ."""

LOOK_AROUND = 0.05
"""Seconds of fused rounds between two checks for signals, cancellation and progress output."""

GROWTH, WATCHED_GROWTH = 8, 2
"""Most rounds of a call by those of the call before; where progress is watched, since later rounds may be longer."""

WATCHED_SHARE = 16
"""Divisor of the edges of the first call where progress is watched, and most rounds of a call that are reported."""

AHEAD = 1 << 14
"""Rounds that GPUs run between two checks of the host: about a quarter of a second."""


class HostDriven(RoundDriver):
    """The reference loop: the host starts one phase after the other, on every rank.

    Args:
        sync: synchronisation of the ranks, made before the machine starts: GPUs exchange messages from then on.
    """

    def __init__(self, machine: SharedMachine, sync: Sync, *shared: Any):
        super().__init__(machine, *shared)
        self.shared, self.sync = machine, sync

    def run(self, limit: int) -> None:
        """Run rounds, each with an agreement of all ranks and a broadcast."""
        machine, sync, record = self.machine, self.sync, self.record
        self.watchdog.begin(machine.round + 1)
        if not machine.done and limit > 0:
            self._exchange(sync.broadcast)
            if machine.traced.program.sparse:
                with record("compute"), self.comm.together():
                    machine.begin()
        while not machine.done and machine.round < limit:
            began, first = _clock(), machine.round
            self.watchdog.begin(first + 1)
            self._advance(limit)
            self.watchdog.at("agreement")
            direction, frontier, edges = machine.direction, machine.total_active, machine.total_edges
            with record("idle"):
                pending = self._begin_agreement(self._summary())
            figures = np.array([[frontier, edges, direction == "pull"]], np.int64)
            if self.error is None:
                sync.account()
                if machine.round > first:
                    figures = np.concatenate([machine.figures(first), figures])
            with record("idle"):
                self._agree(pending)
            self._boundary()
            if not machine.done and machine.round < limit:
                self._exchange(sync.broadcast)
            seconds = (_clock() - began) / len(figures)
            record.rounds.extend(self._visited(figures), seconds, machine.notes(), **self._fields(len(figures)))
            self.progress.round(machine.round, frontier, self.every_edge or edges, direction)

    def _summary(self) -> np.ndarray:
        """Return this rank's part of the program's summary, as :attr:`DeviceRounds.summary` does."""
        return NO_SUMMARY

    def _opened(self) -> None:
        self.sync.opened = self.shared.dirties

    def _advance(self, limit: int) -> None:
        """Run at least one round up to its agreement."""
        with self.record("compute"):
            self._attempt(self.shared.edge)
        self._exchange(lambda: self.sync.reduce(failed=self.error is not None))
        with self.record("compute"):
            self._attempt(self.shared.vertex)


class DeviceDriven(HostDriven):
    """GPUs drive rounds up to the agreement on the last one; the host drives those that they leave to it."""

    def __init__(self, device: DeviceRounds, *shared: Any):
        super().__init__(*shared)
        self.device = device

    def _advance(self, limit: int) -> None:
        checkpoints, first = self.checkpoints, self.machine.round
        ahead = AHEAD if self.residual is None else 1
        end = min(limit, first + (min(checkpoints.until(first), ahead) if checkpoints else ahead))
        self.watchdog.at("exchange between GPUs", self.sync.exchanged)
        with self.record("compute"):
            ran = self._attempt(lambda: self.device.run(end))
        if not ran and self.error is None:
            super()._advance(limit)

    def _summary(self) -> np.ndarray:
        return self.device.summary


def _clock() -> float:
    """Return the seconds on a clock that stands still while code is compiled."""
    return time.perf_counter() - compile_clock.spent()


class OneLaunch(RoundDriver):
    """The backend runs whole rounds, many a call, on one rank; the host looks for signals between the calls."""

    def __init__(self, machine: Machine, arcs: int, comm: Comm, record, progress, checkpoints: Checkpoints | None):
        super().__init__(machine, arcs, comm, record, progress, checkpoints)
        edges = machine.first_arcs // (WATCHED_SHARE if progress.watched else 1)
        first = max(1, min(machine.first_rounds, edges // max(arcs, 1)))
        self.first_batch = first if self.residual is None else 1

    def start(self, initial: Mapping[str, np.ndarray], beside: int = 0) -> None:
        """Run ``init``; a machine that also began its first round needs no totals from here."""
        with self.record("init"):
            self._attempt(lambda: self.machine.start(initial))
            if not self.machine.started or self.error is not None:
                self._agree(starting=True)

    def run(self, limit: int) -> None:
        """Run rounds in batches of about LOOK_AROUND seconds, and report those of each batch."""
        growth = WATCHED_GROWTH if self.progress.watched else GROWTH
        machine, record, checkpoints, batch = self.machine, self.record, self.checkpoints, self.first_batch
        if machine.traced.program.sparse:
            with record("compute"):
                machine.begin()
        while not machine.done and machine.round < limit:
            began, first = _clock(), machine.round
            with record("compute"):
                run = machine.fused(min(batch, limit - first, checkpoints.until(first) if checkpoints else batch))
            seconds = max(_clock() - began, LEAST) / run
            batch = 1 if self.residual is not None else max(1, min(int(LOOK_AROUND / seconds), growth * batch))
            figures = self._visited(machine.figures(first))
            record.rounds.extend(figures, seconds, machine.notes(), **self._fields(run))
            if self.progress.watched:
                self._report(figures)
            self.requests = self._request()
            self._boundary()

    def _report(self, figures: np.ndarray) -> None:
        """Report the rounds that just ended, the last one and evenly chosen ones before it."""
        count, end = len(figures), self.machine.round
        for place in range(count - 1, -1, -max(1, -(-count // WATCHED_SHARE)))[::-1]:
            vertices, edges, pulled = figures[place].tolist()
            self.progress.round(end - count + place + 1, vertices, edges, "pull" if pulled else "push")


def driver_of(
    machine: Machine, local: LocalGraph, comm: Comm, record, progress, sync: str = "auto",
    checkpoints: Checkpoints | None = None,
) -> RoundDriver:  # fmt: skip
    """Choose what drives the rounds of a program: the same on all ranks, and the host where ``sync`` is "full"."""
    if comm.size == 1:
        return OneLaunch(machine, local.arcs, comm, record, progress, checkpoints)
    from dgraph.engine.sync import Sync  # not at the top: --help would wait for Numba

    assert isinstance(machine, SharedMachine), f"{machine} is for one rank"
    shared = machine, Sync(machine, local, comm, sync, record), local.arcs, comm, record, progress, checkpoints
    device = machine.device_rounds(shared[1]) if sync != "full" else None
    return HostDriven(*shared) if device is None else DeviceDriven(device, *shared)
