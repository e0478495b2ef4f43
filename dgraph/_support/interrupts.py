"""Ctrl-C between rounds and not within one: a SIGINT that comes while rounds run waits for :func:`check`.

``KeyboardInterrupt`` may otherwise be raised between the start of a team's threads and the wait for their end, and the
next call would find them at work on the last one's arrays.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Waits:
    """A handler that remembers the signal for the handler before it."""

    def __init__(self, before: Callable):
        self.before, self.came = before, False

    def __call__(self, number, frame) -> None:
        self.came = True


@contextmanager
def deferred() -> Iterator[None]:
    """Let SIGINT wait for :func:`check`, or for the end of the block."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or not callable(before) or isinstance(before, _Waits):
        yield
        return
    signal.signal(signal.SIGINT, _Waits(before))
    try:
        yield
    finally:
        handler = signal.signal(signal.SIGINT, before)
        if isinstance(handler, _Waits) and handler.came:
            before(signal.SIGINT, None)


def check() -> None:
    """Act on a SIGINT that came since :func:`deferred`.

    Raises:
        KeyboardInterrupt: it came, and the handler is Python's own.
    """
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, _Waits) and handler.came:
        handler.came = False
        handler.before(signal.SIGINT, None)


@contextmanager
def immediate() -> Iterator[None]:
    """Let SIGINT interrupt at once again: a compiler takes seconds, and leaves nothing half done."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(handler, _Waits):
        yield
        return
    check()
    signal.signal(signal.SIGINT, handler.before)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
