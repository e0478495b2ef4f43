"""Work of one process on several threads, for functions that release the interpreter lock: NumPy's, zlib's."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dgraph._support import compile_clock

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")
R = TypeVar("R")

MOST = 16
"""Most threads: more wait for the interpreter lock and for memory."""

PIECE = 4 << 20
"""Bytes that one thread copies at a time."""
SHARE = 1 << 18
"""Elements that are worth a thread of their own: it takes 0.1 ms."""


_pools: dict[int, Any] = {}
_own = local()
os.register_at_fork(after_in_child=_pools.clear)  # a child has none of the threads


@contextmanager
def pool(threads: int) -> Iterator[Any]:
    """Yield an executor of ``threads`` threads that is kept for later calls: to start threads takes milliseconds.

    In a thread of such an executor, which may not wait for its like, it is a fresh one.
    """
    from concurrent.futures import ThreadPoolExecutor  # 5 ms, which small results do without

    if getattr(_own, "worker", False):
        with ThreadPoolExecutor(threads) as fresh:
            yield fresh
        return
    fresh = ThreadPoolExecutor(threads, initializer=setattr, initargs=(_own, "worker", True))  # no thread starts yet
    yield _pools.setdefault(threads, fresh)


def settle(futures: Iterable[Any]) -> None:
    """Cancel what has not started, and wait for the rest, whatever it raises."""
    for future in futures:
        future.cancel() or future.exception()


def in_order(function: Callable[[T], R], items: Iterable[T], threads: int) -> Iterator[R]:
    """Yield ``function(item)`` in the order of items; at most two results a thread wait to be taken."""
    if threads < 2:
        yield from map(function, items)
        return
    waiting = deque[Any]()
    with pool(threads := min(threads, MOST)) as workers:
        try:
            for task in items:
                waiting.append(workers.submit(function, task))
                if len(waiting) > 2 * threads:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        finally:
            settle(waiting)


def _result(future: Future[R]) -> R:
    """Return the result of a thread; a wait while it compiles is compile time."""
    if future.done():
        return future.result()
    with compile_clock.waiting():
        return future.result()


def shares(function: Callable[[slice], object], size: int, threads: int) -> None:
    """Call ``function`` with slices of ``size`` elements, about equally long, one on each thread."""
    threads = min(threads, MOST, max(1, size // SHARE))
    cuts = [size * thread // threads for thread in range(threads + 1)]
    for _ in in_order(function, map(slice, cuts[:-1], cuts[1:]), threads):
        pass


def extremes(values: np.ndarray, threads: int) -> tuple[int, int]:
    """Return the smallest and the largest of integers, of which there is at least one."""
    pairs: list[tuple[int, int]] = []  # appending is atomic
    shares(lambda part: pairs.append((int(values[part].min()), int(values[part].max()))), values.size, threads)
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def copied(values: np.ndarray, threads: int) -> np.ndarray:
    """Return a copy of a one-dimensional array, made by several threads if it is large."""
    twin, rows = np.empty(values.shape, values.dtype), max(1, PIECE // max(values.itemsize, 1))

    def copy(first: int) -> None:
        twin[first : first + rows] = values[first : first + rows]

    for _ in in_order(copy, range(0, values.size, rows), threads if values.size > rows else 1):
        pass
    return twin
