"""Files that a request may name: inside the data root, with no symbolic link that leaves it.

Also the size of a generated graph, so that one which cannot fit is refused before it is loaded.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from dgraph.errors import UsageError
from dgraph.graph.generate import recipe_of
from dgraph.service.front.problem_documents import Problem

BYTES_PER_EDGE = 16
"""Least memory of an edge while a graph is built: two ids of 8 bytes."""

BYTES_PER_VERTEX = 8
"""Least memory of a vertex: the offset of its row."""

FILES_OF_A_STORE = 100_000


def bytes_of(source: str) -> int:
    """Return the least memory in bytes that a generator's graph takes while it is built.

    Raises:
        Problem: 422 for a spec that is not valid.
    """
    try:
        recipe, _ = recipe_of(source)
    except (UsageError, ArithmeticError, ValueError) as error:
        raise Problem(422, f"got the source {error!s:.1000}; see docs/guide/data.md", "UsageError") from None
    return recipe.items * BYTES_PER_EDGE + recipe.n * BYTES_PER_VERTEX


def available_memory() -> int:
    """Return the bytes of memory that this host could give to new data."""
    with open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 1 << 62


def check_size(source: str, memory: int) -> None:
    """Refuse a generated graph that exceeds the memory.

    Raises:
        Problem: 507 with the figures; 422 if the spec is malformed.
    """
    needed = bytes_of(source)
    if needed > memory:
        raise Problem(
            507,
            f"got the source {source:.200}, which takes {needed:,} bytes while it is built, but {memory:,} are "
            "available; give a smaller size",
            "OutOfMemory",
            bytes=needed,
            available=memory,
        )


def _inside(root: Path, text: str, field: str) -> Path:
    """Return the real path of a relative one; refuse one that leaves the root."""
    parts = Path(text).parts
    if "\0" in text or not text.strip():
        raise Problem(422, f"got an empty {field} or one with a NUL character; give a path relative to the data root")
    if os.path.isabs(text) or text.startswith("~") or ".." in parts:
        raise Problem(
            403, f"got the {field} {text!r}, which is absolute or contains '..'; give a path relative to the data root"
        )
    try:
        real = (root / text).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise Problem(422, f"got the {field} {text!r:.200}, which cannot be resolved: {why}; give another") from None
    if not real.is_relative_to(root.resolve()):
        raise Problem(
            403, f"got the {field} {text!r}, which a symbolic link leads out of the data root; give a file inside it"
        )
    return real


def readable(root: Path, source: str) -> Path:
    """Return the real path of a source in the data root.

    Raises:
        Problem: 403 if it, a file beside it of the same stem, or a file of the store leads out of the root, or if it is
            not a file or folder; 422 if it does not exist.
    """
    real = _inside(root, source, "source")
    try:
        mode = real.stat().st_mode
    except (OSError, ValueError):
        raise Problem(
            422, f"got the source {source!r}, but the data root has no such file; give a path relative to it"
        ) from None
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise Problem(403, f"got the source {source!r}, which is neither a file nor a folder; give one of the two")
    # formats of several files read those of the same stem, and a store all files of its folder
    related = real.rglob("*") if stat.S_ISDIR(mode) else real.parent.glob(f"{_quoted(real.stem)}.*")
    for number, path in enumerate(related):
        if number > FILES_OF_A_STORE:
            raise Problem(422, f"got the source {source!r}, a folder of more than {FILES_OF_A_STORE} files")
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise Problem(
                403, f"got the source {source!r}, but {path.name} leads out of the data root; replace the link"
            )
    return real


def _quoted(stem: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", stem)


NAME_BYTES = 240
"""Longest name of a file that is written; its draft has some bytes more, and file systems take 255."""

SUFFIXES = (".txt", ".csv", ".npz", ".parquet", ".arrow")


def writable(root: Path, path: str, replace: bool) -> Path:
    """Return the real path of a file that mode ``write`` may write.

    Raises:
        Problem: 403 if it leaves the root; 409 if it exists and ``replace`` is False; 422 if its folder does
            not exist, its suffix is unknown, or its name is too long or cannot be printed.
    """
    if not path.isprintable():
        raise Problem(422, f"got the file {path[:200]!a}, which has characters that cannot be printed; leave them out")
    if len(os.fsencode(Path(path).name)) > NAME_BYTES:
        raise Problem(422, f"got a name of a file that has more than {NAME_BYTES} bytes; give a shorter one")
    real = _inside(root, path, "file to write")
    if real.suffix not in SUFFIXES:
        raise Problem(422, f"got the file {path!r}, whose suffix is not one of {', '.join(SUFFIXES)}; give one of them")
    if not os.path.isdir(real.parent) or os.path.isdir(real):  # False where the system refuses the name
        raise Problem(422, f"got the file {path!r}, but its folder does not exist in the data root; make it first")
    if os.path.lexists(real) and not replace:
        raise Problem(409, f"got the file {path!r}, which exists; give another name, or replace true")
    return real
