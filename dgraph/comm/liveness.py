"""Whether ranks that this one waits for still run. Not every launcher ends a job one of whose ranks was killed, and MPI
waits for that rank without end."""

from __future__ import annotations

import os
import select
import time
import zlib
from collections.abc import Iterable

import numpy as np

from dgraph.comm.hosts import boot
from dgraph.errors import PeerLost

GRACE = 3.0
"""Seconds after the end of a rank in which what it sent may still arrive, and its launcher may end the job."""

EVERY = 0.1
"""Seconds between looks."""

_opened: dict[tuple[int, int], int] = {}


def here() -> np.ndarray:
    """This process, for :class:`Watch`: int64 [where its number is known, its number, when it started]; the first is 0
    where processes cannot be watched."""
    try:
        known = f"{boot()} {os.stat('/proc/self/ns/pid').st_ino}"
        with open("/proc/self/stat") as file:
            started = file.read().rpartition(")")[2].split()[19]
    except OSError:
        return np.zeros(3, np.int64)
    return np.array([zlib.crc32(known.encode()) if boot() else 0, os.getpid(), int(started)], np.int64)


class Watch:
    """Tells when the process of another rank has ended: of those on this host, in this container.

    Args:
        processes: :func:`here` of every rank.

    Attributes:
        pids: the other ranks on this host, in this container: rank → process number.
    """

    def __init__(self, processes: Iterable[np.ndarray], rank: int):
        rows = np.stack(list(processes)).tolist()
        self._ranks: dict[int, int] = {}
        self.pids: dict[int, int] = {}
        self._poll = select.poll()
        self._next, self._ended = 0.0, (-1, 0.0)
        for other, (where, pid, started) in enumerate(rows):
            file = _open(pid, started) if other != rank and where == rows[rank][0] != 0 else None
            if file is not None:
                self._ranks[file], self.pids[other] = other, pid
                self._poll.register(file, select.POLLIN)

    def files(self) -> list[int]:
        """Of ``pidfd_open``: the processes that are watched."""
        return list(self._ranks)

    def look(self) -> None:
        """Called again and again while this rank waits.

        Raises:
            PeerLost: a rank ended ``GRACE`` seconds ago.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        rank, since = self._ended
        if rank < 0:
            ended = [self._ranks[file] for file, _ in self._poll.poll(0)]
            if ended:
                self._ended = min(ended), now
        elif now - since > GRACE:
            raise PeerLost(
                f"rank {rank} has ended, and others wait for it; what it printed last, or the log of its host (out of "
                "memory?), may say why"
            )


def _open(pid: int, started: int) -> int | None:
    """A file that can be read from once the process has ended, one for all communicators; none where the system has no
    such files, or no more of them."""
    known = _opened.get((pid, started))
    if known is None and hasattr(os, "pidfd_open"):
        try:
            known = _opened[pid, started] = os.pidfd_open(pid)
        except OSError:
            return None
    return known
