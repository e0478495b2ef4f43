"""The folder of generated code and machine code. Only its owner can write it: what lies in it is executed."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from functools import cache
from pathlib import Path

from dgraph.errors import OutputError


@cache
def folder() -> Path:
    """``DGRAPH_CACHE_DIR``, else the user's cache folder, else, where that cannot be written, a node-local one.

    Raises:
        OutputError: others can write the folder, or there is none that this process can write.
    """
    wanted = os.environ.get("DGRAPH_CACHE_DIR")
    for path in [Path(wanted)] if wanted else _usual():
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            failure = error
            continue
        found = path.stat()
        if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OutputError(
                f"the cache folder {path} can be written by others, and compiled code is executed from it; "
                f"chmod 700 it, or set DGRAPH_CACHE_DIR to a folder of your own"
            )
        if os.access(path, os.W_OK):
            return path
        failure = PermissionError(f"{path} is read-only")
    raise OutputError(f"no folder for compiled code: {failure}; set DGRAPH_CACHE_DIR to one that you can write")


def publish(path: Path, content: bytes) -> None:
    """Write a file that appears as a whole, and only once: the machine code of a file that is replaced is stale."""
    import tempfile  # not at the top: ``import dgraph`` comes through here

    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _usual() -> list[Path]:
    import tempfile  # not at the top: ``import dgraph`` comes through here

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [home / "dgraph", Path(tempfile.gettempdir()) / f"dgraph-{os.getuid()}"]


def keep_kernels(package: Path) -> None:
    """Have Numba keep the machine code of a ``package`` that is not writable in our folder, before it is imported.

    Numba keeps it beside the source where it can. Where it cannot, and the user's home is read-only as well, Numba
    refuses to define the function; ``NUMBA_CACHE_DIR`` stands above both, and a user's own is left as it is.
    """
    if os.access(package, os.W_OK) or os.environ.get("NUMBA_CACHE_DIR"):
        return
    with contextlib.suppress(OutputError):  # a run will tell it
        os.environ["NUMBA_CACHE_DIR"] = str(folder() / "kernels")
        if "numba" in sys.modules:  # it has read its environment
            sys.modules["numba"].config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
