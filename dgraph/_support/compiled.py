"""Numba's ``njit`` with one compilation per node: one process compiles a function, the others load its machine code.

Without it four ranks that start together on two cores would each compile every function. A process takes a byte-range
lock in the cache folder before it compiles; the others wait for the lock and then find the cached code.
"""

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
from numba.core.runtime import rtsys

from dgraph._support.cache import folder
from dgraph.errors import OutputError

PATIENCE = 120.0
"""Seconds to wait for the process that compiles; it may be stopped. After that this process compiles for itself."""


def njit(*function, **options) -> Any:
    """Wrap ``numba.njit``; with ``cache=True`` only one of the processes that share a cache folder compiles."""
    made = numba.njit(*function, **options)
    return _shared(made) if function else lambda python_function: _shared(made(python_function))


def _shared(dispatcher):
    if isinstance(dispatcher._cache, FunctionCache):
        dispatcher._cache = _OneCompiles(dispatcher._cache, dispatcher.py_func)
    return dispatcher


class _OneCompiles:
    """Dispatcher's on-disk cache that holds a file lock from a cache miss until the compiled code is saved."""

    def __init__(self, kept, function):
        self._kept = kept
        self._place = zlib.crc32(f"{function.__module__}.{function.__qualname__}".encode())
        self._locked = False

    def __getattr__(self, name):
        return getattr(self._kept, name)

    def load_overload(self, signature, context):
        found = self._load(signature, context)
        if found is None and _lock(self._place):
            self._locked = True
            found = self._load(signature, context)
            if found is not None:
                self._free()
        return found

    def _load(self, signature, context):
        """Load machine code; Numba's ``load_overload`` first imports what compilation needs, SciPy among it (0.2 s)."""
        rtsys.initialize(context)
        with self._kept._guard_against_spurious_io_errors():
            return self._kept._load_overload(signature, context)

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
    """Open the file whose bytes are the locks; None if there is no writable cache folder."""
    try:
        return os.open(folder() / "compiling.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except (OSError, OutputError):
        return None


def _lock(place: int) -> bool:
    """Return True if this process now holds lock ``place``; False after ``PATIENCE`` or without file locks."""
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
