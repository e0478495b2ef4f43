"""Progress of long reads: readers count the bytes that this rank has read; a watcher gets the count every second."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar

from dgraph.comm.context_values import set_within

AFTER, EVERY = 2.0, 1.0
"""Seconds until a read is long, and seconds between two calls of the watcher."""

Watcher = Callable[[int, int, float], None]
"""Called with bytes read, bytes to read and seconds since the start, all of this rank."""
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def watched_by(watcher: Watcher) -> AbstractContextManager[None]:
    """Let a watcher be called during the reads within the body."""
    return set_within(_watcher, watcher)


class Reading:
    """One read. The thread that makes it counts its bytes, so that the watcher is called there.

    Args:
        size: bytes to read.
    """

    def __init__(self, size: int):
        self.size, self.done, self._watcher = size, 0, _watcher.get()
        self._began = time.perf_counter()
        self._due = self._began + AFTER

    def add(self, count: int) -> None:
        """Count bytes that were read."""
        self.reach(self.done + count)

    def reach(self, position: int) -> None:
        """Count all bytes up to a position as read."""
        self.done = position
        if self._watcher is not None and (now := time.perf_counter()) >= self._due:
            self._due = now + EVERY
            self._watcher(min(position, self.size), self.size, now - self._began)
