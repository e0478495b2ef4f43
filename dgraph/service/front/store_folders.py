"""Folders of graphs in the state folder: they are set aside at once, and deleted after; leftovers go at the start.

A graph may take the name of one that was deleted while that one's files are still being removed.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

ASIDE = ".removed-"
"""Beginning of the name of a folder that is being deleted; no graph's name begins so."""


def set_aside(folder: Path, graphs: Path) -> Path:
    """Move a folder to a name of its own in the folder ``graphs``, so that its place is free; return where it is."""
    aside = graphs / f"{ASIDE}{secrets.token_hex(6)}"
    with contextlib.suppress(FileNotFoundError):
        folder.rename(aside)
    return aside


def remove(folder: Path) -> None:
    """Delete a folder, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(state: Path, wanted: Iterable[str]) -> None:
    """Delete what the last run of the service left: folders that were set aside, and data of no graph.

    Args:
        state: the state folder.
        wanted: paths of received data from which graphs are still to be made.
    """
    for folder in (state / "graphs").glob(f"{ASIDE}*"):
        remove(folder)
    kept = set(wanted)
    for path in (state / "uploads").iterdir():
        if str(path) not in kept:
            path.unlink(missing_ok=True)
