"""Ctrl-C between rounds: a SIGINT that arrives while rounds run is held until :func:`check`.

Otherwise ``KeyboardInterrupt`` could be raised between starting a team's threads and joining them. The threads would
then still write to the arrays of the interrupted call when the next call starts.
"""

from __future__ import annotations

import threading
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]  # without signal's enums: 12 µs a call
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Deferred:
    """Signal handler that records a SIGINT for the previous handler."""

    def __init__(self, before: Callable):
        self.before, self.pending = before, False

    def __call__(self, number, frame) -> None:
        self.pending = True


_holding: list[_Deferred] = []
"""Handler of the block of the main thread that holds SIGINT back; none inside :func:`immediate`."""


class deferred:
    """Block that holds SIGINT back until :func:`check` or its end. Every call enters some: a generator costs more."""

    _held: _Deferred | None = None

    def __enter__(self) -> None:
        if _holding or threading.current_thread() is not threading.main_thread():
            return
        before = getsignal(SIGINT)
        if callable(before) and not isinstance(before, _Deferred):
            self._held = _Deferred(before)
            signal(SIGINT, self._held)
            _holding.append(self._held)

    def __exit__(self, *error: object) -> None:
        block = self._held
        if block is None:
            return
        _holding.remove(block)
        signal(SIGINT, block.before)
        if block.pending:
            block.before(SIGINT, None)


def check() -> None:
    """Deliver a SIGINT that arrived since :class:`deferred`.

    Raises:
        KeyboardInterrupt: one arrived, and the handler is Python's own.
    """
    for block in _holding:
        if block.pending:
            block.pending = False
            block.before(SIGINT, None)


@contextmanager
def immediate() -> Iterator[None]:
    """Let SIGINT interrupt at once again, for compilation: it takes seconds and can be interrupted anywhere."""
    handler = getsignal(SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(handler, _Deferred):
        yield
        return
    check()
    signal(SIGINT, handler.before)
    _holding.remove(handler)
    try:
        yield
    finally:
        _holding.append(handler)
        signal(SIGINT, handler)
