"""Compressed text: recognised by its first bytes, regardless of the file's name; ``packed_members.py`` unpacks it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dgraph.errors import UsageError

MAGIC = {rb"\x1f\x8b": "gzip", rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18": "zstd"}
"""First bytes, as a pattern: a file of pzstd begins with a skippable frame."""
SUFFIXES = (".gz", ".zst")
"""Suffixes of compression, after the format's own."""


def packing(start: bytes) -> str:
    """Return the compression of a file that begins with ``start``: ``gzip``, ``zstd``, or ""."""
    return next((name for magic, name in MAGIC.items() if re.match(magic, start, re.DOTALL)), "")


def split_packing(path: str) -> tuple[str, str]:
    """Split a path into the name without the suffix of its compression, and that suffix (or "")."""
    ending = next((suffix for suffix in SUFFIXES if path.lower().endswith(suffix)), "")
    return path[: len(path) - len(ending)], ending


def suffix_of(path: str, name: str | None = None) -> str:
    """Return the suffix that determines a file's format, in lower case, without that of a compression.

    Args:
        path: the file.
        name: the format's suffix without its dot, if the user named it.
    """
    return f".{name}" if name else Path(split_packing(path)[0]).suffix.lower()


def zstd_library():
    """Return Python's own ``compression.zstd``, or its backport for versions before 3.14."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        raise UsageError(
            "no library unpacks zstd here: pip install 'dgraph-analytics[zstd]', or unpack with unzstd"
        ) from None
    return zstd
