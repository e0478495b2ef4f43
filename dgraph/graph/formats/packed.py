"""Compressed text: told by its first bytes, whatever the file is called, and unpacked as a stream."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from dgraph.errors import DataError, UsageError

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = (".gz", ".zst")
"""Endings that stand behind a format's own."""


def packing(start: bytes) -> str:
    """What a file that begins with ``start`` is packed with: ``gzip``, ``zstd``, or nothing."""
    return next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")


def split_packing(path: str) -> tuple[str, str]:
    """A file's name without the ending of its compression, and that ending (or "")."""
    ending = next((each for each in SUFFIXES if path.lower().endswith(each)), "")
    return path[: len(path) - len(ending)], ending


@contextmanager
def unpacked(path: str, kind: str) -> Iterator[IO[bytes]]:
    """The bytes of a file that is packed with ``kind`` (``""``: plain), from its beginning.

    Raises:
        UsageError: zstd, and no library for it is installed.
        DataError: inside the block, what is packed is cut short or damaged.
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
    """Python's own ``compression.zstd``, or the same for older ones."""
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
