"""Threads for compiled rounds. They are Python threads: compiled code releases the interpreter lock, so no threading
layer of Numba's is needed (``docs/decisions.md``). Waking one costs about 25 µs, so small work stays on one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from dgraph._support import interrupts


class Team:
    """``size`` threads that run one function together; thread 0 is the caller."""

    def __init__(self, size: int):
        self.size = size
        self._go = [threading.Semaphore(0) for _ in range(size)]
        self._done = threading.Semaphore(0)
        self._job: tuple[Callable, int, tuple] | None = None
        self._error: BaseException | None = None
        for t in range(1, size):
            threading.Thread(target=self._serve, args=(t,), name=f"dgraph-{t}", daemon=True).start()

    def _serve(self, t: int) -> None:
        while True:
            self._go[t].acquire()
            function, threads, args = self._job  # type: ignore[misc]
            try:
                function(t, threads, *args)
            except BaseException as error:
                self._error = error
            self._done.release()

    def run(self, function: Callable, threads: int, *args) -> int:
        """``function(t, threads, *args)`` on threads 0 .. threads-1; what thread 0 returned."""
        if threads > self.size:
            raise ValueError(
                f"{threads} threads wanted of a team of {self.size}: they would wait for each other forever"
            )
        if threads == 1:
            return function(0, 1, *args)
        with interrupts.deferred():  # threads that were started without thread 0 would wait for it for ever
            self._job = (function, threads, args)
            for t in range(1, threads):
                self._go[t].release()
            out = function(0, threads, *args)
            for _ in range(1, threads):
                self._done.acquire()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return out
