"""Observer of a request on one rank: it sends events to the front, and ends the rounds of a cancelled request."""

from __future__ import annotations

import math
import time

from dgraph.engine.rounds.progress import Progress
from dgraph.service.ranks.front_link import FrontLink

EVENT_EVERY = 0.05
"""Seconds between two events of rounds."""

QUIET = ("init", "solve")
"""Phases of every run: sent only if a slower phase came before, so that a short run sends no event."""


class RunObserver(Progress):
    """Progress of one request.

    Args:
        link: the front; None on all ranks but 0, which observe nothing.
        number: the request's id.
        timeout_s: seconds after which the rounds end; None: no limit.

    Attributes:
        late: True if the time limit ended the rounds.
    """

    def __init__(self, link: FrontLink | None, number: int, timeout_s: float | None = None):
        self._link, self._number, self._limit = link, number, timeout_s
        self._last = self._round_began = time.monotonic()
        self._until = math.inf if timeout_s is None else self._last + timeout_s
        self.late = self._slow = False

    def phase(self, name, detail=""):
        """Send the phase, if it is one that takes long."""
        if self._link is not None and (self._slow or name not in QUIET):
            self._slow = True
            self._link.event(self._number, {"phase": name})

    def round(self, number, vertices, edges=None, direction=""):
        """Send the round, unless one was sent a moment ago."""
        if self._link is None:
            return
        now = time.monotonic()
        if now - self._last >= EVENT_EVERY:
            event = {"round": number, "active": vertices, "seconds": round(now - self._round_began, 6)}
            self._link.event(self._number, event)
            self._last = now
        self._round_began = now

    def cancelled(self):
        """Return True on rank 0 once the front cancelled the request or the time is up."""
        if self._link is None:
            return False
        self.late = time.monotonic() > self._until
        return self.late or self._link.cancelled(self._number)

    def reason(self) -> str:
        """Return the kind of error of a request that :meth:`cancelled` ended."""
        return "TimedOut" if self.late else "Cancelled"

    def explained(self, error: object) -> str:
        """Return the text of that error."""
        return f"the time limit of {self._limit} s ended the run: {error}" if self.late else str(error)
