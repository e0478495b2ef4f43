"""Numba's ``njit`` with one compilation per node: one process compiles a function, the others load its machine code.

A function may name a NumPy version for small arrays, which then need no compiled code at all, not even from the cache.

Without a lock four ranks that start together on two cores would each compile every function. A process takes the
function's lock before it compiles; the others wait for it and then find the cached code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from dgraph._support.compile_clock import compiling
from dgraph._support.host_lock import lock, unlock
from partitioning.arrays.lazy_numba import Deferred

FEW = 1 << 16
"""Elements of each array up to which a function's NumPy version is called: it takes milliseconds."""


def njit(*function, few: Any = None, **options) -> Any:
    """Defer ``numba.njit`` to the first call; with ``cache=True`` only one process of a cache folder compiles.

    Args:
        few: function of the same arguments and result for arrays of up to ``FEW`` elements, by NumPy. It is called
            where a process has not compiled the function for these types.
        function: as of ``numba.njit``.
        options: as of ``numba.njit``.
    """

    def decorate(python_function: Callable) -> Any:
        import numba

        return _with_few(_shared(numba.njit(**options)(python_function)), few)

    def deferred(python_function: Callable) -> Deferred:
        kind = Deferred if few is None or os.environ.get("DGRAPH_COMPILE") == "always" else partial(_Few, few)
        return kind(python_function, decorate)

    return deferred(function[0]) if function else deferred


class _Few(Deferred):
    """Deferred function that is not compiled as long as its arrays are small."""

    def __init__(self, few: Callable, *more: Any):
        super().__init__(*more)
        self.few = few

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return (
            self.few(*args, **keywords)
            if self.compiled is None and _small(args)
            else super().__call__(*args, **keywords)
        )


def plain(compiled: Any) -> Callable:
    """Return a compiled function's Python function, which calls plain functions: most work on arrays as on numbers."""
    function = _plain.get(compiled.py_func)
    if function is None:
        code, space = compiled.py_func.__code__, dict(compiled.py_func.__globals__)
        function = _plain[compiled.py_func] = FunctionType(code, space)
        called = [name for name in code.co_names if hasattr(space.get(name), "py_func")]
        space.update({name: plain(space[name]) for name in called})
    return function


_plain: dict[Callable, Callable] = {}


def _small(args: tuple) -> bool:
    return all(array.size <= FEW for array in args if isinstance(array, np.ndarray))


def _with_few(dispatcher, few):
    usual = dispatcher._compile_for_args

    def chosen(*args, **keywords):
        """Return what the dispatcher calls: the function for few elements, or machine code."""
        return few if _small(args) else usual(*args, **keywords)

    if few is not None and os.environ.get("DGRAPH_COMPILE") != "always":
        dispatcher._compile_for_args = chosen
    return dispatcher


def share(package: str) -> None:
    """Let one process compile each function of an imported package that defers Numba's own ``njit``."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package:
            for value in list(vars(module).values()):
                if isinstance(value, Deferred) and value.compiled is None:
                    value.decorate = partial(_decorate_shared, value.decorate)


def _decorate_shared(decorate: Callable, function: Callable) -> Any:
    return _shared(decorate(function))


def _shared(dispatcher):
    from numba.core.caching import FunctionCache

    if isinstance(dispatcher._cache, FunctionCache):
        dispatcher._cache = _OneCompiles(dispatcher._cache, dispatcher.py_func)
    compiler, usual = dispatcher._compiler, dispatcher._compiler.compile

    def timed(*types):
        with compiling(_name(dispatcher.py_func)):
            return usual(*types)

    compiler.compile = timed
    return dispatcher


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
            self._kept.save_overload(signature, overload)
        finally:
            self._free()

    def _free(self):
        if self._locked:
            unlock(self._name)
        self._locked = False
