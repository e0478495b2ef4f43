"""``HangWatch``: deadlines by which the front notices ranks that hang, whatever they do or do not do themselves.

A rank hangs if it is stopped (state T of the system) for ``STOPPED_S``, if the ranks do not end a request within
``grace_s`` after it was cancelled, or if a short request takes longer than its limit. A run, a load or a change has no
limit of its own: only its user knows how long it may take, and cancels it, or gives it a time limit. The front sends a
request after ``HEARTBEAT_S`` without one, so that idle ranks are noticed, too.

Seconds are counted by ticks: the time during which the front itself was stopped does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

TICK_S = 0.5
"""Seconds between two ticks."""

LONGEST_STEP_S = 1.0
"""Most seconds that a tick counts."""

STOPPED_S = 5.0
"""Seconds after which a stopped rank is given up."""

HEARTBEAT_S = 15.0
"""Seconds without a request after which one is sent."""

HEARTBEAT = "memory"
"""Operation of that request: a short one of all ranks."""

LIMITS = {
    **dict.fromkeys((HEARTBEAT, "release", "drop", "top", "lookup"), 60.0),
    **dict.fromkeys(("estimate", "rows", "path"), 600.0),
}
"""Operation → seconds that it may take once the requests before it were answered."""


@dataclass
class _Request:
    op: str
    begun: float | None = None
    cancelled: float | None = None


class HangWatch:
    """Requests under way, and how long they have been.

    Args:
        grace_s: seconds that the ranks have to end a request that was cancelled.
    """

    def __init__(self, grace_s: float):
        self.grace_s = grace_s
        self._clock, self._last, self._idle = 0.0, 0.0, 0.0
        self._requests: dict[int, _Request] = {}
        self._stopped: dict[int, float] = {}

    def begin(self, now: float) -> None:
        """Forget all requests: the ranks are new."""
        self._requests, self._stopped, self._last, self._idle = {}, {}, now, self._clock

    def sent(self, number: int, op: str) -> None:
        """Note a request."""
        self._requests[number] = _Request(op)

    def cancelled(self, number: int) -> None:
        """Note that a request was cancelled."""
        request = self._requests.get(number)
        if request is not None and request.cancelled is None:
            request.cancelled = self._clock

    def answered(self, number: int) -> None:
        """Forget a request."""
        self._requests.pop(number, None)
        self._idle = self._clock

    def tick(self, now: float, stopped: dict[int, int]) -> str:
        """Count the time since the last tick; return why the ranks are given up, or "".

        Args:
            now: monotonic seconds.
            stopped: rank → pid of the ranks that are stopped now.
        """
        self._clock += min(now - self._last, LONGEST_STEP_S)
        self._last = now
        self._stopped = {rank: self._stopped.get(rank, self._clock) for rank in stopped}
        for rank, since in self._stopped.items():
            if self._clock - since >= STOPPED_S:
                return f"rank {rank} (process {stopped[rank]}) was stopped for {STOPPED_S:g} s, and was killed"
        for request in self._under_way():
            begun = request.begun = self._clock if request.begun is None else request.begun
            if request.cancelled is not None and self._clock - max(begun, request.cancelled) >= self.grace_s:
                return f"the ranks did not end a cancelled {request.op} within {self.grace_s:g} s, and were killed"
            limit = LIMITS.get(request.op)
            if limit is not None and self._clock - begun >= limit:
                return f"the ranks did not answer {request.op} within {limit:g} s, and were killed"
        return ""

    def heartbeat_due(self) -> bool:
        """Return True if no request was under way for ``HEARTBEAT_S``."""
        return not self._requests and self._clock - self._idle >= HEARTBEAT_S

    def _under_way(self) -> Iterator[_Request]:
        """Yield the request that the ranks work on: the first; and runs behind it, which may share its pass."""
        for place, request in enumerate(self._requests.values()):
            if place and request.op != "run":
                return
            yield request
            if request.op != "run":
                return
