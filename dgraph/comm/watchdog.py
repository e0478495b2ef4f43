"""Ends a job whose ranks would wait for ever, because one of them is stopped, hangs, or cannot be reached any more.

While rounds run, a rank counts how long it has waited for the others. After a quarter of the limit it sends each of
them a note, which says that it waits too. At the limit it waits for the ranks that sent no note. It names them in one
line and exits with :data:`EXIT_CODE`. ``end_job.py``, which it starts before, ends the rest of the job.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, Protocol

from dgraph.comm import end_job
from dgraph.errors import UsageError

EXIT_CODE = 124

LIMIT = 300.0
"""Seconds that a rank waits, where the user says nothing else."""

OFF = "off"

NOTE = 0.25
"""Of the limit: when a rank that waits says so to the others."""

A_LOOK = 1.0
"""Seconds that count of the time between two looks, at most: a job that was suspended as a whole has not waited."""

IN_TURN = 0.2
"""Seconds between the limits of ranks, of ten at most: the first to be through speaks for all."""

EVERY = 0.1
"""Seconds between looks for notes."""

MOST = 16
"""Ranks that the line names."""

STATES = {"T": "is stopped", "t": "is held by a debugger", "D": "is held by the system", "Z": "has ended"}
"""Of processes that do not run, by the letter of ``/proc/PID/stat``."""


def allowed(given: float | str | None) -> float:
    """Seconds from what the user wrote: a number, or "off" (also 0 and None), which is infinity.

    Raises:
        UsageError: neither.
    """
    if given is None or given == OFF:
        return math.inf
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise UsageError(f"watchdog {given!r}: give seconds, such as 300, or {OFF} (also 0) for none")
    return seconds or math.inf


class Processes(Protocol):
    """Processes of the other ranks on this host (``liveness.py``)."""

    @property
    def pids(self) -> dict[int, int]: ...

    def files(self) -> list[int]: ...


class Notes(Protocol):
    """Messages of one number that ranks send outside the order of all others; not collective."""

    def send(self, number: int) -> None:
        """To every other rank."""

    def received(self) -> list[tuple[int, int]]:
        """Those that have come since the last call: the sender and the number."""


class Watchdog:
    """Of one communicator and its twins. Off but within :meth:`watching`, and everywhere without ``notes``.

    Args:
        abort: ends all ranks with an exit code, as MPI does.

    Attributes:
        seconds: the limit; infinity where it is off.
        waits: how often this rank has begun to wait.
    """

    def __init__(
        self, rank: int = 0, size: int = 1, notes: Notes | None = None, watch: Processes | None = None,
        abort: Callable[[int], Any] = os._exit,
    ):  # fmt: skip
        self.rank, self.size, self._notes, self._watch, self._abort = rank, size, notes, watch, abort
        self.seconds = math.inf
        self.waits = 0
        self._round, self._phase, self._fields = 0, "", ()  # type: tuple[int, str, Sequence[str]]
        self._turn = 0
        self._wait, self._waited, self._last, self._next = -1, 0.0, 0.0, 0.0
        self._noted: dict[int, int] = {}

    @contextmanager
    def watching(self, seconds: float) -> Iterator[None]:
        """Ranks that wait for each other inside do so for ``seconds`` at most; the same on every rank."""
        if self._notes is None:
            yield
            return
        self._notes.received()  # of a run before
        self._noted = {}
        self.begin(0)
        self.seconds = seconds
        try:
            yield
        finally:
            self.seconds = math.inf

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Ranks may wait inside for as long as it takes: one compiles for the others, or writes."""
        seconds, self.seconds = self.seconds, math.inf
        try:
            yield
        finally:
            self.seconds = seconds

    def begin(self, round: int) -> None:
        """A round begins, from 1; 0: what lies between programs. Called equally often on every rank."""
        self._round = round
        self._turn += 1
        self.at("agreement")

    def at(self, phase: str, fields: Sequence[str] = ()) -> None:
        """What this rank may wait in from now on, and for which fields."""
        self._phase, self._fields = phase, fields

    def look(self) -> None:
        """Called again and again while this rank waits; ends the job where that was too long."""
        if self.seconds == math.inf:
            return
        now, first = time.monotonic(), NOTE * self.seconds
        if self.waits != self._wait:
            self._wait, self._waited, self._next = self.waits, 0.0, first
        else:
            self._waited += min(now - self._last, A_LOOK)
        self._last = now
        if self._waited < self._next:
            return
        assert self._notes is not None
        if self._next == first:
            self._notes.send(self._turn)
        self._next = self._waited + EVERY
        self._noted.update(self._notes.received())
        if self._waited >= self.seconds + IN_TURN * min(self.rank, 10):
            self.bite(self._missing())

    def _missing(self) -> list[int]:
        """The other ranks from which no note says that they wait as well; all, where all say so."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        return [rank for rank in others if self._noted.get(rank, -1) < self._turn - 1] or others

    def bite(self, peers: Sequence[int], round: int | None = None) -> NoReturn:
        """End the job: this rank has waited for ``peers`` in vain, in this ``round`` or in the one that began last."""
        self._round = round or self._round
        sys.stdout.flush()
        print(self._line(peers), file=sys.stderr, flush=True)
        time.sleep(0.1)  # for the launcher to pass it on
        above = end_job.launchers()
        with suppress(OSError):
            end_job.start(self._watch.files() if self._watch else [], above)
        if not above:  # the launchers known there end a job when a rank exits with a code; Slurm wants to be asked
            threading.Timer(1.0, os._exit, (EXIT_CODE,)).start()  # where it cannot be reached
            self._abort(EXIT_CODE)
        os._exit(EXIT_CODE)

    def _line(self, peers: Sequence[int]) -> str:
        """What is printed."""
        where = f"in round {self._round}" if self._round else "between rounds"
        what = self._phase + (f" of {', '.join(self._fields)}" if self._fields else "")
        named = ", ".join(f"rank {peer} ({self._state(peer)})" for peer in peers[:MOST])
        more = f" and {len(peers) - MOST} more" if len(peers) > MOST else ""
        return (
            f"dgraph: watchdog: rank {self.rank} has waited for {self.seconds:g} s {where} ({what}) for {named}{more}; "
            "the job ends"
        )

    def _state(self, peer: int) -> str:
        """What this host knows of another rank's process."""
        pid = self._watch.pids.get(peer) if self._watch else None
        if pid is None:
            return "not on this host"
        with suppress(OSError):
            return f"process {pid} {STATES.get(end_job.process(pid)[0], 'runs')}"
        return f"process {pid} has ended"
