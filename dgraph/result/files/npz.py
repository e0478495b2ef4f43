"""Layout of an uncompressed .npz, computed before any data are written, so that ranks can write in parallel.

An .npz is a zip archive of .npy members. Here members are stored uncompressed, every record is in its zip64 form, and a
member's checksum is combined from those of the ranks' pieces. PKWARE APPNOTE 6.3.10.
"""

from __future__ import annotations

import io
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dgraph._support.threads import in_order
from partitioning.arrays import crc32

VERSION = 45
"""Version of the zip format: the first with zip64."""

NEW_YEAR_1980 = 1 << 5 | 1
"""Date of every member, so that equal results give equal files."""

IN_ZIP64 = 0xFFFFFFFF
"""Placeholder of a size or offset that is in the zip64 extra field."""


@dataclass(frozen=True)
class Member:
    """One column of the archive.

    Attributes:
        name: the key in ``np.load``.
        head: the .npy header.
        begin: offset of the member's record in the file.
        size: bytes of the column's data.
    """

    name: str
    head: bytes
    begin: int
    size: int

    @property
    def data(self) -> int:
        """Offset in the file of the column's first value."""
        return self.begin + len(self.record(0))

    @property
    def end(self) -> int:
        """Offset just after the column's last value."""
        return self.data + self.size

    @property
    def _file(self) -> bytes:
        return f"{self.name}.npy".encode()

    @property
    def _stored(self) -> int:
        return len(self.head) + self.size

    def record(self, checksum: int) -> bytes:
        """Return the bytes before the data: local file header and .npy header."""
        sizes = struct.pack("<HHQQ", 1, 16, self._stored, self._stored)
        kind = (b"PK\3\4", VERSION, 0x800, 0, 0, NEW_YEAR_1980)
        fixed = struct.pack("<4sHHHHHIIIHH", *kind, checksum, IN_ZIP64, IN_ZIP64, len(self._file), len(sizes))
        return fixed + self._file + sizes + self.head

    def entry(self, checksum: int) -> bytes:
        """Return the member's entry in the archive's central directory."""
        sizes = struct.pack("<HHQQQ", 1, 24, self._stored, self._stored, self.begin)
        kind = (b"PK\1\2", VERSION, VERSION, 0x800, 0, 0, NEW_YEAR_1980)
        lengths = (len(self._file), len(sizes), 0, 0, 0, 0)
        fixed = struct.pack("<4sHHHHHHIIIHHHHHII", *kind, checksum, IN_ZIP64, IN_ZIP64, *lengths, IN_ZIP64)
        return fixed + self._file + sizes


def members(columns: Mapping[str, np.dtype], rows: int) -> list[Member]:
    """Return the archive's members in file order, for columns of ``rows`` values."""
    listed: list[Member] = []
    for name, dtype in columns.items():
        listed.append(member(name, dtype, (rows,), listed[-1].end if listed else 0))
    return listed


def member(name: str, dtype: np.dtype, shape: tuple[int, ...], begin: int) -> Member:
    """Return an array's member, with its record at offset ``begin``."""
    return Member(name, npy_header(dtype, shape), begin, math.prod(shape) * dtype.itemsize)


def npy_header(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    """Return the bytes before the data of an .npy file."""
    head = io.BytesIO()
    kind = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, kind)
    return head.getvalue()


def combined_checksum(head: bytes, pieces: Iterable[tuple[int, int]]) -> int:
    """Return the CRC-32 of a member: of its header, then the ranks' pieces, given as (CRC-32, length)."""
    return crc32.combined(pieces, zlib.crc32(head))


def summed(pieces: Iterable[np.ndarray], mine: np.ndarray, threads: int) -> Iterator[memoryview]:
    """Yield the bytes of pieces, and set ``mine`` to their CRC-32, which threads compute, and their length."""

    def sum_up(piece: np.ndarray) -> tuple[memoryview, int]:
        raw = np.ascontiguousarray(piece).view(np.uint8).data
        return raw, zlib.crc32(raw)

    for raw, checksum in in_order(sum_up, pieces, threads):
        mine[:] = crc32.crc32_combine(int(mine[0]), checksum, raw.nbytes), mine[1] + raw.nbytes
        yield raw


def directory(of: Sequence[Member], checksums: Sequence[int]) -> bytes:
    """Return the central directory and its end records, which follow the last member."""
    begin = of[-1].end
    entries = b"".join(member.entry(crc) for member, crc in zip(of, checksums, strict=True))
    counts = (len(of), len(of), len(entries), begin)
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, VERSION, VERSION, 0, 0, *counts)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, begin + len(entries), 1)
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(of), len(of), len(entries), IN_ZIP64, 0)
    return entries + end64 + locator + end
