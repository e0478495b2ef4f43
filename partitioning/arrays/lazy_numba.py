"""Numba's decorators, applied at a function's first call: importing Numba takes longer than a run on a small graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import update_wrapper
from threading import RLock
from types import CodeType, ModuleType
from typing import Any

_lock = RLock()


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


def njit(*function: Callable, **options: Any) -> Any:
    """Return ``numba.njit(*function, **options)``, deferred to the first call."""

    def decorate(python_function: Callable) -> Any:
        import numba

        return numba.njit(**options)(python_function)

    return Deferred(function[0], decorate) if function else lambda decorated: Deferred(decorated, decorate)


def intrinsic(function: Callable) -> Deferred:
    """Return ``numba.extending.intrinsic(function)``, deferred to the first compilation of a caller."""

    def decorate(python_function: Callable) -> Any:
        from numba.extending import intrinsic

        return intrinsic(python_function)

    return Deferred(function, decorate)


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global names in a function, inner functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
