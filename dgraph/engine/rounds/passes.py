"""Passes over batches of sources: between two of them a run may be interrupted or cancelled, and shows progress.

A batch counts as a round of the run, so that the number of rounds does not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgraph._support import interrupts
from dgraph.errors import Cancelled


def passes(ctx, sources: int, batch: int, threads: int) -> Iterator[int]:
    """Yield the number of each pass over the sources, in which each thread takes a ``batch`` of them; collective.

    Raises:
        Cancelled: a rank was asked to end the run.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    batches = -(-sources // batch)
    for number in range(-(-batches // threads)):
        ctx.comm.watchdog.begin(number + 1)
        with ctx.record("compute"):
            yield number
        done = number * threads
        ctx.rounds += min(threads, batches - done)
        interrupts.check()
        ctx.progress.round(ctx.rounds, min(threads * batch, sources - done * batch))
        if ctx.comm.total(int(ctx.progress.cancelled())):
            raise Cancelled(f"the run was cancelled after pass {number + 1}; its answer is incomplete")
