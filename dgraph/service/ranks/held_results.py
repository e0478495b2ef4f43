"""Results that the ranks hold for ``rows``, ``lookup``, ``top`` and ``release``: the latest, within two limits."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from dgraph.errors import UsageError
from dgraph.result.result import Result

MOST_RESULTS = 256
"""Results that are held at most."""

MOST_BYTES = 2 << 30
"""Bytes of all held results at most, over all ranks; the latest one may be larger."""

VALUE = 8
"""Bytes of a value of a column; names count the same."""


class NotFound(UsageError):
    """There is no such graph or held result."""


class HeldResults:
    """Results by job, the same on every rank, since every rank counts the rows of all."""

    def __init__(self, most: int = MOST_RESULTS, most_bytes: int = MOST_BYTES):
        self.most, self.most_bytes = most, most_bytes
        self._held: OrderedDict[str, tuple[Result, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Result]:
        return (result for result, _ in self._held.values())

    def hold(self, job: str, result: Result, rows: int) -> None:
        """Hold a result of ``rows`` rows over all ranks; drop the oldest beyond the limits."""
        self.release(job)
        size = result_bytes(result, rows)
        self._held[job] = result, size
        self._bytes += size
        while len(self._held) > 1 and (len(self._held) > self.most or self._bytes > self.most_bytes):
            self.release(next(iter(self._held)))

    def peek(self, job: str | None) -> Result | None:
        """Return the result of a job; None if it is not held, or if there is no job."""
        return self._held[job][0] if job is not None and job in self._held else None

    def find(self, job: str) -> Result:
        """Return a held result.

        Raises:
            NotFound: it was never held, was released, or was dropped for later ones.
        """
        result = self.peek(job)
        if result is None:
            raise NotFound(
                f"the ranks do not hold a result of job {job}; they keep the last {self.most} results with keep=true, "
                f"up to {self.most_bytes:,} bytes; run the job again"
            )
        return result

    def release(self, job: str) -> None:
        """Free a held result, if there is one."""
        _, size = self._held.pop(job, (None, 0))
        self._bytes -= size

    def clear(self) -> bool:
        """Free all results; return True if there were some."""
        some = bool(self._held)
        self._held.clear()
        self._bytes = 0
        return some


def result_bytes(result: Result, rows: int) -> int:
    """Return the bytes of ``rows`` rows of a result."""
    return rows * VALUE * len(result.columns)
