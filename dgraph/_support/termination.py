"""Drafts of files that a SIGTERM, which ends a process at once, would leave behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def removing_at_end(remove: Callable[[], Any], wanted: bool = True) -> Iterator[None]:
    """Call ``remove`` if a SIGTERM ends the process within the block; not if not ``wanted``.

    A handler of the caller's stays; outside the main thread, where none can be installed, nothing is done.
    """

    def end(number: int, _: Any) -> None:
        try:
            remove()
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    able = wanted and threading.current_thread() is threading.main_thread()
    able = able and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if able:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if able:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
