"""Ctrl-C between rounds: a SIGINT that arrives while rounds run is held until :func:`check`.

Otherwise ``KeyboardInterrupt`` could be raised between starting a team's threads and joining them. The threads would
then still write to the arrays of the interrupted call when the next call starts.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Deferred:
    """Signal handler that records a SIGINT for the previous handler."""

    def __init__(self, before: Callable):
        self.before, self.pending = before, False

    def __call__(self, number, frame) -> None:
        self.pending = True


@contextmanager
def deferred() -> Iterator[None]:
    """Hold SIGINT back until :func:`check` or the end of the block."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or not callable(before) or isinstance(before, _Deferred):
        yield
        return
    signal.signal(signal.SIGINT, _Deferred(before))
    try:
        yield
    finally:
        handler = signal.signal(signal.SIGINT, before)
        if isinstance(handler, _Deferred) and handler.pending:
            before(signal.SIGINT, None)


def check() -> None:
    """Deliver a SIGINT that arrived since :func:`deferred`.

    Raises:
        KeyboardInterrupt: one arrived, and the handler is Python's own.
    """
    handler = signal.getsignal(signal.SIGINT)
    if isinstance(handler, _Deferred) and handler.pending:
        handler.pending = False
        handler.before(signal.SIGINT, None)


@contextmanager
def immediate() -> Iterator[None]:
    """Let SIGINT interrupt at once again, for compilation: it takes seconds and can be interrupted anywhere."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(handler, _Deferred):
        yield
        return
    check()
    signal.signal(signal.SIGINT, handler.before)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
