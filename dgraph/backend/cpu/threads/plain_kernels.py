"""Kernels that run as plain Python on small graphs until compilation pays: nothing imports Numba, nothing compiles.

:func:`plain_first` wraps a kernel that Python calls. Its own text runs on memoryviews, whose entries are Python
numbers: integers that do not overflow in the machine code give the same bits. Kernels of one file share their seconds
(``first_runs.py``), and a process that has compiled one goes on with machine code. A kernel whose text would take
longer than its compilation has array rounds: a generator, which machine code replaces once it took too long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from dgraph._support import first_runs
from dgraph._support.compiled import plain
from dgraph.backend.cpu.threads.stand_ins import BY_NAME

MOST = 1 << 18
"""Elements of the largest array up to which a kernel runs plain: the arcs of a graph of 10^5 edges."""

Rounds = Callable[..., Iterator[None] | None]


class PlainFirst:
    """Kernel with the choice between its plain and its compiled form.

    Attributes:
        py_func: its Python function.
        most: elements of the largest array up to which it runs plain.
        rounds: its array rounds, see :func:`plain_first`; None: it has none.
        patience: seconds that plain runs may take, of all processes, in units of ``first_runs.WORTH``.
    """

    def __init__(self, function: Any, most: int, rounds: Rounds | None = None, patience: float = 1.0):
        self.py_func, self.most, self.rounds, self.patience = function.py_func, most, rounds, patience
        self._function, self._stem, self._compiles = function, f"plain.{function.py_func.__module__}", False
        update_wrapper(self, function.py_func)

    def __call__(self, *args: Any) -> Any:
        """Call the plain or the compiled form."""
        if not self.runs_plain(args):
            return self._function(*args)
        if (rounds := self.array_rounds(args[2:])) is not None:
            return None if self.ran(rounds) else self._function(*args)
        began = time.thread_time()
        try:
            return plain(self._function, BY_NAME)(*map(_viewed, args))
        finally:
            first_runs.spend(self._stem, (time.thread_time() - began) / self.patience)

    def array_rounds(self, args: tuple) -> Iterator[None] | None:
        """Note that the kernel runs plain; return its array rounds for arguments without the threads', or None."""
        first_runs.ran_plain(self.py_func.__name__.lstrip("_"))
        return None if self.rounds is None else self.rounds(*args)

    def ran(self, rounds: Iterator[None]) -> bool:
        """Run array rounds; return False if compilation pays before they end."""
        began = time.thread_time()
        ended = all(time.thread_time() - began < first_runs.WORTH * self.patience for _ in rounds)
        first_runs.spend(self._stem, (time.thread_time() - began) / self.patience)
        self._compiles |= not ended
        return ended

    def runs_plain(self, args: tuple) -> bool:
        """Return True if a call with these arguments runs plain, on one thread."""
        if not self._compiles and (_largest(args) > self.most or not first_runs.uncompiled(self._stem)):
            self._compiles = True
            first_runs.compiled(self._stem)
        return not self._compiles


def plain_first(function: Any = None, most: int = MOST, rounds: Rounds | None = None, patience: float = 1.0) -> Any:
    """Return a kernel that runs plain on arrays of up to ``most`` elements until compilation pays.

    Args:
        function: the kernel.
        most: elements.
        rounds: generator of the arguments after ``t`` and ``threads`` that does the work of all threads with NumPy, and
            yields after each round. It runs in place of the text. Until its last yield it changes only what the kernel
            sets anew. A function that returns None leaves the arguments to the text.
        patience: of :class:`PlainFirst`: the seconds that the compilation takes.
    """
    if function is None:
        return partial(plain_first, most=most, rounds=rounds, patience=patience)
    return PlainFirst(function, most, rounds, patience)


def does_without(kernel: Any, elements: int) -> bool:
    """Return True if a first run does without a kernel that compiles for long, since a shorter one answers as well.

    Above ``MOST`` elements, up to twice as many, one run alone does: later ones are worth the compilation.

    Args:
        kernel: its function.
        elements: of the largest array.
    """
    stem = f"plain.{kernel.py_func.__module__}"
    if stem in _needed:
        return False
    first = elements <= 2 * MOST and first_runs.uncompiled(stem)
    if first and elements <= MOST:
        return True
    first_runs.compiled(stem)
    _needed.add(stem)
    return first


_needed: set[str] = set()
"""Names of the kernels that this process does not do without."""


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
