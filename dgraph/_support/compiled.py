"""Numba's ``njit`` with one compilation per node: one process compiles a function, the others load its machine code.

Without a lock four ranks that start together on two cores would each compile every function. A process takes the
function's lock before it compiles; the others wait for it and then find the cached code.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import FunctionType, MappingProxyType
from typing import Any

from dgraph._support.compile_clock import compiling, in_turn
from dgraph._support.host_lock import lock, unlock
from partitioning.arrays import lazy_numba
from partitioning.arrays.lazy_numba import Deferred
from partitioning.arrays.linked_code import linked

YOUNG = 50_000
"""New objects after which Python searches for cycles while a function compiles; its own figure is 700 to 2,000."""


def njit(*function, **options) -> Any:
    """Defer ``numba.njit`` to the first call; with ``cache=True`` only one process of a cache folder compiles.

    Arguments are those of :func:`partitioning.arrays.lazy_numba.njit`.
    """
    return lazy_numba.njit(*function, shared=_shared, **options)


def plain(compiled: Any, stand_ins: Mapping[str, Callable] = MappingProxyType({})) -> Callable:
    """Return a compiled function's Python function, which calls plain functions: most work on arrays as on numbers.

    Args:
        compiled: the function.
        stand_ins: Python functions by the names of intrinsics; the same in all calls for a function.
    """
    function = _plain.get(compiled.py_func)
    if function is None:
        code, space = compiled.py_func.__code__, dict(compiled.py_func.__globals__)
        function = _plain[compiled.py_func] = FunctionType(code, space)
        for name in code.co_names:
            if name in stand_ins:
                space[name] = stand_ins[name]
            elif hasattr(space.get(name), "py_func"):
                space[name] = plain(space[name], stand_ins)
    return function


_plain: dict[Callable, Callable] = {}


def share(package: str) -> None:
    """Let one process compile each function of an imported package that defers Numba's own ``njit``."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for value in list(vars(module).values()):
                if isinstance(value, Deferred) and value.compiled is None:
                    value.decorate = partial(_decorate_shared, value.decorate)


def _decorate_shared(decorate: Callable, function: Callable) -> Any:
    compiled = decorate(function)
    return _shared(compiled) if hasattr(compiled, "targetoptions") else compiled  # an intrinsic is not compiled alone


def _shared(dispatcher):
    from numba.core.caching import FunctionCache

    if dispatcher.targetoptions.get("no_cpython_wrapper"):
        linked(dispatcher)
    if isinstance(dispatcher._cache, FunctionCache):
        dispatcher._cache = _OneCompiles(dispatcher._cache, dispatcher.py_func)
    compiler, usual = dispatcher._compiler, dispatcher._compiler.compile

    def timed(*types):
        with compiling(_name(dispatcher.py_func)), _collecting_less():
            return usual(*types)

    compiler.compile = timed
    dispatcher.compile = partial(_in_turn, dispatcher.compile)
    return dispatcher


@contextmanager
def _collecting_less() -> Iterator[None]:
    """Let Python search for cycles after ``YOUNG`` new objects: a compilation makes millions, of which most stay."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], YOUNG) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _in_turn(compiled: Callable, signature: Any) -> Any:
    """Compile or load, one thread at a time."""
    from numba.core.compiler_lock import global_compiler_lock

    with in_turn(global_compiler_lock._lock):
        return compiled(signature)


def _name(function: Callable) -> str:
    return f"{function.__module__}.{function.__qualname__}"


class _OneCompiles:
    """Dispatcher's on-disk cache that holds a file lock from a cache miss until the compiled code is saved."""

    def __init__(self, kept, function):
        self._kept = kept
        self._name = _name(function)
        self._locked = False

    def __getattr__(self, name):
        return getattr(self._kept, name)

    def load_overload(self, signature, context):
        overload = self._load(signature, context)
        if overload is None and self._lock():
            self._locked = True
            overload = self._load(signature, context)
            if overload is not None:
                self._free()
        return overload

    def _lock(self) -> bool:
        with compiling(self._name):  # another process may compile
            return lock(self._name)

    def _load(self, signature, context):
        """Load machine code; Numba's ``load_overload`` first imports what compilation needs, SciPy among it (0.2 s)."""
        from numba.core.runtime import rtsys

        rtsys.initialize(context)
        with self._kept._guard_against_spurious_io_errors():
            return self._kept._load_overload(signature, context)

    def save_overload(self, signature, overload):
        try:
            with suppress(OSError):  # a full disk costs the next process a compilation, not this one its run
                self._kept.save_overload(signature, overload)
        finally:
            self._free()

    def _free(self):
        if self._locked:
            unlock(self._name)
        self._locked = False
