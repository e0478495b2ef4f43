"""Contract of a communicator.

Collectives take and return NumPy arrays; small structured values travel as JSON, never as pickle. Every method is
collective unless its docstring says otherwise: all ranks call it, in the same order.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import numpy as np

from dgraph import errors
from dgraph.comm.waiting import wait_idle, wait_until
from dgraph.comm.watchdog import Watchdog

Make = Callable[[int, np.dtype], np.ndarray]
"""Function that makes a 1-D array of a size and a dtype, as ``numpy.empty`` does."""

NO_PEERS = nullcontext()
"""Context of work that no other rank waits for."""


class Request(Protocol):
    """Pending point-to-point message."""

    @property
    def size(self) -> int:
        """Bytes of the message; defined once a receive is done."""

    def done(self) -> bool:
        """Return True if the message is complete and its buffer may be reused."""


class Comm(ABC):
    """Group of ``size`` ranks; this process is number ``rank``."""

    rank: int
    size: int
    transport: str
    deadline = math.inf
    """Time of ``time.monotonic()`` after which a collective that some rank has not joined raises :class:`TimeoutError`.
    No collective works after that."""
    in_threads = False
    """True if the ranks are threads of one process, as in tests: their calls run concurrently."""
    opening: list[int] | None = None
    """Integers that the running call's ranks agreed on when it opened; see :func:`dgraph.comm.calls.begun`."""
    interrupted = ""
    """Name of the exception (``KeyboardInterrupt``) that ended a call and may have left messages under way."""

    def __init__(self) -> None:
        self._gathered: dict[str, tuple[str, list]] = {}
        self.watchdog = Watchdog()

    def wait(self, ready: Callable[[], bool], size: int = 0) -> None:
        """Poll until ``ready()`` is true; not collective.

        Args:
            ready: completion test; it may depend on messages of other ranks.
            size: bytes of those messages in all.

        Raises:
            TimeoutError: the deadline passed.
            PeerLost: a rank that this process can watch has ended.
        """
        wait_until(ready, self.deadline, size=size)

    def idle(self, ready: Callable[[], bool]) -> None:
        """Wait as :meth:`wait` does, for a message that may take hours: at most 3 % of a core; not collective."""
        wait_idle(ready)

    @abstractmethod
    def barrier(self) -> None:
        """Wait until every rank has called it."""

    @abstractmethod
    def allreduce(self, values: np.ndarray, op: str = "sum") -> np.ndarray:
        """Reduce a small int64 or float64 array of one shape element-wise over ranks; ``op``: sum, min or max."""

    def begin_allreduce(self, values: np.ndarray, op: str = "sum") -> Callable[[], np.ndarray]:
        """Start an allreduce and return the function that waits for its result.

        Other work may run in between, but no other communication.
        """
        combined = self.allreduce(values, op)
        return lambda: combined

    @abstractmethod
    def allgather(self, values: np.ndarray) -> np.ndarray:
        """Stack small arrays of one shape and dtype by rank: shape ``(size, *values.shape)``."""

    def begin_allgather(self, values: np.ndarray) -> Callable[[], np.ndarray]:
        """Start an :meth:`allgather`; the rest is as of :meth:`begin_allreduce`."""
        gathered = self.allgather(values)
        return lambda: gathered

    @abstractmethod
    def allgatherv(self, values: np.ndarray) -> list[np.ndarray]:
        """Gather 1-D arrays of one dtype and any length, as a list by rank."""

    def begin_allgatherv(self, values: np.ndarray) -> Callable[[], list[np.ndarray]]:
        """Start an :meth:`allgatherv`; the rest is as of :meth:`begin_allreduce`."""
        gathered = self.allgatherv(values)
        return lambda: gathered

    @abstractmethod
    def alltoallv(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Send ``parts[r]`` (1-D, one dtype everywhere) to rank r; return the arrays received, by sender."""

    def gathered(self, values: np.ndarray, root: int, threads: int = 1) -> np.ndarray:
        """Return the 1-D arrays of all ranks, one after the other, as a new one on ``root``; an empty one elsewhere.

        They have one dtype, and any length. ``threads`` of ``root`` share its work on memory.
        """
        counts = self.allgather(np.array([values.size], np.int64))[:, 0]
        return self.gathered_rows(lambda make: values, counts, root, threads)

    def gathered_rows(
        self, rows: Callable[[Make], np.ndarray], counts: np.ndarray, root: int, threads: int = 1
    ) -> np.ndarray:
        """Do :meth:`gathered` of arrays that ``rows(make)`` returns, ``counts`` by rank.

        On ``root``, those in the array that it asks of ``make(size, dtype)`` are in their place and are not copied.
        """
        mine = np.ascontiguousarray(rows(np.empty))
        raw = mine.view(np.uint8) if mine.size else np.empty(0, np.uint8)
        whole = self.alltoallv([raw if rank == root else raw[:0] for rank in range(self.size)])
        return np.concatenate(whole).view(mine.dtype)

    @abstractmethod
    def exchange(
        self, sends: Mapping[int, tuple[np.ndarray, int]], inboxes: Mapping[int, np.ndarray]
    ) -> dict[int, int]:
        """Send ``(message, bound)`` to each peer and receive into ``inboxes[peer]`` (uint8); return bytes by peer.

        ``bound`` is the largest size that this message could have had. It equals the length of the peer's inbox, so
        both sides split a long message at the same offsets.
        """

    @abstractmethod
    def send(self, peer: int, address: int, size: int) -> Request:
        """Start sending ``size`` bytes at ``address``; messages to one rank keep their order. Not collective."""

    @abstractmethod
    def receive(self, peer: int, address: int, size: int) -> Request:
        """Start receiving the next message of ``peer``, at most ``size`` bytes, at ``address``; not collective."""

    def duplicate(self) -> Comm:
        """Return a communicator of the same ranks with separate messages; it lives as long as this one.

        A communicator without messages returns itself.
        """
        return self

    @abstractmethod
    def abort(self, code: int) -> None:
        """End every rank at once with exit ``code``, when one rank cannot continue; not collective."""

    def allgather_json(self, value) -> list:
        """Gather one JSON-able value from each rank, as a list by rank."""
        raw = np.frombuffer(json.dumps(value).encode(), np.uint8)
        return [json.loads(part.tobytes()) for part in self.allgatherv(raw)]

    def allgather_cached(self, what: str, make: Callable[[], object]) -> list:
        """Gather JSON-able values that seldom change; a repeated call costs one small allreduce if none changed.

        Args:
            what: key of the cache.
            make: returns this rank's value; it may fail on some ranks, as in :meth:`together`.

        Returns:
            The values by rank. Do not modify them: later calls return the same list.
        """
        cached, text = self._gathered.get(what), ""
        error: BaseException | None = None
        try:
            text = json.dumps(make())
        except Exception as caught:
            error = caught
        (same,) = self.agree(error, cached is not None and cached[0] == text)
        if not same or cached is None:
            cached = self._gathered[what] = text, self.allgather_json(json.loads(text))
        return cached[1]

    def bcast_json(self, value, root: int = 0):
        """Return the JSON-able value of rank ``root``; other ranks' values are ignored."""
        return self.allgather_json(value if self.rank == root else None)[root]

    def total(self, value: int) -> int:
        """Return the sum of one integer over ranks."""
        return int(self.allreduce(np.array([value], np.int64))[0])

    def largest(self, value: int) -> int:
        """Return the maximum of one integer over ranks."""
        return int(self.allreduce(np.array([value], np.int64), "max")[0])

    def before(self, value: int) -> int:
        """Return the exclusive prefix sum of one integer: its sum over the ranks below this one."""
        return int(self.allgather(np.array([value], np.int64))[: self.rank].sum())

    def together(self) -> AbstractContextManager[None]:
        """Run local work that may fail on some ranks; then all ranks raise the lowest failing rank's error.

        The block must not communicate. An exception that is not a :class:`~dgraph.errors.DgraphError` becomes an
        :class:`~dgraph.errors.InternalError`, or :class:`~dgraph.errors.OutputError` for an :class:`OSError`.
        """
        return NO_PEERS if self.size == 1 else self._together()

    @contextmanager
    def _together(self) -> Iterator[None]:
        error: BaseException | None = None
        try:
            yield
        except Exception as caught:
            error = caught
        self.agree(error)

    @contextmanager
    def agreeing(self, values: int, at_end: AbstractContextManager | None = None) -> Iterator[None]:
        """Run work that calls :meth:`agree` several times; the next call after a failure raises it on all ranks.

        Errors are raised as by :meth:`together`. The end of the block calls :meth:`agree`, too.

        Args:
            values: how many values each of these calls passes.
            at_end: context of the last call, such as a timer.
        """
        error: BaseException | None = None
        try:
            yield
        except Exception as caught:
            if getattr(caught, "on_all_ranks", False):
                raise
            error = caught
        with at_end or nullcontext():
            self.agree(error, *[0] * values)

    def guarded(self) -> AbstractContextManager[None]:
        """Print an unexpected exception of one rank and end all ranks, since the others would wait for it.

        A :class:`~dgraph.errors.DgraphError` is raised on all ranks already, so it propagates.
        """
        return NO_PEERS if self.size == 1 else self._guarded()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except errors.DgraphError:
            raise
        except Exception:
            import sys
            import traceback

            print(f"[rank {self.rank}]", traceback.format_exc(), sep="\n", file=sys.stderr, flush=True)
            self.abort(errors.InternalError.exit_code)

    def agree(self, error: BaseException | None, *values: int) -> list[int]:
        """Raise on every rank if any rank passes an error; otherwise return the minimum of each value over ranks."""
        if self.size == 1:
            if error is not None:
                raise error
            return list(values)
        worst, *least = self.allreduce(np.array([self.rank if error else self.size, *values], np.int64), "min").tolist()
        if worst == self.size:
            return least
        message = None if error is None else [_name_error(error), _describe_error(error)]
        name, text = self.bcast_json(message, root=worst)
        agreed = getattr(errors, name)(text)
        agreed.on_all_ranks = True
        raise agreed from error


def _name_error(error: BaseException) -> str:
    if isinstance(error, errors.DgraphError):
        names = (cls.__name__ for cls in type(error).__mro__ if getattr(errors, cls.__name__, None) is cls)
        return next(names)
    return "OutputError" if isinstance(error, OSError) else "InternalError"


def _describe_error(error: BaseException) -> str:
    if isinstance(error, (errors.DgraphError, OSError)):
        return str(error)
    import traceback

    return "".join(traceback.format_exception(error)).rstrip()
