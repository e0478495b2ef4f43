"""A matrix of distances that lies in an .npy file: each rank maps its rows."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from dgraph._support.writable import check_writable
from dgraph.comm import Comm
from dgraph.result.files.npz import npy_header
from dgraph.result.files.shared_file import output_errors


class MatrixFile:
    """Draft of the file; it appears under its name at :meth:`finish`.

    Attributes:
        here: this rank's rows, a memory map.
    """

    def __init__(self, path: Path, draft: Path, here: np.ndarray, comm: Comm):
        self.path, self.draft, self.here, self.comm = path, draft, here, comm

    def finish(self) -> None:
        """Write the rows to the disk and give the file its name; collective."""
        with self.comm.together(), output_errors(self.path):
            if isinstance(self.here, np.memmap):
                self.here.flush()
        with self.comm.together(), output_errors(self.path):
            if self.comm.rank == 0:
                os.replace(self.draft, self.path)


def in_file(path: str, shape: tuple[int, int], dtype: np.dtype, first: int, comm: Comm) -> MatrixFile:
    """Make a file of an n × n matrix with its blocks allocated, and map this rank's rows; collective.

    Args:
        path: of the .npy file.
        shape: of this rank's rows, (k, n).
        dtype: of the entries.
        first: this rank's first row.
        comm: the ranks.

    Raises:
        OutputError: the disk has too little room.
    """
    name, (rows, n) = Path(path), shape
    draft = name.with_name(f".{name.name}.{comm.bcast_json(os.getpid())}.part")
    header = npy_header(dtype, (n, n))
    with comm.together(), output_errors(name):
        if comm.rank == 0:
            check_writable(name)
            descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                os.posix_fallocate(descriptor, 0, len(header) + n * n * dtype.itemsize)
                os.pwrite(descriptor, header, 0)
            except OSError:
                draft.unlink()
                raise
            finally:
                os.close(descriptor)
    here = np.empty((0, n), dtype)
    with comm.together(), output_errors(name):
        if rows:
            offset = len(header) + first * n * dtype.itemsize
            here = np.memmap(draft, dtype, "r+", offset, (rows, n))
    return MatrixFile(name, draft, here, comm)
