"""Progress reports of a run. The base class prints nothing; the command line has two subclasses that draw."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from dgraph._support.arguments import refused

EVERY = 1.0
"""Seconds between two lines of rounds that are printed."""


class Progress:
    """Observer of a run. Every rank may call it: an implementation decides which ranks print. Calls must be cheap."""

    def phase(self, name: str, detail: str = "") -> None:
        """Report the start of ``load``, ``partition``, ``build``, ``compile``, ``init``, ``solve`` or ``output``."""

    def round(self, number: int, vertices: int, edges: int | None = None, direction: str = "") -> None:
        """Report the end of round ``number`` (from 1), with the size of its frontier over all ranks."""

    @property
    def watched(self) -> bool:
        """True if the class does something with a round."""
        return type(self).round is not Progress.round

    def reading(self, done: int, size: int, seconds: float) -> None:
        """Report each second of a read of more than 2 s: bytes read, bytes to read, seconds; of this rank's share."""

    def cancelled(self) -> bool:
        """Return True if the run is to end after this round, on all ranks, with :class:`~dgraph.errors.Cancelled`.

        Asked between rounds on every rank; one rank that returns True is enough.
        """
        return False

    def line(self, text: str) -> None:
        """Report a permanent line: the loaded graph, a choice and its reason, a warning."""

    def close(self) -> None:
        """Finish; no call follows. Leaving a ``with`` block calls it."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error) -> None:
        self.close()


class CalledProgress(Progress):
    """Progress that passes a dict to a function: ``phase`` and ``detail``, figures of a round or a read, or a ``line``.

    Args:
        call: the function. An exception that it raises ends the run.
    """

    def __init__(self, call: Callable[[dict[str, Any]], Any]):
        self.call = call

    def phase(self, name, detail=""):
        """Pass a phase."""
        self.call({"phase": name, "detail": detail})

    def round(self, number, vertices, edges=None, direction=""):
        """Pass a round."""
        self.call({"round": number, "vertices": vertices, "edges": edges, "direction": direction})

    def reading(self, done, size, seconds):
        """Pass a read."""
        self.call({"read": done, "size": size, "seconds": seconds})

    def line(self, text):
        """Pass a line."""
        self.call({"line": text})


class PrintedProgress(Progress):
    """Progress as lines on stderr, with the seconds since the start; of rounds, one line a second."""

    def __init__(self) -> None:
        self._began = self._printed = time.perf_counter()

    def phase(self, name, detail=""):
        """Print a phase."""
        self.line(f"{name} {detail}".rstrip())

    def round(self, number, vertices, edges=None, direction=""):
        """Print a round, unless a line was printed within the last second."""
        if time.perf_counter() - self._printed >= EVERY:
            self.line(round_text(number, vertices, edges, direction))

    def reading(self, done, size, seconds):
        """Print a read."""
        self.line(read_text(done, size, seconds))

    def line(self, text):
        """Print a line."""
        self._printed = time.perf_counter()
        print(f"[{self._printed - self._began:8.2f} s] {text}", file=sys.stderr, flush=True)


def progress_of(value: Any, rank: int) -> Progress:
    """Return the progress that a caller asks for: None, True, a function, or a :class:`Progress`.

    Raises:
        UsageError: another value.
    """
    if value is None or value is False or (value is True and rank):
        return Progress()
    if value is True:
        return PrintedProgress()
    if isinstance(value, Progress):
        return value
    if callable(value) and not isinstance(value, type):
        return CalledProgress(value)
    raise refused("progress", value, "", "True, a function of a dict, a dgraph.report.Progress, or None")


def round_text(number: int, vertices: int, edges: int | None, direction: str) -> str:
    """Return a line about a round and its frontier."""
    where = f"round {number:,}" + (f" ({direction})" if direction else "")
    return f"{where}: frontier of {vertices:,} vertices" + (f", {edges:,} edges" if edges else "")


def read_text(done: int, size: int, seconds: float) -> str:
    """Return a line about a read: its bytes, bytes a second, and the time that is left at this speed."""
    speed = max(done, 1) / seconds
    return (
        f"read {done / 1e6:,.0f} of {size / 1e6:,.0f} MB, {speed / 1e6:,.0f} MB/s, {(size - done) / speed:,.0f} s left"
    )
