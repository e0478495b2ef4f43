"""Detection of ranks whose process has ended, for those on this host.

Not every launcher ends a job when one of its ranks is killed, and MPI waits for that rank for ever.
"""

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
"""Seconds between the end of a rank and the error: its last messages may still arrive, or the launcher may react."""

EVERY = 0.1
"""Seconds between polls."""

_opened: dict[tuple[int, int], int] = {}


def process_key() -> np.ndarray:
    """Return the identity of this process for :class:`Watch`: int64 [pid namespace, pid, start time].

    The namespace is a CRC-32 of the boot id and the inode of the pid namespace; 0 if processes cannot be watched.
    """
    try:
        namespace = f"{boot()} {os.stat('/proc/self/ns/pid').st_ino}"
        with open("/proc/self/stat") as file:
            started = file.read().rpartition(")")[2].split()[19]
    except OSError:
        return np.zeros(3, np.int64)
    return np.array([zlib.crc32(namespace.encode()) if boot() else 0, os.getpid(), int(started)], np.int64)


class Watch:
    """Watcher of the other ranks' processes on this host and in this container.

    Args:
        processes: :func:`process_key` of every rank.
        rank: this process's rank.

    Attributes:
        pids: rank → pid of the watched ranks.
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
        """Return the pidfds of the watched processes."""
        return list(self._ranks)

    def check(self) -> None:
        """Poll the watched processes; called repeatedly while this rank waits.

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
    """Open a pidfd, which becomes readable when the process ends; all communicators share it.

    Returns:
        None if the system has no pidfds or no free file descriptors.
    """
    file = _opened.get((pid, started))
    if file is None and hasattr(os, "pidfd_open"):
        try:
            file = _opened[pid, started] = os.pidfd_open(pid)
        except OSError:
            return None
    return file
