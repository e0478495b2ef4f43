"""Folder for generated source and machine code. Only its owner may write it, because its files are executed."""

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
    """Return the cache folder, created with mode 700 if it is missing.

    It is ``DGRAPH_CACHE_DIR`` if that is set; otherwise the user's cache folder, or a node-local one if the user's
    cannot be written.

    Raises:
        OutputError: other users can write the folder, or this process can write none of the candidates.
    """
    wanted = os.environ.get("DGRAPH_CACHE_DIR")
    for path in [Path(wanted)] if wanted else _usual():
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            failure = error
            continue
        status = path.stat()
        if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise OutputError(
                f"the cache folder {path} can be written by others, and compiled code is executed from it; "
                f"chmod 700 it, or set DGRAPH_CACHE_DIR to a folder of your own"
            )
        if os.access(path, os.W_OK):
            return path
        failure = PermissionError(f"{path} is read-only")
    raise OutputError(f"no folder for compiled code: {failure}; set DGRAPH_CACHE_DIR to one that you can write")


def publish(path: Path, content: bytes) -> None:
    """Create a file of the cache atomically; keep an existing one: replacing it would make its machine code stale.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        _publish(path, content)
    except OSError as error:
        raise OutputError(
            f"the folder for compiled code {path.parent} cannot be written: {error.strerror}; "
            f"make room there, or set DGRAPH_CACHE_DIR to another folder"
        ) from error


def _publish(path: Path, content: bytes) -> None:
    import tempfile  # imported here to keep ``import dgraph`` fast

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
        except OSError:  # a file system without hard links
            os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def _usual() -> list[Path]:
    import tempfile  # imported here to keep ``import dgraph`` fast

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [home / "dgraph", Path(tempfile.gettempdir()) / f"dgraph-{os.getuid()}"]


def keep_kernels(package: Path) -> None:
    """Make Numba cache machine code in our folder if ``package`` is not writable; call it before importing the package.

    Numba caches beside the source if it can, otherwise in the user's home. If both are read-only it refuses to define
    the function. ``NUMBA_CACHE_DIR`` overrides both; a value set by the user is kept.
    """
    if os.access(package, os.W_OK) or os.environ.get("NUMBA_CACHE_DIR"):
        return
    with contextlib.suppress(OutputError):  # a later run raises this error to the user
        os.environ["NUMBA_CACHE_DIR"] = str(folder() / "kernels")
        if "numba" in sys.modules:  # Numba has read its environment already
            sys.modules["numba"].config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
