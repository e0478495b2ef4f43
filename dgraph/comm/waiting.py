"""Waiting of a rank: spin for a short time, then sleep between polls.

MPI's own blocking wait occupies a core. With more ranks than cores that is 15 times slower, and it halves the speed of
another rank that compiles or partitions meanwhile.
"""

import math
import os
import time
from collections.abc import Callable

from dgraph._support import interrupts

SPINS = 20_000
"""Polls, each followed by sched_yield, before a waiting rank sleeps between polls."""

POLL_BYTES = 4096
"""Bytes that one poll moves at least: MPI progresses long messages only while it is polled."""


LONGEST = 0.005
"""Longest sleep between polls for a message that may take hours: 200 polls a second cost about 1 % of a core."""

SHORTEST, RECENT = 0.0001, 0.02
"""Sleep between such polls at first, and the seconds for which it holds."""


def wait_idle(ready: Callable[[], bool], check: Callable[[], None] | None = None) -> None:
    """Poll ``ready()`` until it is true, without spinning: often at first, then less often, up to ``LONGEST``.

    Args:
        ready: completion test.
        check: called between polls; it may raise.
    """
    began, pause = time.monotonic(), SHORTEST
    while not ready():
        if check is not None:
            check()
        time.sleep(pause)
        if pause < LONGEST:
            waited = time.monotonic() - began
            pause = SHORTEST if waited < RECENT else min(waited / 20, LONGEST)


def wait_until(
    ready: Callable[[], bool],
    deadline: float = math.inf,
    check: Callable[[], None] | None = None,
    size: int = 0,
) -> None:
    """Poll ``ready()`` until it is true: ``SPINS`` times and more without sleeping, then every 0.5 ms.

    Args:
        ready: completion test.
        deadline: time of ``time.monotonic()`` at which to give up.
        check: called between polls of the second phase; it may raise.
        size: bytes of the messages under way.

    Raises:
        TimeoutError: ``ready()`` was still false at ``deadline``.
        KeyboardInterrupt: a SIGINT arrived in the second phase.
    """
    for _ in range(SPINS + size // POLL_BYTES):
        if ready():
            return
        os.sched_yield()
    while not ready():
        interrupts.check()
        if time.monotonic() > deadline:
            raise TimeoutError
        if check is not None:
            check()
        time.sleep(0.0005)
