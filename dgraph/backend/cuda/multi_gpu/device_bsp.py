"""Multi-GPU rounds with a device-side allreduce: the host launches kernels, GPUs exchange the totals themselves.

Small rounds run in the persistent multi-GPU kernel, large ones kernel by kernel. After either, ``end_round`` reduces
the totals over GPUs and begins the next round, or stops all ranks where the host's own end of a round continues
(``dgraph/engine/rounds``). The host's loop stays the reference. The host reads the control block once a round to choose
the kernels of the next. Rounds over all vertices, which use the same kernels, are launched several at a time. After a
large push the likely next kernels are launched too; they return at once if the next round is another.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.codegen import exchange_state
from dgraph.backend.cuda.exchange.exchange import Exchange
from dgraph.backend.cuda.exchange.pull_overlap import PullOverlap
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.interface import DeviceRounds, Exchanges

SHRINK_FACTOR = 8
"""Multiple of the small rounds' edge limit from which on a frontier is expected to stay large for one more round."""

GROWTH = 64
"""Multiple of the small rounds' edge limit from which on a graph's edges make a large round likely."""

ANY_FRONTIER = "warp_shares"
"""Schedule that never loses much, see ``auto_schedule.py``."""

HOST_CHECK_TIME = exchange_state.HOST_CHECK_TIME / 1e9
"""Seconds of rounds after which a rank returns to the host."""


def concluded_by_device(machine: GpuMachine) -> bool:
    """Return True if GPUs reduce the totals of this program's rounds without the host."""
    links, sums = machine.graph.links, len(machine.traced.sums)
    fits = sums <= exchange_state.TOTALS_WORDS - exchange_state.TOTAL_LIGHT - 1 - exchange_state.TOTAL_SUMS
    wanted = not (machine.options.host_rounds or machine.options.record)
    return wanted and fits and links is not None and links.direct


def device_rounds_of(machine: GpuMachine, sync: Exchanges) -> DeviceRounds | None:
    """Return the driver of rounds that GPUs run without the host; None where the host drives all."""
    exchange = machine.device_exchange
    if not isinstance(exchange, Exchange):
        return None
    if concluded_by_device(machine):
        return DeviceBsp(exchange, machine, sync)
    return Launched(exchange, machine, exchange.is_small) if exchange.runs_multi_gpu else None


class Launched:
    """Rounds of one launch of the persistent multi-GPU kernel; the host drives the others.

    Args:
        able: returns True if the next round can run in that kernel; the same on every rank.
    """

    def __init__(self, exchange: Exchange, machine: GpuMachine, able: Callable[[], bool]):
        self.exchange, self.machine, self.able = exchange, machine, able
        self.summary = np.zeros(0, np.int64)

    def run(self, limit: int) -> bool:
        """Run rounds up to the hosts' agreement, if the next one can run here."""
        if not self.able():
            return False
        self.machine.run_device_rounds(limit)
        self.exchange.check()
        return True


class DeviceBsp:
    """Device-driven rounds of one program's run.

    Attributes:
        steady: True if all rounds use the same kernels, so the host need not read the control block between them.
        ahead: rounds that are launched before the host reads it.
        follows: True if rounds may be launched behind a push unseen: no broadcast comes between them and one schedule
            handles all large rounds.
        grows: True if a large round probably follows the first small ones, on a graph of many edges.
    """

    def __init__(self, exchange: Exchange, machine: GpuMachine, sync: Exchanges):
        self.exchange, self.machine, self.sync = exchange, machine, sync
        machine.starts_together = True
        self.copies = PullOverlap(exchange, machine)
        flips = int(machine.words[control.FORCED]) == control.FLIP
        self.steady = machine.traced.all and not flips and machine.options.schedule not in SCHEDULES
        self.ahead = machine.rounds_ahead if self.steady else 1
        one = machine.walks_by_schedule and machine.options.schedule == "auto" and not machine.graph.wide
        passes = machine.traced.all or "whole" in (machine.traced.step or {})
        self.follows = one and not (passes or exchange.broadcasts) and exchange.runs_multi_gpu
        self.grows = self.follows and machine.local.arcs >= GROWTH * exchange.most
        self.summary = np.zeros(4 if machine.traced.program.end_figure else 0, np.int64)

    def run(self, limit: int) -> bool:
        """Run rounds until the program ends, a rank needs its host, or round ``limit`` is next; collective.

        All ranks return at the same round. A rank that fails notifies the others, which then give up too.
        """
        began, end = time.perf_counter(), min(limit, self.machine.round + control.RING)
        try:
            with self.exchange.timed_outside():
                self.machine.prepare()
                while self._turn(end, time.perf_counter() - began > HOST_CHECK_TIME):
                    pass
        except Exception:
            self.exchange.abort_peers()
            raise
        self.exchange.check()
        return True

    def _turn(self, end: int, stops: bool) -> bool:
        """Launch one batch of rounds and read the control block; return True if rounds go on."""
        machine, before = self.machine, self.machine.round
        if self.exchange.runs_persistent_bfs and (before == 0 or not self.exchange.is_small()):
            name = "persistent"
            ahead = control.NEXT_SMALL if self.exchange.ends_only else control.NEXT_ANY
            machine.launch(
                ("persistent_bfs", "persistent_bfs", end), self._conclude(control.NO_PHASE, end, stops, ahead)
            )
            if ahead:
                self._small_rounds(end, stops)
        elif self.exchange.is_small():
            name = "persistent"
            ahead = control.NEXT_LARGE if before == 0 and self.grows else control.NEXT_ANY
            self._small_rounds(end, stops, ahead)
            if ahead:
                self._large_round(end, stops, schedule=ANY_FRONTIER)
        elif self.steady:
            for _ in range(min(self.ahead, end - before)):
                name = self._large_round(end, stops)
                self.sync.broadcast()
        else:
            ahead = self._likely()
            name = self._large_round(end, stops, ahead)
            if ahead == control.NEXT_LARGE:
                self._large_round(end, stops, control.NEXT_SMALL)
            if ahead:
                self._small_rounds(end, stops)
        if self.summary.size:
            machine.launch_summary()
        machine.read()
        if machine.words[control.RETURN_STATE] == control.NEEDS_BUCKET:
            lowest, opened = (self._conclude(phase, end, stops) for phase in (control.LOWEST_FOUND, control.OPENED))
            machine.launch(("round_kernels", "lowest_bucket"), lowest, ("round_kernels", "open_bucket"), opened)
            machine.read()
        if machine.words[control.RETURN_STATE] == control.NEEDS_LAUNCH:
            machine.device.clear(machine.arrays.words[control.RETURN_STATE :][:1])  # CuPy would compile an assignment
            machine.words[control.RETURN_STATE] = 0
        if self.summary.size and machine.words[control.PROGRAM_ENDS]:
            self.summary[0], self.summary[1:] = 1, self.exchange.summary
        returns = bool(machine.words[control.RETURN_STATE])
        machine.note(name, machine.round - before + returns)
        if not returns and not self.steady:
            self.sync.broadcast()
        return not returns

    def _small_rounds(self, end: int, stops: bool, ahead: int = control.NEXT_ANY) -> None:
        """Launch the persistent multi-GPU kernel."""
        calls = ("multi_gpu_rounds", "multi_gpu_rounds", end), self._conclude(control.NO_PHASE, end, stops, ahead)
        self.machine.launch(*calls)

    def _large_round(self, end: int, stops: bool, ahead: int = control.NEXT_ANY, schedule: str = "") -> str:
        """Launch one round kernel by kernel; return the name of its edge traversal.

        ``schedule``: of a push whose frontier the host does not know.
        """
        machine = self.machine
        if self.copies.cuts():
            name = "pull"
            self.copies.pull(self.sync)
        else:
            if schedule:
                name, calls = schedule, machine.kernels.edges(schedule, False, fused=False, words=machine.words)
            else:
                name, calls = machine.edge_launches()
            machine.launch(*calls)
            self.sync.reduce()
        machine.launch(*machine.vertex_launches(), self._conclude(control.APPLIED, end, stops, ahead))
        return name

    def _likely(self) -> int:
        """Return the kind of round that probably follows the next one, to launch it ahead."""
        if not self.follows or self.machine.direction != "push":
            return control.NEXT_ANY
        return (
            control.NEXT_LARGE if self.machine.total_edges >= SHRINK_FACTOR * self.exchange.most else control.NEXT_SMALL
        )

    def _conclude(self, phase: int, end: int, stops: bool, ahead: int = control.NEXT_ANY) -> tuple:
        """Return the launch of ``end_round`` after a phase."""
        asked = phase << control.END_PHASE_BIT | stops << control.END_STOP_BIT | ahead << control.END_NEXT_BIT
        return "round_kernels", "end_round", end | asked
