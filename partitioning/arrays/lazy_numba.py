"""Numba's decorators, applied at a function's first call: importing Numba takes longer than a run on a small graph.

A function may name a NumPy version for small arrays, which then need no compiled code at all, not even from the cache.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, update_wrapper
from importlib import import_module
from threading import RLock, local
from types import CodeType, ModuleType
from typing import Any

import numpy as np

FEW = 9 << 15
"""Elements of each array up to which a function's NumPy version is called: 2^20 edges on four ranks, unevenly."""

_lock = RLock()


class _Own(local):
    compiles = False


_own = _Own()
"""State of this thread: True if it compiles for small arrays, too."""


class Deferred:
    """Function that Numba decorates at its first call, with the deferred functions that it calls.

    Their names in modules then stand for Numba's objects, as if those had been decorated at once.

    Attributes:
        py_func: the function.
        decorate: returns Numba's object for the function.
        made: that object; None before the first call.
    """

    def __init__(self, function: Callable, decorate: Callable[[Callable], Any]):
        self.py_func, self.decorate, self.compiled = function, decorate, None
        update_wrapper(self, function)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call Numba's object."""
        return self.numba()(*args, **keywords)

    def numba(self) -> Any:
        """Return Numba's object, compiled if needed."""
        if self.compiled is None:
            with _lock:
                if self.compiled is None:  # another thread may have made it: each object loads machine code of its own
                    self._make()
        return self.compiled

    def _make(self) -> None:
        space, names = self.py_func.__globals__, set(_names(self.py_func.__code__))
        modules = [space[name] for name in names if isinstance(space.get(name), ModuleType)]
        for place in (space, *(module.__dict__ for module in modules)):
            for name in names:
                value = place.get(name)
                if isinstance(value, Deferred) and value is not self:
                    place[name] = value.numba()
        self.compiled = self.decorate(self.py_func)
        if space.get(self.py_func.__name__) is self:
            space[self.py_func.__name__] = self.compiled


class _Few(Deferred):
    """Deferred function that is not compiled as long as its arrays are small."""

    def __init__(self, few: Callable, most: int, *more: Any):
        super().__init__(*more)
        self.few, self.most = few, most

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return (
            self.few(*args, **keywords)
            if self.compiled is None and _small(args, self.most)
            else super().__call__(*args, **keywords)
        )


def njit(
    *function: Callable, few: Any = None, most: int = 0, shared: Callable = lambda dispatcher: dispatcher,
    **options: Any,
) -> Any:  # fmt: skip
    """Return ``numba.njit(*function, **options)``, deferred to the first call.

    Args:
        few: function of the same arguments and result for arrays of up to ``FEW`` elements, by NumPy. It is called
            where a process has not compiled the function for these types.
        function: as of ``numba.njit``.
        most: elements in place of ``FEW``, where NumPy takes less than 20 ns for one.
        shared: changes Numba's object.
        options: as of ``numba.njit``.
    """
    few = None if os.environ.get("DGRAPH_COMPILE") == "always" else few

    def decorate(python_function: Callable) -> Any:
        import numba

        compiled = numba.njit(**{"no_cfunc_wrapper": True} | options)(python_function)  # no code of C calls it
        return _with_few(shared(compiled), few, most)

    def deferred(python_function: Callable) -> Deferred:
        return (Deferred if few is None else partial(_Few, few, most))(python_function, decorate)

    return deferred(function[0]) if function else deferred


def ready(function: Any, *args: Any) -> None:
    """Compile a function for the types of arrays and numbers, or load it; then it is called for small arrays, too."""
    dispatcher = function.numba() if isinstance(function, Deferred) else function
    if (kinds := (dispatcher, *map(_kind, args))) not in _made_ready:
        from numba import typeof

        dispatcher.compile(tuple(map(typeof, args)))
        _made_ready.add(kinds)


_made_ready: set[tuple] = set()
"""Functions and kinds of their arguments: Numba takes 10 µs to name the type of an array."""


def _kind(arg: Any) -> Any:
    array = isinstance(arg, np.ndarray)
    return (arg.dtype, arg.ndim, arg.flags.c_contiguous, arg.flags.writeable) if array else type(arg)


@contextmanager
def machine_code(wanted: bool = True) -> Iterator[None]:
    """Compile also for small arrays what this thread calls in the ``with``: they are parts of large ones."""
    before, _own.compiles = _own.compiles, _own.compiles or wanted
    try:
        yield
    finally:
        _own.compiles = before


def compiles(size: int) -> bool:
    """Return True if functions with a NumPy version compile for arrays of this size."""
    return size > FEW or os.environ.get("DGRAPH_COMPILE") == "always"


def _small(args: tuple, most: int) -> bool:
    return not _own.compiles and all(array.size <= (most or FEW) for array in args if isinstance(array, np.ndarray))


def _with_few(dispatcher: Any, few: Any, most: int) -> Any:
    usual = dispatcher._compile_for_args

    def chosen(*args, **keywords):
        """Return what the dispatcher calls: the function for few elements, or machine code."""
        return few if _small(args, most) else usual(*args, **keywords)

    if few is not None:
        dispatcher._compile_for_args = chosen
    return dispatcher


def intrinsic(function: Callable) -> Deferred:
    """Return ``numba.extending.intrinsic(function)``, deferred to the first compilation of a caller."""

    def decorate(python_function: Callable) -> Any:
        from numba.extending import intrinsic

        return intrinsic(python_function)

    return Deferred(function, decorate)


class LazyModule:
    """Module that is imported when an attribute of it is first read, for intrinsics: they run where Numba compiles.

    Args:
        name: of the module.
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module."""
        return getattr(import_module(self._name), name)


def external(signature: Callable) -> Deferred:
    """Return the function of the C library that a Python function names; that returns its type, of ``numba.types``."""

    def decorate(python_function: Callable) -> Any:
        from numba import types

        return types.ExternalFunction(python_function.__name__, python_function(types))

    return Deferred(signature, decorate)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names in a function, inner functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
