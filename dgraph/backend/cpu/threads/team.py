"""Team: Python threads that run compiled rounds in SPMD style.

Compiled code releases the interpreter lock, so Numba's threading layers are not needed
(``docs/internals/decisions.md``). Waking a thread costs about 25 µs; ``tuner.py`` keeps small rounds on one thread.
:meth:`Team.launch` starts threads that wait in compiled code (``launch.py``), :meth:`Team.run` starts any function
through the interpreter.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import cache

import numpy as np

from dgraph._support import interrupts
from dgraph.backend.cpu.threads import launch
from dgraph.backend.cpu.threads.plain_kernels import PlainFirst


class Team:
    """Team of threads that run one function together; the caller is thread 0.

    Args:
        size: number of threads, the caller included.
    """

    def __init__(self, size: int):
        self.size = size
        self._go, self._done = ([threading.Lock() for _ in range(size)] for _ in range(2))
        for lock in (*self._go, *self._done):  # a released lock is the signal; a semaphore costs several times as much
            lock.acquire()
        self._job: tuple[Callable, int, tuple] | None = None
        self._error: BaseException | None = None
        self._words = np.zeros(launch.THREADS + launch.STRIDE * size, np.int64)
        self._serves = False
        for t in range(1, size):
            threading.Thread(target=self._serve, args=(t,), name=f"dgraph-{t}", daemon=True).start()

    def _serve(self, t: int) -> None:
        """Loop of thread ``t``: wait for a job, run it, report its end."""
        while True:
            self._go[t].acquire()
            function, threads, args = self._job  # type: ignore[misc]
            try:
                function(t, threads, *args)
            except BaseException as error:
                self._error = error
            self._done[t].release()

    def run(self, function: Callable, threads: int, *args) -> int:
        """Run ``function(t, threads, *args)`` on threads 0 .. threads-1 and return the result of thread 0.

        Raises:
            ValueError: more threads than the team has.
            BaseException: the error of a thread, after all have ended.
        """
        self._check(threads)
        plain = threads > 1 and isinstance(function, PlainFirst) and function.runs_plain(args)
        if plain and (rounds := function.array_rounds(args)) is not None:  # type: ignore[attr-defined]
            if function.ran(rounds):  # type: ignore[attr-defined]
                return 0
        elif plain or threads == 1:
            return function(0, 1, *args)
        with interrupts.deferred():  # started threads would wait for thread 0 at the first barrier
            if self._serves:
                launch.dismiss(self._words, self.size)
                self._wait(self.size)
                self._serves = False
            self._start(function, threads, args)
            try:
                answer = function(0, threads, *args)
            finally:  # after an error, too: the other threads still use the arrays
                self._wait(threads)
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return answer

    def launch(self, function: Callable, threads: int, *args) -> int:
        """Return ``function(0, words, threads, *args)``, which starts threads of the team as ``launch.py`` says.

        Raises:
            ValueError: more threads than the team has.
        """
        self._check(threads)
        if threads == 1:
            return function(0, self._words, 1, *args)
        with interrupts.deferred():
            if not self._serves:
                launch.compile_serve()
                self._start(_serve, self.size, (self._words, self.size))
                self._serves = True
            return function(0, self._words, threads, *args)

    def rouse(self) -> None:
        """Wake threads that sleep in compiled code, before a launch that is to come."""
        if self._serves:
            launch.rouse(self._words)

    def _check(self, threads: int) -> None:
        if threads > self.size:
            raise ValueError(
                f"{threads} threads requested of a team of {self.size}: a barrier would wait forever; request fewer"
            )

    def _start(self, function: Callable, threads: int, args: tuple) -> None:
        """Give threads 1 .. threads-1 a job."""
        self._job = (function, threads, args)
        for t in range(1, threads):
            self._go[t].release()

    def _wait(self, threads: int) -> None:
        """Wait until the jobs of threads 1 .. threads-1 have ended."""
        for t in range(1, threads):
            self._done[t].acquire()


def _serve(t: int, threads: int, words: np.ndarray, size: int) -> None:
    launch.serve(words, t, size)


@cache
def team_of(size: int) -> Team:
    """Return the team of this size; a process keeps one per size."""
    return Team(size)


os.register_at_fork(after_in_child=team_of.cache_clear)  # threads do not survive a fork
