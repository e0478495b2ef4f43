"""Passes over sources, and the boundaries between parts of a run that the round loop does not drive.

Searches from many sources and products of matrices are no programs. Between two of their parts :func:`boundary` does
what ``driver.py`` does between two rounds: a run may be interrupted or cancelled there, and shows progress. Before the
first part, :func:`lacking` compares the memory that a rank needs with what is free. A batch of sources counts as a
round of the run, so that the number of rounds depends on neither threads nor ranks. Entry: :func:`plan_passes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dgraph._support import interrupts
from dgraph.comm import Comm
from dgraph.comm.hosts import ranks_here
from dgraph.comm.memory import free_memory
from dgraph.engine.rounds.context import Context
from dgraph.errors import Cancelled, OutOfMemory

LEFT = 0.9
"""Share of the free memory that a run may plan for."""


@dataclass(frozen=True)
class Passes:
    """Batches of sources: in a pass each thread of each rank takes one. Equal on all ranks but for ``rank``.

    Attributes:
        sources: their number.
        batch: sources of a batch.
        threads: threads of a rank.
        ranks: ranks that take batches of their own; 1 where all ranks search from each batch together.
        rank: this rank's place among them.
    """

    sources: int
    batch: int
    threads: int = 1
    ranks: int = 1
    rank: int = 0

    def part(self, number: int) -> slice:
        """Return the places of this rank's sources in a pass; they may end beyond the last source."""
        width = self.threads * self.batch
        first = (number * self.ranks + self.rank) * width
        return slice(first, first + width)

    def turns(self, ctx: Context) -> Iterator[int]:
        """Yield the number of each pass; collective.

        Raises:
            Cancelled: a rank was asked to end the run.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        abreast, batches = self.threads * self.ranks, -(-self.sources // self.batch)
        for number in range(-(-batches // abreast)):
            ctx.comm.watchdog.begin(number + 1)
            with ctx.record("compute"):
                yield number
            done = number * abreast
            ctx.rounds += min(abreast, batches - done)
            searched = min(abreast * self.batch, self.sources - done * self.batch)
            message = f"the run was cancelled after pass {number + 1}; its answer is incomplete"
            boundary(ctx, message, ctx.rounds, searched)


def plan_passes(comm: Comm, sources: int, batch: int, threads: int, apart: bool) -> Passes:
    """Divide sources into batches for the threads of ranks.

    Args:
        comm: the ranks.
        sources: their number.
        batch: sources of a batch.
        threads: most threads of a rank, the same on all.
        apart: ranks take batches of their own.
    """
    threads = max(1, min(threads, -(-sources // batch)))
    return Passes(sources, batch, threads, comm.size if apart else 1, comm.rank if apart else 0)


def boundary(ctx: Context, cancelled: str, number: int = 0, vertices: int = 0) -> None:
    """Deliver an interrupt, show progress and end a cancelled run between two of its parts; collective.

    Args:
        ctx: context of the run.
        cancelled: message of the error that ends it.
        number: number of the part, from 1; 0: it shows no progress.
        vertices: vertices or sources of the part.

    Raises:
        Cancelled: a rank was asked to end the run.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    interrupts.check()
    if number:
        ctx.progress.round(number, vertices)
    if ctx.comm.total(int(ctx.progress.cancelled())):
        raise Cancelled(cancelled)


@contextmanager
def one_of_many(ctx: Context) -> Iterator[None]:
    """Run programs that are parts of one answer: without checkpoints, which would keep the fields of each, or limit."""
    saved = ctx.checkpoints, ctx.max_rounds
    ctx.checkpoints = ctx.max_rounds = None
    try:
        yield
    finally:
        ctx.checkpoints, ctx.max_rounds = saved


def host_share(comm: Comm) -> int | None:
    """Return the bytes of host memory that a run may plan for on this rank; None: they are unknown; collective."""
    free = free_memory()
    return None if free is None else int(LEFT * free) // max(len(ranks_here(comm)), 1)


def lacking(comm: Comm, need: int, free: int | None) -> tuple[int, int] | None:
    """Return the bytes needed and free on a rank that has too few, the same on all; None: all have enough; collective.

    Args:
        comm: the ranks.
        need: bytes that this rank needs.
        free: bytes that it may take; None: they are unknown, and count as enough.
    """
    short = free is not None and need > free
    if not comm.total(int(short)):
        return None
    need, free = next(figures for figures in comm.allgather_json([need, free] if short else None) if figures)
    return need, free


def refuse_unless_fits(comm: Comm, need: int, free: int | None, message: Callable[[int, int], str]) -> None:
    """Raise on all ranks if one lacks memory; the arguments are those of :func:`lacking`; collective.

    Raises:
        OutOfMemory: with the ``message`` of the bytes needed and free.
    """
    figures = lacking(comm, need, free)
    if figures is not None:
        raise OutOfMemory(message(*figures))
