"""SIGUSR1: the wish to stop at the next round with a checkpoint. Batch systems send it before they take a node back."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator


class Asked:
    """A signal handler that remembers. The rounds look at it; so a signal never lands inside one."""

    def __init__(self) -> None:
        self.stop = False

    def __call__(self, number, frame) -> None:
        self.stop = True


@contextlib.contextmanager
def listening(wanted: bool = True) -> Iterator[Asked]:
    """Hear SIGUSR1 meanwhile; inside another ``listening`` it is that one. Only a main thread can hear."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield Asked()
        return
    before = signal.getsignal(signal.SIGUSR1)
    if isinstance(before, Asked):
        yield before
        return
    asked = Asked()
    signal.signal(signal.SIGUSR1, asked)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGUSR1, before)
