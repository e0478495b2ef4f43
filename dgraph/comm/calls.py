"""Serialisation of public API calls: one at a time in a process, and the same call on every rank.

Thread teams, GPU modules and communicators belong to the process, so a call waits until another thread's call has
ended. Ranks that ran overlapping calls in different orders would deadlock; on several ranks such calls are refused.
:func:`collective` marks the functions concerned.
"""

from __future__ import annotations

import inspect
import os
import sys
import threading
import zlib
from collections.abc import Callable, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from dgraph.comm import world
from dgraph.comm.base import Comm
from dgraph.comm.forks import refuse_forked
from dgraph.errors import PeerLost, UsageError

P = ParamSpec("P")
R = TypeVar("R")

BY_RANK = ("checkpoint", "gpus", "graph", "path", "resume", "spec", "threads", "transport")
"""Arguments that may differ between ranks, since each host has its own folders, GPUs and cores."""

lock = threading.RLock()
"""Lock held during a call, and while a column of an earlier result is copied from a GPU."""

BEFORE = 2
"""Integers that ranks agree on when a call opens, the same number for every function."""

_running: list[Comm] = []
"""Communicator of the running call; empty while none runs."""


def collective(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function: it waits for calls of other threads and starts on all ranks together.

    The function has a parameter ``comm``; or one of its first two arguments, or the keyword ``graph``, has that
    attribute (a graph, a result).
    Nested calls belong to the outer one.

    Raises:
        UsageError: this process was forked after MPI or CUDA started; or, on all of several ranks, calls of two threads
            overlapped, or ranks called different functions or passed different arguments.
        PeerLost: an interrupt ended the last call on several ranks.
    """
    return _called(function)


def collective_after(before: Callable[..., Sequence[int]]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate as :func:`collective` does; :func:`begun` then needs no agreement of its own in most calls.

    Args:
        before: local work that takes the call's arguments, may fail, and returns at most ``BEFORE`` integers.
    """
    return lambda function: _called(function, before)


def begun(comm: Comm, before: Callable[[], Sequence[int]]) -> list[int]:
    """Return the minimum over ranks of each integer that ``before`` returns, or raise its error; collective.

    Where :func:`collective_after` has opened the running call, both are known already.
    """
    if comm.opening is None:
        return comm.agree(*_prepared(before))
    minima, comm.opening = comm.opening, None
    return minima


def _prepared(before: Callable[..., Sequence[int]] | None, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """Return the error of local work, or None, and its integers, filled up to ``BEFORE`` with zeros."""
    error, values = None, ()  # type: BaseException | None, Sequence[int]
    try:
        values = before(*args, **kwargs) if before else ()
    except Exception as caught:
        error = caught
    return error, *[*values, *[0] * BEFORE][:BEFORE]


def _called(function: Callable[P, R], before: Callable[..., Sequence[int]] | None = None) -> Callable[P, R]:
    """Return the function in the form that :func:`collective` describes."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        refuse_forked()
        requested = _communicator_of(args, kwargs)
        if isinstance(requested, Comm) and requested.in_threads:
            return function(*args, **kwargs)
        waited = not lock.acquire(blocking=False)
        if waited:
            _refuse_other(requested)
            lock.acquire()
        try:
            if _running:
                return function(*args, **kwargs)
            comm = world.communicator(requested)
            _running.append(comm)
            try:
                if comm.size > 1:
                    error, *values = _prepared(before, *args, **kwargs)
                    minima = _open(comm, waited, _described(function, args, kwargs), error, values)
                    comm.opening = minima if before else None
                return function(*args, **kwargs)
            except Exception:
                raise
            except BaseException as error:
                comm.interrupted = type(error).__name__
                raise
            finally:
                comm.opening = None
                _running.pop()
        finally:
            lock.release()

    return called


def _open(comm: Comm, waited: bool, text: str, error: BaseException | None, values: Sequence[int]) -> list[int]:
    """Check that all ranks start the same call; return the minimum over ranks of each of ``values``; collective.

    Args:
        comm: communicator of the call.
        waited: True if another thread's call was running when this one arrived.
        text: the call, from :func:`_described`.
        error: of this rank's work before the call.
        values: ``BEFORE`` integers.
    """
    if comm.interrupted:
        raise PeerLost(
            f"{comm.interrupted} ended the last call on these ranks, and its messages may still be under way; start "
            "the ranks again"
        )
    if waited:
        error = UsageError(
            f"{text} was called while another thread's call ran on several ranks; ranks may take overlapping calls in "
            "different orders and wait for each other for ever: make such calls one after the other"
        )
    number = zlib.crc32(text.encode())
    least, most, *minima = comm.agree(error, number, -number, *values)
    if least != -most:
        texts = comm.allgather_json(text)
        other = next(rank for rank, started in enumerate(texts) if started != texts[0])
        raise UsageError(
            f"rank 0 called {texts[0]}, and rank {other} {texts[other]}; all ranks have to make the same calls with "
            "the same arguments, in the same order"
        )
    return minima


def _refuse_other(requested: object) -> None:
    """End all ranks if this call and the running one use two different communicators of several ranks each.

    Neither can wait for the other, because another rank may run them in the opposite order.
    """
    running = _running[0] if _running else None
    mine = world.existing(requested)
    if running is None or running.size == 1 or mine is running or (mine is not None and mine.size == 1):
        return
    print(
        "dgraph: error: two threads made calls on two communicators of several ranks at the same time, and may wait "
        "for each other for ever; make such calls one after the other. This ends all ranks",
        file=sys.stderr,
        flush=True,
    )
    running.abort(UsageError.exit_code)


def _communicator_of(args: tuple, kwargs: dict[str, Any]) -> object:
    """Return the communicator of a call's graph or result, or its ``comm`` argument; None means the world."""
    for argument in (*args[:2], kwargs.get("graph")):
        if isinstance(comm := getattr(argument, "comm", None), Comm):
            return comm
    return kwargs.get("comm")


def _described(function: Callable, args: tuple, kwargs: dict[str, Any]) -> str:
    """Format the call with its scalar arguments; the text is the same on every rank."""
    arguments = dict(zip(_names(function), args, strict=False)) | kwargs
    named = dict(arguments)
    for value in arguments.values():
        if isinstance(value, dict):
            named |= value
    named = {name: value for name, value in named.items() if value is not None and name not in BY_RANK}
    plain = {name: value for name, value in named.items() if isinstance(value, (str, bool, int, float, Real))}
    words = ", ".join([f"{name}={_plain(plain[name])!r}" for name in sorted(plain, key=str)])
    return f"{function.__qualname__}({words})"


@cache
def _names(function: Callable) -> tuple[str, ...]:
    """Return the names of a public function's parameters, which takes 50 µs to find out."""
    return tuple(inspect.signature(function).parameters)


def _plain(value: Any) -> object:
    """Convert a NumPy scalar to Python's type."""
    if isinstance(value, (str, bool)):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _in_child() -> None:
    """Replace the lock in a forked child, where the thread that may hold it does not exist."""
    global lock
    lock = threading.RLock()
    _running.clear()


os.register_at_fork(after_in_child=_in_child)
