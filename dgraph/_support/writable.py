"""Early check of a path for a file that a run is to write."""

import os
from pathlib import Path

from dgraph.errors import OutputError, UsageError


def check_writable(path: Path) -> None:
    """Refuse a path at which no file can be created."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is a device or a pipe, whose place the file would take; name a file")
    if not path.parent.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    if not os.access(path.resolve().parent, os.W_OK):
        raise OutputError(f"{path} cannot be written: the folder {path.parent} is not writable; choose another")
