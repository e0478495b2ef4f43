"""Kernels that run as plain Python on small graphs until compilation pays: nothing imports Numba, nothing compiles.

:func:`plain_first` wraps a kernel that Python calls. Its own text runs on memoryviews, whose entries are Python
numbers: integers that do not overflow in the machine code give the same bits. Kernels of one file share their seconds
(``first_runs.py``), and a process that has compiled one goes on with machine code.
"""

from __future__ import annotations

import time
from functools import update_wrapper
from typing import Any

import numpy as np

from dgraph._support import first_runs
from dgraph._support.compiled import plain
from dgraph.backend.cpu.threads.stand_ins import BY_NAME

MOST = 1 << 18
"""Elements of the largest array up to which a kernel runs plain: the arcs of a graph of 10^5 edges."""


class PlainFirst:
    """Kernel with the choice between its plain and its compiled form.

    Attributes:
        py_func: its Python function.
        most: elements of the largest array up to which it runs plain.
    """

    def __init__(self, function: Any, most: int):
        self.py_func, self.most = function.py_func, most
        self._function, self._stem, self._compiles = function, f"plain.{function.py_func.__module__}", False
        update_wrapper(self, function.py_func)

    def __call__(self, *args: Any) -> Any:
        """Call the plain or the compiled form."""
        if not self.runs_plain(args):
            return self._function(*args)
        first_runs.ran_plain(self.py_func.__name__.lstrip("_"))
        began = time.thread_time()
        try:
            return plain(self._function, BY_NAME)(*map(_viewed, args))
        finally:
            first_runs.spend(self._stem, time.thread_time() - began)

    def runs_plain(self, args: tuple) -> bool:
        """Return True if a call with these arguments runs plain, on one thread."""
        if not self._compiles and (_largest(args) > self.most or not first_runs.uncompiled(self._stem)):
            self._compiles = True
            first_runs.compiled(self._stem)
        return not self._compiles


def plain_first(function: Any = None, most: int = MOST) -> Any:
    """Return a kernel that runs plain on arrays of up to ``most`` elements until compilation pays."""
    return PlainFirst(function, most) if function is not None else lambda kernel: PlainFirst(kernel, most)


def _largest(args: tuple) -> int:
    sizes = (_largest(arg) if isinstance(arg, tuple) else getattr(arg, "size", 1) for arg in args)
    return max(sizes, default=0)


def _viewed(arg: Any) -> Any:
    """Return what a plain kernel takes for an argument: a view of an array, a list of them of a table, a number."""
    if isinstance(arg, tuple):
        return tuple(map(_viewed, arg))
    if isinstance(arg, np.ndarray):
        return memoryview(arg) if arg.ndim == 1 else [_viewed(row) for row in arg]  # type: ignore[arg-type]
    return arg.tolist() if isinstance(arg, np.generic) else arg
