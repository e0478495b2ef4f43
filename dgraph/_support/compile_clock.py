"""Clock of compilation: the seconds in which a thread compiles, or waits for a process of its host that does.

:func:`compiling` wraps a compilation. Timers of a report take these seconds out of the phase in which they were spent,
and :func:`listening` passes the first name on to who waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

_listeners: list[Callable[[str], None]] = []


_ended: list[int] = [0]
"""Number of named compilations of all threads that ended."""


class _Clock(threading.local):
    depth, seconds = 0, 0.0


clock = _Clock()
"""Clock of this thread: ``seconds`` spent on compilations that ended, and the ``depth`` of those that go on."""


def spent() -> float:
    """Return the seconds that this thread has spent on compilations that ended."""
    return clock.seconds


@contextmanager
def compiling(name: str = "") -> Iterator[None]:
    """Count the body of the ``with`` as compilation, once where it compiles in turn.

    Args:
        name: of the text or function, for the listeners; empty: machine code may be in the cache.
    """
    began, outermost = perf_counter(), not clock.depth
    clock.depth += 1
    try:
        for listener in list(_listeners) if name else ():
            listener(name)
        yield
    finally:
        clock.depth -= 1
        _ended[0] += bool(name)
        if outermost:
            clock.seconds += perf_counter() - began


@contextmanager
def waiting() -> Iterator[None]:
    """Count the body of the ``with``, a wait for another thread, as compilation if that thread compiled."""
    began, ended = perf_counter(), _ended[0]
    try:
        yield
    finally:
        if _ended[0] > ended and not clock.depth:
            clock.seconds += perf_counter() - began


@contextmanager
def in_turn(lock: Any) -> Iterator[None]:
    """Hold the compiler's lock; a wait for another thread counts as compilation if that thread compiled."""
    if not lock.acquire(blocking=False):
        with waiting():
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Call ``listener(name)`` when a compilation begins while the body of the ``with`` runs, in its thread."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
