"""Sparse matrices as ``scipy.sparse.save_npz`` writes them (csr, csc, coo), read with NumPy alone.

Arrays are streamed out of the archive, so that a rank holds only its share of the entries. On one rank, threads read
large arrays that are stored uncompressed; where the checksum or a value is wrong, streaming reports it.
"""

from __future__ import annotations

import lzma
import os
import struct
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.lib import format as npy

from dgraph._support.threads import PIECE, in_order
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError
from dgraph.graph.block import gid_type
from dgraph.graph.build.array_input import ROUNDED, as_weights, check_range, rounds_weights
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import Listed, RawRows
from dgraph.graph.formats.counted_header import check_size, set_direction
from dgraph.graph.formats.sniff import file_size
from dgraph.graph.reading import Reading
from partitioning.arrays.crc32 import combined

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


STEP = 1 << 20
"""Values read at a time."""
LARGE = 2 * STEP
"""Values of an array that threads read."""
LOCAL = struct.Struct("<26x2H")
"""Header of a member in front of its data: the lengths of the name and of the extra field, which follow it."""
DEFLATE = 1100
"""Bound on the compression ratio: deflate reaches 1032 at most, so an archive that claims more is corrupt."""
PARSING = threading.Lock()
"""Lock around header parsing: CPython 3.11's literal parser may raise SystemError in concurrent threads (ranks)."""
DAMAGED: tuple[type[Exception], ...] = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, KeyError, ValueError, RuntimeError,
    SyntaxError, tokenize.TokenError, OverflowError, TypeError, SystemError,
)  # fmt: skip
"""Exceptions of ``zipfile`` and NumPy's header reader on invalid bytes; headers are parsed as Python, whose tokenizer
raises SystemError at a null byte from 3.12 on."""


def read_npz(path: str, comm: Comm, options: LoadOptions) -> Listed:
    """Read a matrix: entry (i, j) is the arc i → j and its value the weight; a matrix of booleans has no weights.

    One rank takes the rows of a csr matrix as they are; several take equal shares of the entries.
    """
    threads = rank_threads(comm)
    with comm.together():
        file_size(path)
        try:
            with zipfile.ZipFile(path) as archive, ExitStack() as members:
                raw, n, entries, rounded = _read(path, archive, members, options.weights is None, comm, threads)
        except DAMAGED as wrong:
            raise DataError(
                f"{path}: not a sparse matrix of scipy.sparse.save_npz ({wrong}); write it again with save_npz"
            ) from wrong
        check_size(path, n, entries, options)
    if comm.total(rounded) and raw.weights is not None:
        raw.weights = raw.weights.astype(np.float64, copy=False)
        raw.facts.notes.append(ROUNDED)
    set_direction(raw, path, True, "the default for .npz")
    return raw


def _read(
    path: str, archive: zipfile.ZipFile, members: ExitStack, weighs: bool, comm: Comm, threads: int
) -> tuple[Listed, int, int, bool]:
    """Read this rank's edges; return them, n, the number of entries, and True if weights here were rounded."""

    def column(name: str) -> _Column:
        info = archive.getinfo(f"{name}.npy")
        stored = path if comm.size == 1 and info.compress_type == zipfile.ZIP_STORED else ""
        return _Column(name, info, members.enter_context(archive.open(info)), stored, threads)

    form = column("format")
    if form.size != 1:
        raise ValueError(f"it names {form.size} formats")
    kind = form.read(1)[0]
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    if kind not in ("csr", "csc", "coo"):
        raise DataError(
            f"{path}: got a matrix in format {kind!r}; supported are csr, csc, coo; convert it with .tocsr()"
        )
    shape = column("shape").vector().read(3)
    if shape.size != 2 or shape[0] != shape[1] or shape[0] < 0:
        raise DataError(f"{path}: got shape {tuple(shape.tolist())}; the matrix of a graph is square; make it so")
    n = int(shape[0])
    major, minor = ("row", "col") if kind == "coo" else ("indptr", "indices")
    entry_values, ends = column("data").vector(integers=False), column(minor).vector()
    entries = ends.size
    if entry_values.size != entries:
        raise DataError(f"{path}: {entry_values.size} values for {entries} entries; write it again with save_npz")
    lo, hi = (entries * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    dst = _ids(ends, lo, hi, n, f"{path}: {minor}")
    start = column(major).vector()
    if kind == "coo":
        if start.size != entries:
            raise DataError(f"{path}: {start.size} rows for {entries} entries; write it again with save_npz")
        src = _ids(start, lo, hi, n, f"{path}: row")
    elif comm.size > 1 or kind == "csc":
        src = _expand_rows(start, lo, hi, n, entries, path)
    else:
        starts = np.concatenate(list(_row_ends(start, n, entries, path)))
    if entry_values.dtype.kind not in "biuf":
        raise DataError(f"{path}: got values of {entry_values.dtype}; a weight is a real number; convert the matrix")
    weights, rounded = None, False
    if weighs and entry_values.dtype != bool:
        values = entry_values.part(lo, hi)
        weights = as_weights(values, f"{path}: data", lo)
        rounded = rounds_weights(values, weights)
    if kind == "csr" and comm.size == 1:
        return RawRows(n, 0, starts, dst, weights), n, entries, rounded
    return RawEdges(*((dst, src) if kind == "csc" else (src, dst)), weights, n=n), n, entries, rounded


class _Column:
    """One array of the archive, streamed from its beginning.

    Attributes:
        stored: path of the archive if the array is uncompressed in it and threads may read it; else "".
    """

    def __init__(self, name: str, info: zipfile.ZipInfo, file: IO[bytes], stored: str, threads: int):
        self.name, self.file, self.info, self.stored, self.threads = name, file, info, stored, threads
        version = npy.read_magic(self.file)
        header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with PARSING:
            shape, _, self.dtype = header(self.file)
        if self.dtype.hasobject or len(shape) > 1:
            raise ValueError(f"{name} is not a plain 1-D array")
        self.size = shape[0] if shape else 1
        self.axes = len(shape)
        length = info.file_size - self.file.tell()
        if self.size * self.dtype.itemsize != length or length > info.compress_size * DEFLATE:
            raise ValueError(f"{name} has a length that does not match its header")

    def vector(self, integers: bool = True) -> _Column:
        """Return this column if it is 1-D and, with ``integers``, of integers; else raise ValueError."""
        if self.axes != 1:
            raise ValueError(f"{self.name} is not a 1-D array")
        if integers and self.dtype.kind not in "iu":
            raise ValueError(f"{self.name} holds {self.dtype}, not integers")
        return self

    def whole(self) -> np.ndarray | None:
        """Return all values, read by threads; None if they are to be streamed: few, compressed, or damaged."""
        if not self.stored or self.size < LARGE:
            return None
        values, head = np.empty(self.size, self.dtype), self.info.file_size - self.size * self.dtype.itemsize
        raw = values.view(np.uint8).data
        with open(self.stored, "rb", buffering=0) as file:
            record = os.pread(file.fileno(), LOCAL.size, self.info.header_offset)
            begin = self.info.header_offset + LOCAL.size + sum(LOCAL.unpack(record))
            first = zlib.crc32(os.pread(file.fileno(), head, begin))

            def read(low: int) -> tuple[int, int]:
                piece = raw[low : low + PIECE]
                count = os.preadv(file.fileno(), [piece], begin + head + low)
                return zlib.crc32(piece), count

            pieces, reading = [], Reading(len(raw))
            for checksum, count in in_order(read, range(0, len(raw), PIECE), self.threads):
                pieces.append((checksum, count))
                reading.add(count)
        if sum(count for _, count in pieces) != len(raw) or combined(pieces, first) != self.info.CRC:
            return None
        return values.astype(self.dtype.newbyteorder("="), copy=False)

    def read(self, count: int) -> np.ndarray:
        """Return the next ``count`` values, fewer at the end."""
        raw = self.file.read(min(count, self.size) * self.dtype.itemsize)
        return np.frombuffer(raw, self.dtype).astype(self.dtype.newbyteorder("="), copy=False)

    def pieces(self, lo: int, hi: int) -> Iterator[np.ndarray]:
        """Yield values ``lo .. hi - 1``, up to :data:`STEP` at a time."""
        position = 0
        if lo == 0 and hi == self.size and (values := self.whole()) is not None:
            yield from (values[first : first + STEP] for first in range(0, hi, STEP))
            return
        while position < hi:
            piece = self.read(min(STEP, (lo if position < lo else hi) - position))
            if not piece.size:
                raise ValueError(f"{self.name} ends early")
            if position >= lo:
                yield piece
            position += piece.size

    def part(self, lo: int, hi: int) -> np.ndarray:
        """Return values ``lo .. hi - 1`` in one array."""
        if lo == 0 and hi == self.size and (values := self.whole()) is not None:
            return values
        entries, filled = np.empty(hi - lo, self.dtype.newbyteorder("=")), 0
        for piece in self.pieces(lo, hi):
            entries[filled : filled + piece.size] = piece
            filled += piece.size
        return entries


def _ids(column: _Column, lo: int, hi: int, n: int, name: str) -> np.ndarray:
    values = column.whole() if lo == 0 and hi == column.size else None
    if values is not None:
        check_range(values, 0, n - 1, name, 0, column.threads)
        return values.view(gid_type(n)) if values.itemsize == gid_type(n).itemsize else values.astype(gid_type(n))
    ids, filled = np.empty(hi - lo, gid_type(n)), 0
    for piece in column.pieces(lo, hi):
        check_range(piece, 0, n - 1, name, lo + filled)
        ids[filled : filled + piece.size] = piece
        filled += piece.size
    return ids


def _expand_rows(offsets: _Column, lo: int, hi: int, n: int, entries: int, path: str) -> np.ndarray:
    """Return the rows of entries ``lo .. hi - 1``."""
    rows, row, last = [np.empty(0, gid_type(n))], -1, 0
    for piece in _row_ends(offsets, n, entries, path):
        lengths: np.ndarray = np.diff(np.clip(piece, lo, hi), prepend=min(max(last, lo), hi))
        rows.append(np.repeat(np.arange(row, row + piece.size), lengths).astype(gid_type(n)))
        row, last = row + piece.size, int(piece[-1])
    return np.concatenate(rows)


def _row_ends(offsets: _Column, n: int, entries: int, path: str) -> Iterator[np.ndarray]:
    """Yield the offsets of all rows, int64, in pieces; refuse those that do not ascend from 0 to ``entries``."""
    if offsets.size != n + 1:
        raise DataError(f"{path}: {offsets.size} offsets for {n} rows; write it again with save_npz")
    last: int | None = None
    for piece in offsets.pieces(0, n + 1):
        ends = piece.astype(np.int64)
        first = ends[0] != 0 if last is None else ends[0] < last
        if first or (np.diff(ends) < 0).any() or ends[-1] > entries:
            raise DataError(f"{path}: indptr does not ascend from 0 to {entries}; write it again with save_npz")
        last = int(ends[-1])
        yield ends
    if last != entries:
        raise DataError(f"{path}: indptr ends at {last}, not at {entries}; write it again with save_npz")
