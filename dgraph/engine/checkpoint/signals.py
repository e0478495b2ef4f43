"""SIGUSR1 and SIGTERM: the wish to stop at the next round with a checkpoint. Batch systems send them before they take a
node back."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

SIGNALS = (signal.SIGUSR1, signal.SIGTERM)


class StopSignals:
    """A signal handler that remembers. The rounds look at it; so a signal never lands inside one.

    A second SIGTERM ends the process, as the first does where nobody listens.
    """

    def __init__(self) -> None:
        self.stop = False

    def __call__(self, number, frame) -> None:
        self.stop = True
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def listening(wanted: bool = True) -> Iterator[StopSignals]:
    """Hear them meanwhile; inside another ``listening`` it is that one. Only a main thread can hear."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield StopSignals()
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    outer = before[signal.SIGUSR1]
    if isinstance(outer, StopSignals):
        yield outer
        return
    asked = StopSignals()
    for number in SIGNALS:
        signal.signal(number, asked)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
