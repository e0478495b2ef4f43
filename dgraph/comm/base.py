"""The contract of a communicator.

Collectives take and give NumPy arrays; small structured values travel as JSON, never as pickle.
Everything is collective unless it says otherwise: every rank calls it, in the same order.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

import numpy as np

from dgraph import errors
from dgraph.comm.waiting import wait_until
from dgraph.comm.watchdog import Watchdog


class Request(Protocol):
    """One message under way. ``size``: of one that was received, its bytes."""

    @property
    def size(self) -> int: ...

    def done(self) -> bool:
        """Whether its memory may be used again."""


class Comm(ABC):
    """``size`` ranks, of which this process is number ``rank``."""

    rank: int
    size: int
    transport: str
    deadline = math.inf
    """Of ``time.monotonic()``: collectives that others have not joined by then raise :class:`TimeoutError`, and nothing
    can be agreed on any more."""
    in_threads = False
    """True where the ranks are threads of one process, as in tests: their calls run side by side."""
    interrupted = ""
    """The exception that ended a call between two agreements (``KeyboardInterrupt``): messages may be under way."""

    def __init__(self) -> None:
        self._lasting: dict[str, tuple[str, list]] = {}
        self.watchdog = Watchdog()

    def wait(self, ready: Callable[[], bool], size: int = 0) -> None:
        """Return when ``ready()`` is true, which may take messages of other ranks, of ``size`` bytes in all; not
        collective.

        Raises:
            TimeoutError: it was not by the deadline.
            PeerLost: a rank has ended that can be watched from here.
        """
        wait_until(ready, self.deadline, size=size)

    @abstractmethod
    def barrier(self) -> None: ...

    @abstractmethod
    def allreduce(self, values: np.ndarray, op: str = "sum") -> np.ndarray:
        """Element-wise ``sum``, ``min`` or ``max`` over ranks of a small int64 or float64 array of one shape."""

    def begin_allreduce(self, values: np.ndarray, op: str = "sum") -> Callable[[], np.ndarray]:
        """An allreduce that other work, but no other exchange, may be done beside; what is returned waits for it."""
        found = self.allreduce(values, op)
        return lambda: found

    @abstractmethod
    def allgather(self, values: np.ndarray) -> np.ndarray:
        """Small arrays of one shape and dtype, stacked by rank: shape ``(size, *values.shape)``."""

    @abstractmethod
    def allgatherv(self, values: np.ndarray) -> list[np.ndarray]:
        """1-D arrays of one dtype and any length, by rank."""

    @abstractmethod
    def alltoallv(self, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Give ``parts[r]`` (1-D, one dtype everywhere) to rank r; get what each rank gave to this one."""

    @abstractmethod
    def exchange(
        self, sends: Mapping[int, tuple[np.ndarray, int]], inboxes: Mapping[int, np.ndarray]
    ) -> dict[int, int]:
        """Point to point: send ``(message, bound)`` to each peer, receive into ``inboxes[peer]`` (uint8).

        ``bound`` is the most bytes that this message could have had, and equals the length of the peer's inbox:
        so both sides cut a message at the same places. Returns the bytes received from each peer.
        """

    @abstractmethod
    def send(self, peer: int, address: int, size: int) -> Request:
        """Begin to send ``size`` bytes at ``address``; not collective. Messages to a rank arrive in the order begun."""

    @abstractmethod
    def receive(self, peer: int, address: int, size: int) -> Request:
        """Begin to receive at most ``size`` bytes at ``address``: the next message of ``peer``; not collective."""

    def duplicate(self) -> Comm:
        """The same ranks again, with messages that never meet this communicator's, for as long as this one is there;
        itself where there are none."""
        return self

    @abstractmethod
    def abort(self, code: int) -> None:
        """End every rank at once (not collective): the last resort when one rank cannot go on."""

    def allgather_json(self, value) -> list:
        """One JSON-able value a rank, by rank."""
        raw = np.frombuffer(json.dumps(value).encode(), np.uint8)
        return [json.loads(part.tobytes()) for part in self.allgatherv(raw)]

    def allgather_lasting(self, what: str, make: Callable[[], object]) -> list:
        """:meth:`allgather_json` of what seldom changes: later calls for ``what`` take one small message, as long as no
        rank's value is another. Do not write to what is returned.

        Args:
            make: gives this rank's value; it may fail on some ranks, as in :meth:`together`.
        """
        known, told = self._lasting.get(what), ""
        error: BaseException | None = None
        try:
            told = json.dumps(make())
        except Exception as caught:
            error = caught
        (same,) = self.agree(error, known is not None and known[0] == told)
        if not same or known is None:
            known = self._lasting[what] = told, self.allgather_json(json.loads(told))
        return known[1]

    def bcast_json(self, value, root: int = 0):
        """The value that ``root`` holds; the others' are ignored."""
        return self.allgather_json(value if self.rank == root else None)[root]

    def total(self, value: int) -> int:
        """The sum of one integer over ranks."""
        return int(self.allreduce(np.array([value], np.int64))[0])

    def largest(self, value: int) -> int:
        """The largest of one integer over ranks."""
        return int(self.allreduce(np.array([value], np.int64), "max")[0])

    def before(self, value: int) -> int:
        """The sum of one integer over the ranks below this one."""
        return int(self.allgather(np.array([value], np.int64))[: self.rank].sum())

    @contextmanager
    def together(self) -> Iterator[None]:
        """Local work that may fail on some ranks: then all ranks raise, with the lowest failing rank's message.

        The block must not communicate. An exception that is not a :class:`~dgraph.errors.DgraphError` becomes an
        :class:`~dgraph.errors.InternalError`, or :class:`~dgraph.errors.OutputError` for an :class:`OSError`.
        """
        error: BaseException | None = None
        try:
            yield
        except Exception as caught:
            error = caught
        self.agree(error)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """A fault that one rank alone meets must not leave the others waiting: it is shown, and all ranks end.

        Errors that dgraph raises on purpose were agreed on, so they pass.
        """
        try:
            yield
        except errors.DgraphError:
            raise
        except Exception:
            if self.size == 1:
                raise
            import sys
            import traceback

            print(f"[rank {self.rank}]", traceback.format_exc(), sep="\n", file=sys.stderr, flush=True)
            self.abort(errors.InternalError.exit_code)

    def agree(self, error: BaseException | None, *values: int) -> list[int]:
        """Raise on every rank if any rank brings an error; if none does, the least of each value over ranks."""
        if self.size == 1:
            if error is not None:
                raise error
            return list(values)
        worst, *least = self.allreduce(np.array([self.rank if error else self.size, *values], np.int64), "min").tolist()
        if worst == self.size:
            return least
        told = None if error is None else [_kind(error), _text(error)]
        name, text = self.bcast_json(told, root=worst)
        raise getattr(errors, name)(text) from error


def _kind(error: BaseException) -> str:
    if isinstance(error, errors.DgraphError):
        known = (cls.__name__ for cls in type(error).__mro__ if getattr(errors, cls.__name__, None) is cls)
        return next(known)
    return "OutputError" if isinstance(error, OSError) else "InternalError"


def _text(error: BaseException) -> str:
    if isinstance(error, (errors.DgraphError, OSError)):
        return str(error)
    import traceback

    return "".join(traceback.format_exception(error)).rstrip()
