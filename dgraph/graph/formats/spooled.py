"""Pipes as input: rank 0 copies a pipe to a temporary file that all ranks read, and removes it afterwards.

Ranks read their own parts of a file, and a pipe can be read once and by one process. :func:`spooled` is the entry.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from dgraph.comm.base import Comm
from dgraph.errors import DgraphError, OutputError, UsageError


@contextmanager
def spooled(path: str, comm: Comm) -> Iterator[str]:
    """Yield the path of a regular file with the content of ``path``: itself unless it is a pipe; collective.

    Inside the block errors name ``path``, not the temporary file. That file lies in the folder for temporary files
    (``TMPDIR``), which all hosts must share.

    Raises:
        OutputError: the copy fails, or a rank does not see it.
    """
    copy = ""
    try:
        with comm.together():
            if comm.rank == 0 and _is_pipe(path):
                copy = _copied(path)
        shared = comm.bcast_json(copy)
        if not shared:
            yield path
            return
        with comm.together():
            if not os.path.exists(shared):
                raise OutputError(
                    f"{path}: rank 0 copied it to {shared}, which rank {comm.rank} does not see; set TMPDIR to a "
                    "folder that all hosts share"
                )
        try:
            yield shared
        except DgraphError as error:
            error.args = (str(error).replace(shared, path), *error.args[1:])
            raise
    finally:
        if copy:
            os.unlink(copy)


def _is_pipe(path: str) -> bool:
    """Return True for named pipes, and for the standard input and other open files of this process."""
    if re.fullmatch(r"/dev/stdin|/dev/fd/[0-9]+|/proc/self/fd/[0-9]+", path):
        if not os.path.exists(path):
            raise UsageError(
                f"{path}: rank 0 has no such open file; a launcher such as mpirun may pass its standard input alone: "
                "COMMAND | mpirun … /dev/stdin"
            )
        return True
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _copied(path: str) -> str:
    """Copy a pipe to a temporary file; return the file's path."""
    name = ""
    try:
        with open(path, "rb") as pipe, tempfile.NamedTemporaryFile(prefix="dgraph-", delete=False) as file:
            name = file.name
            shutil.copyfileobj(pipe, file, 1 << 20)
    except BaseException as wrong:
        if name:
            os.unlink(name)
        if isinstance(wrong, OSError):
            raise OutputError(
                f"{path}: its copy in {tempfile.gettempdir()} failed ({wrong.strerror}); free space there, or set "
                "TMPDIR to another folder"
            ) from None
        raise
    return name
