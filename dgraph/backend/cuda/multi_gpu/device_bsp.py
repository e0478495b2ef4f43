"""Rounds of several GPUs that the host starts and looks at, but does not agree on: totals go from GPU to GPU.

A small round runs in the kernel of many rounds, a broad one kernel by kernel. Behind either, ``end_round`` agrees with
the other GPUs and begins the next round, or leaves all ranks where the host's agreement goes on: so the host's loop
remains the reference. The host reads one block of words a round, to choose how the next one is walked. Rounds over all
vertices, which are all walked alike, are started several at a time; and behind a broad push what is likely to follow,
which does nothing where something else does.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.codegen import message_layout
from dgraph.backend.cuda.exchange.exchange import Exchange, Exchanges
from dgraph.backend.cuda.exchange.pull_overlap import PullOverlap
from dgraph.backend.cuda.exchange.push_overlap import WALKER, PushOverlap
from dgraph.backend.cuda.gpu_options import ROUNDS_AHEAD
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.comm import Comm

SHRINK_FACTOR = 8
"""So many times as many edges as small rounds have, and more: a broad round follows, else small ones."""

LOOK_AROUND = message_layout.LOOK_AROUND / 1e9
"""Seconds of rounds before a rank wants to see the host."""


def concluded_by_device(machine: Machine) -> bool:
    """Whether GPUs agree on the ends of this program's rounds."""
    links, sums = machine.graph.links, len(machine.traced.sums)
    fits = sums <= message_layout.TOTALS_WORDS - message_layout.TOTAL_LIGHT - 1 - message_layout.TOTAL_SUMS
    wanted = not (machine.options.host_rounds or machine.options.record)
    return wanted and fits and links is not None and links.direct


def exchange_of(machine: Machine, comm: Comm, plans: Mapping[str, Any], record: Any) -> Exchange:
    """Make the exchange of one program's run, and the rounds that GPUs run without the host where they can."""
    links = machine.graph.links
    assert links is not None
    exchange = Exchange(machine, comm, links, plans, record)
    if concluded_by_device(machine):
        exchange.rounds = DeviceBsp(weakref.proxy(exchange), exchange.machine)
    return exchange


class DeviceBsp:
    """Of one program's run. ``steady``: all its rounds are walked alike, so that none has to be looked at.
    ``ahead``: how many of those are started before the host looks. ``follows``: behind a push others may be started
    without a look: mirrors hear nothing in between, and one schedule walks what is broad."""

    def __init__(self, exchange: Exchange, machine: Machine):
        self.exchange, self.machine = exchange, machine
        self.overlap, self.copies = PushOverlap(exchange, machine), PullOverlap(exchange, machine)
        flips = int(machine.words[at.FORCED]) == at.FLIP
        self.steady = machine.traced.all and not flips and machine.options.schedule not in SCHEDULES
        self.ahead = ROUNDS_AHEAD if self.steady else 1
        one = machine.walks_by_schedule and machine.options.schedule == "auto" and not machine.graph.wide
        passes = machine.traced.all or "whole" in (machine.traced.step or {})
        self.follows = one and not (passes or exchange.broadcasts or self.overlap.able) and exchange.runs_across

    def run(self, limit: int, sync: Exchanges) -> None:
        """Rounds up to the agreement on the last, before round ``limit`` at most. Every rank returns at the same one.

        A rank that fails tells the others, which then give up as well.
        """
        began, end = time.perf_counter(), min(limit, self.machine.round + at.RING)
        try:
            self.machine.prepare()
            while self._turn(end, time.perf_counter() - began > LOOK_AROUND, sync):
                pass
        except Exception:
            self.exchange.post.broken = True
            with suppress(Exception):  # a GPU that has failed tells nobody
                self.machine.launch(("phases", "abort_peers", self.exchange.comm.rank))
                self.machine.device.wait()
            raise

    def _turn(self, end: int, stops: bool, sync: Exchanges) -> bool:
        """What the host starts before it looks: whether rounds go on."""
        machine, before = self.machine, self.machine.round
        if self.exchange.reaches and (before == 0 or not self.exchange.is_small()):
            name = "persistent"
            ahead = at.BEFORE_SMALL if self.exchange.ends_only else at.BEFORE_ANY
            machine.launch(("reach", "reach", end), self._conclude(at.SETTLED, end, stops, ahead))
            if ahead:
                self._small_rounds(end, stops)
        elif self.exchange.is_small():
            name = "persistent"
            self._small_rounds(end, stops)
        elif self.steady:
            for _ in range(min(self.ahead, end - before)):
                name = self._broad_round(sync, end, stops)
                sync.broadcast()
        else:
            ahead = self._likely()
            name = self._broad_round(sync, end, stops, ahead)
            if ahead == at.BEFORE_BROAD:
                self._broad_round(sync, end, stops)
            elif ahead == at.BEFORE_SMALL:
                self._small_rounds(end, stops)
        machine.read()
        if machine.words[at.LEFT] == at.TO_BUCKETS:
            lowest, opened = (self._conclude(phase, end, stops) for phase in (at.LOWEST_FOUND, at.OPENED))
            machine.launch(("phases", "lowest"), lowest, ("phases", "open_bucket"), opened)
            machine.read()
        if machine.words[at.LEFT] == at.TO_LOOK:
            machine.arrays.words[at.LEFT] = machine.words[at.LEFT] = 0
        left = bool(machine.words[at.LEFT])
        machine.note(name, machine.round - before + left)
        if not left and not self.steady:
            sync.broadcast()
        return not left

    def _small_rounds(self, end: int, stops: bool) -> None:
        self.machine.launch(("across", "across", end), self._conclude(at.SETTLED, end, stops))

    def _broad_round(self, sync: Exchanges, end: int, stops: bool, ahead: int = at.BEFORE_ANY) -> str:
        """What walks its edges."""
        machine = self.machine
        if self.overlap.cuts():
            name = WALKER
            self.overlap.walk(sync)
        elif self.copies.cuts():
            name = "pull"
            self.copies.pull(sync)
        else:
            name, calls = machine.walks()
            machine.launch(*calls)
            sync.reduce()
        machine.launch(*machine.works(), self._conclude(at.APPLIED, end, stops, ahead))
        return name

    def _likely(self) -> int:
        """What is likely to come behind the next round, if it is started without a look."""
        if not self.follows or self.machine.direction != "push":
            return at.BEFORE_ANY
        return at.BEFORE_BROAD if self.machine.total_edges >= SHRINK_FACTOR * self.exchange.most else at.BEFORE_SMALL

    def _conclude(self, phase: int, end: int, stops: bool, ahead: int = at.BEFORE_ANY) -> tuple:
        asked = phase << at.CONCLUDES_AFTER | stops << at.CONCLUDES_STOPS | ahead << at.CONCLUDES_BEFORE
        return "phases", "end_round", end | asked
