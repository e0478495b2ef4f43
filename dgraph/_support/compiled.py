"""Numba's ``njit``, for processes that start together: one of them compiles a function, the others wait and load its
machine code. Four ranks on two cores would else compile everything four times, side by side."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import zlib
from functools import cache
from typing import Any

import numba
from numba.core.caching import FunctionCache

from dgraph._support.cache import folder
from dgraph.errors import OutputError

PATIENCE = 120.0
"""Seconds to wait for another process, which may have been stopped, before this one compiles for itself."""


def njit(*function, **options) -> Any:
    """``numba.njit``. With ``cache=True`` one of the processes that share a cache folder compiles for given types."""
    made = numba.njit(*function, **options)
    return _shared(made) if function else lambda python_function: _shared(made(python_function))


def _shared(dispatcher):
    if isinstance(dispatcher._cache, FunctionCache):
        dispatcher._cache = _OneCompiles(dispatcher._cache, dispatcher.py_func)
    return dispatcher


class _OneCompiles:
    """A dispatcher's cache on disk, which locks what is missing until it was compiled and kept."""

    def __init__(self, kept, function):
        self._kept = kept
        self._place = zlib.crc32(f"{function.__module__}.{function.__qualname__}".encode())
        self._locked = False

    def __getattr__(self, name):
        return getattr(self._kept, name)

    def load_overload(self, signature, context):
        found = self._kept.load_overload(signature, context)
        if found is None and _lock(self._place):
            self._locked = True
            found = self._kept.load_overload(signature, context)
            if found is not None:
                self._free()
        return found

    def save_overload(self, signature, made):
        try:
            self._kept.save_overload(signature, made)
        finally:
            self._free()

    def _free(self):
        if self._locked:
            _unlock(self._place)
        self._locked = False


@cache
def _file() -> int | None:
    """Locks are of bytes of one file; None where there is no place for it."""
    try:
        return os.open(folder() / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, OutputError):
        return None


def _lock(place: int) -> bool:
    """Whether it is locked now, maybe after another process had it; not where the file system has no locks."""
    end = time.monotonic() + PATIENCE
    while (file := _file()) is not None and time.monotonic() < end:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            return True
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                return False
        time.sleep(0.005)
    return False


def _unlock(place: int) -> None:
    file = _file()
    if file is not None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)
