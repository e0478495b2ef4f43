"""SIGUSR1 and SIGTERM as requests to stop with a checkpoint after the current round.

Batch systems send them before they take a node back.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

SIGNALS = (signal.SIGUSR1, signal.SIGTERM)


class StopSignals:
    """Signal handler that sets ``stop``, which the engine polls between rounds.

    A second SIGTERM ends the process, as the first does outside :func:`listening`.
    """

    def __init__(self) -> None:
        self.stop = False

    def __call__(self, number, frame) -> None:
        """Request the stop; restore the default action of SIGTERM."""
        self.stop = True
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)


def listening(wanted: bool = True) -> AbstractContextManager[StopSignals]:
    """Install the handler for the block; a nested call returns the outer handler.

    Only a main thread can install handlers; elsewhere, and if not ``wanted``, the result never asks to stop.
    """
    able = wanted and threading.current_thread() is threading.main_thread()
    return _installed() if able else nullcontext(StopSignals())


@contextmanager
def _installed() -> Iterator[StopSignals]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    outer = before[signal.SIGUSR1]
    if isinstance(outer, StopSignals):
        yield outer
        return
    handler = StopSignals()
    for number in SIGNALS:
        signal.signal(number, handler)
    try:
        yield handler
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
