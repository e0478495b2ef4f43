"""End of a process with the one that started it, also when either is killed or stopped (``PR_SET_PDEATHSIG``)."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable

SET_PDEATHSIG = 1
"""``PR_SET_PDEATHSIG`` of prctl(2)."""


def killed_with_parent() -> Callable[[], None]:
    """Return a function that makes the process that calls it end when the thread that started it ends.

    It may be called between fork and exec (``preexec_fn``), where no library can be loaded.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux alone has it

    def ask() -> None:
        if prctl is not None:
            prctl(SET_PDEATHSIG, int(signal.SIGKILL))

    return ask
