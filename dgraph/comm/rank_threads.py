"""Threads of a rank: its share of the cores of its node, or fewer if a device was asked for with fewer."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from dgraph._support import affinity
from dgraph.comm.base import Comm
from dgraph.comm.context_values import set_within
from dgraph.comm.hosts import ranks_here

_most: ContextVar[int | None] = ContextVar("most", default=None)


def at_most(threads: int | None) -> AbstractContextManager[None]:
    """Let :func:`rank_threads` return at most ``threads`` inside the block; None: this sets no limit."""
    return set_within(_most, threads)


def rank_threads(comm: Comm) -> int:
    """Return the number of threads that host work of this rank may use; collective."""
    masks = comm.allgather_cached("mask", affinity.mask)
    share = affinity.share([masks[rank] for rank in ranks_here(comm)], affinity.mask())
    return min(_most.get() or share, share)
