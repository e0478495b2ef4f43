"""How a rank waits: at once where the answer is near, without keeping a core where it is not."""

import math
import os
import time
from collections.abc import Callable

from dgraph._support import interrupts

SPINS = 20_000
"""Looks at a request, a core given away after each, before a waiting rank sleeps between looks."""

A_LOOK = 4096
"""Bytes that a look moves, at least: MPI carries long messages a piece a look, and not while a rank sleeps."""


def wait_until(
    ready: Callable[[], bool],
    deadline: float = math.inf,
    look: Callable[[], None] | None = None,
    size: int = 0,
) -> None:
    """Return when ``ready()`` is true. MPI's own wait keeps its core: with more ranks than cores that is 15 times
    slower, and a rank that waits for another to compile or to partition would halve its speed.

    Args:
        look: called between looks at a request, where the answer is not near; it may raise.
        size: bytes of messages that are waited for.

    Raises:
        TimeoutError: it was not by ``deadline``, of ``time.monotonic()``.
        KeyboardInterrupt: a SIGINT came meanwhile.
    """
    for _ in range(SPINS + size // A_LOOK):
        if ready():
            return
        os.sched_yield()
    while not ready():
        interrupts.check()
        if time.monotonic() > deadline:
            raise TimeoutError
        if look is not None:
            look()
        time.sleep(0.0005)
