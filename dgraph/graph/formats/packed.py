"""Compressed text: recognised by its first bytes, regardless of the file's name, and decompressed as a stream."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dgraph.errors import DataError, UsageError

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = (".gz", ".zst")
"""Suffixes of compression, after the format's own."""


def packing(start: bytes) -> str:
    """Return the compression of a file that begins with ``start``: ``gzip``, ``zstd``, or ""."""
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")


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


@contextmanager
def unpacked(path: str, kind: str) -> Iterator[IO[bytes]]:
    """Open a file compressed with ``kind`` (``""``: plain) as a stream of its text.

    Raises:
        UsageError: ``kind`` is zstd, and no library for it is installed.
        DataError: inside the block, if the compressed data are cut short or damaged.
    """
    damaged: tuple[type[Exception], ...] = (gzip.BadGzipFile, zlib.error)
    opener: Any = gzip.open if kind == "gzip" else open
    if kind == "zstd":
        zstd = zstd_library()
        opener, damaged = zstd.open, (zstd.ZstdError,)
    with opener(path, "rb") as file:
        try:
            yield file
        except EOFError:
            raise DataError(f"{path}: ends inside what {kind} has packed; was it cut short? fetch it again") from None
        except damaged as wrong:
            raise DataError(f"{path}: {kind} cannot unpack it ({wrong}); fetch it again") from wrong


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
