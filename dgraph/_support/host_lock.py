"""Locks between the processes of a host, one for each text that one of them compiles and the others load.

A lock is a byte range of a file in the cache folder, which the system frees when its process ends.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from dgraph._support.cache import folder
from dgraph.errors import OutputError

PATIENCE, IMPATIENCE = 120.0, 1.0
"""Seconds to wait for a process that compiles, which may be stopped, and after one such wait in vain for any other.

After that this process compiles for itself: a stopped process may hold the locks of many texts.
"""

_in_vain: list[str] = []
"""Names of the locks that this process waited for in vain."""


def lock(name: str, patience: float = PATIENCE) -> bool:
    """Return True if this process now holds the lock of that name; False after ``patience`` or without file locks."""
    end = time.monotonic() + min(patience, IMPATIENCE if _in_vain else PATIENCE)
    while (file := _file()) is not None:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(name))
            return True
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                return False
        if time.monotonic() >= end:
            if patience >= PATIENCE:
                _in_vain.append(name)
            return False
        time.sleep(0.005)
    return False


def unlock(name: str) -> None:
    """Free a lock that this process holds."""
    file = _file()
    if file is not None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, _place(name))


@contextmanager
def locked(name: str, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock during the body of the ``with``; its value is False if :func:`lock` gave up."""
    ours = lock(name, patience)
    try:
        yield ours
    finally:
        if ours:
            unlock(name)


def _place(name: str) -> int:
    return zlib.crc32(name.encode())


@cache
def _file() -> int | None:
    """Open the file whose bytes are the locks; None if there is no writable cache folder."""
    try:
        return os.open(folder() / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, OutputError):
        return None
