"""Ends a job whose ranks would wait for ever because one of them is stopped, hangs, or is unreachable.

While rounds run, a rank measures how long it has waited. After a quarter of the limit it sends a note to all other
ranks, which reports that it waits too. At the limit the ranks without a note are the culprits: the rank prints them in
one line, starts ``end_job.py``, which kills the rest of the job, and exits with :data:`EXIT_CODE`.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NoReturn, Protocol

from dgraph._support.arguments import is_real
from dgraph.comm import end_job
from dgraph.errors import UsageError, shown

EXIT_CODE = 124

LIMIT = 300.0
"""Default limit: seconds that a rank waits."""

OFF = "off"

NOTE = 0.25
"""Fraction of the limit after which a waiting rank sends its note."""

MAX_STEP = 1.0
"""Maximum seconds counted between two checks, so that the time during which a job is suspended does not count."""

STAGGER = 0.2
"""Seconds between the limits of consecutive ranks (at most ten steps), so that one rank prints the line for all."""

EVERY = 0.1
"""Seconds between polls for notes."""

MAX_NAMED = 16
"""Maximum number of ranks that the line names."""

STATES = {"T": "is stopped", "t": "is held by a debugger", "D": "is held by the system", "Z": "has ended"}
"""Descriptions of processes that do not run, by the state letter of ``/proc/PID/stat``."""


def allowed(limit: float | str | None) -> float:
    """Parse the user's limit: seconds, or "off" (also 0 and None), which is infinity.

    Raises:
        UsageError: ``limit`` is neither.
    """
    if limit is None or (isinstance(limit, str) and limit == OFF):
        return math.inf
    seconds = math.nan
    if isinstance(limit, str) or is_real(limit):
        with suppress(ValueError, OverflowError):
            seconds = float(limit)
    if not 0 <= seconds < math.inf:
        raise UsageError(f"watchdog {shown(limit)}: give seconds, such as 300, or {OFF} (also 0) for none")
    return seconds or math.inf


INACTIVE = nullcontext()
"""Context of work on one rank, which waits for no other."""


class Processes(Protocol):
    """Processes of the other ranks on this host (``liveness.py``)."""

    @property
    def pids(self) -> dict[int, int]:
        """Rank → pid."""

    def files(self) -> list[int]:
        """Return the pidfds."""


class Notes(Protocol):
    """Messages of one integer, independent of the order of all other messages; not collective."""

    def send(self, number: int) -> None:
        """Send ``number`` to every other rank."""

    def received(self) -> list[tuple[int, int]]:
        """Return (sender, number) of the notes that arrived since the last call."""


class Paused(AbstractContextManager):
    """Block without a limit of a watchdog. A program enters three: a generator takes four times as long."""

    __slots__ = ("seconds", "watchdog")

    def __init__(self, watchdog: Watchdog):
        self.watchdog, self.seconds = watchdog, watchdog.seconds

    def __enter__(self) -> None:
        self.watchdog.seconds = math.inf

    def __exit__(self, *error: object) -> None:
        self.watchdog.seconds = self.seconds


class Watchdog:
    """Watchdog of one communicator and its duplicates. It is active only within :meth:`watching`, and if it has notes.

    Args:
        rank: this process's rank.
        size: number of ranks.
        notes: channel of the notes; None: the watchdog is never active.
        watch: processes of the other ranks on this host.
        abort: ends all ranks with an exit code, as MPI_Abort does.

    Attributes:
        seconds: limit; infinity while inactive.
        waits: number of waits that this rank has started.
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

    def watching(self, limit: float | str | None) -> AbstractContextManager[None]:
        """Limit waits inside the block to a limit as :func:`allowed` takes it; the same value on every rank."""
        return INACTIVE if self._notes is None else self._watching(self._notes, allowed(limit))

    @contextmanager
    def _watching(self, notes: Notes, seconds: float) -> Iterator[None]:
        notes.received()  # drop notes of an earlier run
        self._noted = {}
        self.begin(0)
        self.seconds = seconds
        try:
            yield
        finally:
            self.seconds = math.inf

    def paused(self) -> AbstractContextManager[None]:
        """Lift the limit inside the block, where one rank compiles for the others, or writes."""
        return INACTIVE if self._notes is None else Paused(self)

    def begin(self, round: int) -> None:
        """Record that round ``round`` starts, from 1; 0: between programs. All ranks call it equally often."""
        self._round = round
        self._turn += 1
        self.at("agreement")

    def at(self, phase: str, fields: Sequence[str] = ()) -> None:
        """Set the phase, and the fields exchanged in it, that the line names if this rank's wait is too long."""
        self._phase, self._fields = phase, fields

    def check(self) -> None:
        """Measure the current wait; called repeatedly while this rank waits. Ends the job at the limit."""
        if self.seconds == math.inf:
            return
        now, first = time.monotonic(), NOTE * self.seconds
        if self.waits != self._wait:
            self._wait, self._waited, self._next = self.waits, 0.0, first
        else:
            self._waited += min(now - self._last, MAX_STEP)
        self._last = now
        if self._waited < self._next:
            return
        assert self._notes is not None
        if self._next == first:
            self._notes.send(self._turn)
        self._next = self._waited + EVERY
        self._noted.update(self._notes.received())
        if self._waited >= self.seconds + STAGGER * min(self.rank, 10):
            self.expire(self._missing())

    def _missing(self) -> list[int]:
        """Return the other ranks that have sent no note of this wait; all others if every rank has."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        return [rank for rank in others if self._noted.get(rank, -1) < self._turn - 1] or others

    def expire(self, peers: Sequence[int], round: int | None = None) -> NoReturn:
        """End the job because this rank has waited for ``peers`` beyond the limit.

        Args:
            peers: ranks that did not respond.
            round: round of the wait; None: the one that started last.
        """
        self._round = round or self._round
        sys.stdout.flush()
        print(self._line(peers), file=sys.stderr, flush=True)
        time.sleep(0.1)  # lets the launcher forward the line
        above = end_job.launchers()
        with suppress(OSError):
            end_job.start(self._watch.files() if self._watch else [], above)
        if not above:  # launchers in LAUNCHERS end the job when a rank exits with a code; Slurm needs MPI_Abort
            threading.Timer(1.0, os._exit, (EXIT_CODE,)).start()  # in case MPI_Abort hangs
            self._abort(EXIT_CODE)
        os._exit(EXIT_CODE)

    def _line(self, peers: Sequence[int]) -> str:
        """Format the line that the user reads."""
        where = f"in round {self._round}" if self._round else "between rounds"
        what = self._phase + (f" of {', '.join(self._fields)}" if self._fields else "")
        named = ", ".join(f"rank {peer} ({self._state(peer)})" for peer in peers[:MAX_NAMED])
        more = f" and {len(peers) - MAX_NAMED} more" if len(peers) > MAX_NAMED else ""
        return (
            f"dgraph: watchdog: rank {self.rank} has waited for {self.seconds:g} s {where} ({what}) for {named}{more}; "
            "the job ends"
        )

    def _state(self, peer: int) -> str:
        """Describe the state of another rank's process as far as this host can see it."""
        pid = self._watch.pids.get(peer) if self._watch else None
        if pid is None:
            return "not on this host"
        with suppress(OSError):
            return f"process {pid} {STATES.get(end_job.process(pid)[0], 'runs')}"
        return f"process {pid} has ended"
