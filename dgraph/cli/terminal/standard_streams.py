"""Standard output and error that may be closed, full or without a reader: a run goes on, and its exit code says so.

A failed write must not end one rank while the others wait for it, nor lose the files that a run still writes. So
:func:`guard` lets it pass, and :func:`failure` returns it when the work is done.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


class _Kept(io.FileIO):
    """File whose first failed write is kept in ``failed``; that and later output is dropped."""

    failed: OSError | None = None
    reported = False

    def write(self, chunk) -> int:
        if self.failed is None:
            try:
                return super().write(chunk) or 0
            except OSError as error:
                self.failed = error
        return memoryview(chunk).nbytes


def guard() -> None:
    """Replace this process's own standard output and error by guarded ones; streams that a caller set stay.

    A closed descriptor is opened on a file that cannot be written, before another file gets its number. Characters
    that the encoding of the output lacks are escaped.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # the lowest free descriptor is this one
            os.open(os.devnull, os.O_RDONLY)
    if sys.stdout is None or (sys.stdout is sys.__stdout__ and not isinstance(_raw(sys.stdout), _Kept)):
        sys.stdout = sys.__stdout__ = _guarded(1, sys.stdout)  # type: ignore[misc]
    if sys.stderr is None or (sys.stderr is sys.__stderr__ and not isinstance(_raw(sys.stderr), _Kept)):
        sys.stderr = sys.__stderr__ = _guarded(2, sys.stderr)  # type: ignore[misc]


def failure() -> OSError | None:
    """Return why standard output could not be written, once; None if it was, or if it is not guarded."""
    if sys.stdout is not None:
        sys.stdout.flush()
    raw = _raw(sys.stdout)
    if not isinstance(raw, _Kept) or raw.reported:
        return None
    raw.reported = raw.failed is not None
    return raw.failed


def _raw(stream: TextIO | None) -> object:
    return getattr(getattr(stream, "buffer", None), "raw", None)


def _guarded(descriptor: int, stream: TextIO | None) -> io.TextIOWrapper:
    if stream is not None:
        stream.flush()
    file = io.BufferedWriter(_Kept(descriptor, "w", closefd=False))
    return io.TextIOWrapper(
        file, getattr(stream, "encoding", "utf-8"), "backslashreplace", line_buffering=descriptor == 2 or file.isatty(),
        write_through=getattr(stream, "write_through", False),
    )  # fmt: skip
