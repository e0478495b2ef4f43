"""One file that all ranks write, each at its own offsets; it appears under its name complete or not at all."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from dgraph._support.termination import removing_at_end
from dgraph.comm import Comm
from dgraph.errors import OutputError

Buffer = bytes | memoryview | np.ndarray


class SharedFile:
    """Draft of a file, open on every rank as ``descriptor``."""

    def __init__(self, path: Path, descriptor: int, comm: Comm):
        self.path, self.descriptor, self.comm = path, descriptor, comm

    def write(self, offset: int, pieces: Iterable[Buffer]) -> None:
        """Write pieces one after the other from ``offset`` on; collective. Ranks' ranges must not overlap.

        Raises:
            OutputError: on all ranks, if the system refuses on one.
        """
        with self.comm.together(), output_errors(self.path):
            self._write(offset, pieces)

    @contextmanager
    def beside(self, offset: int, pieces: Iterable[Buffer]) -> Iterator[None]:
        """Write pieces as :meth:`write` does, by a thread that makes them itself, while the body runs; collective."""
        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(self._write, offset, pieces)
            yield
            with self.comm.together(), output_errors(self.path):
                written.result()

    def _write(self, offset: int, pieces: Iterable[Buffer]) -> None:
        for piece in pieces:
            raw = piece.data if isinstance(piece, np.ndarray) else memoryview(piece)
            rest = raw.cast("B") if raw.nbytes else memoryview(b"")
            while len(rest):
                written = os.pwrite(self.descriptor, rest, offset)
                rest, offset = rest[written:], offset + written


@contextmanager
def shared_file(path: Path, comm: Comm) -> Iterator[SharedFile]:
    """Open a draft beside ``path``; rename it at the end of the block, or remove it after an error; collective."""
    target = path.resolve()  # a symbolic link stays
    draft = target.with_name(f".{target.name}.{comm.bcast_json(os.getpid())}.part")
    descriptor = -1
    try:
        with removing_at_end(partial(draft.unlink, missing_ok=True), wanted=comm.rank == 0):
            with comm.together(), output_errors(path):
                if comm.rank == 0:
                    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            with comm.together(), output_errors(path):
                descriptor = os.open(draft, os.O_WRONLY)
            yield SharedFile(path, descriptor, comm)
            with comm.watchdog.paused(), comm.together(), output_errors(path):  # a disk may take minutes
                os.fsync(descriptor)
            with comm.together(), output_errors(path):
                if comm.rank == 0:
                    os.replace(draft, target)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
        if comm.rank == 0:
            draft.unlink(missing_ok=True)


@contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into an OutputError with the file, the host and a remedy."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written on {socket.gethostname()}: {error.strerror}; nothing was left there. "
            "Choose a folder with room that every rank's host can write"
        ) from error
