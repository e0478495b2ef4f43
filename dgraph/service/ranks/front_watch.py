"""End of this rank with the front process, also when a ``kill -9`` ended it while this rank computes or waits."""

from __future__ import annotations

import os
import select
import threading
import time

GRACE = 2.0
"""Seconds between the end of the front and that of this process: rank 0 may end the ranks in an orderly way."""

EXIT_CODE = 70


def end_with(front: int) -> None:
    """Exit ``GRACE`` seconds after process ``front`` has ended, if it can be seen from here.

    A rank on another host, or in another container, cannot see it; rank 0 or the launcher ends that rank.

    Args:
        front: pid of the front process.
    """
    try:
        file = os.pidfd_open(front)
    except ProcessLookupError:
        os._exit(EXIT_CODE)  # the front ended while this process started
    except (AttributeError, OSError):
        return
    threading.Thread(target=_watch, args=(file,), name="front-watch", daemon=True).start()


def _watch(file: int) -> None:
    """Wait for the end of a process, blocked in poll: that costs nothing."""
    waiting = select.poll()
    waiting.register(file, select.POLLIN)
    waiting.poll()
    time.sleep(GRACE)
    os._exit(EXIT_CODE)
