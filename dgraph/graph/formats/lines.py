"""Whole lines of a text file, by rank: a byte range each, or a compressed file's lines scattered by rank 0."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import IO

import numpy as np

from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError
from dgraph.graph.formats.packed import packing
from dgraph.graph.formats.packed_members import unpacked
from dgraph.graph.formats.plain_scan import PAD
from dgraph.graph.formats.sniff import LONGEST

CHUNK = 1 << 20
"""Bytes read at a time."""
TAIL = 4096
"""Bytes read beyond a piece, which end its last line."""


def lines_of_range(path: str, lo: int, hi: int, start: int, share: int = 1) -> Iterator[np.ndarray]:
    """Yield the lines that start at bytes ``lo .. hi - 1``, about a ``share``-th of :data:`CHUNK` bytes at a time."""
    with open(path, "rb") as file:
        position = lo
        if lo > start:
            file.seek(lo - 1)
            position = lo - 1
            while position < hi:
                rest = file.readline(CHUNK)
                position += len(rest)
                if rest.endswith(b"\n") or not rest:
                    break
        file.seek(position)
        while position < hi:
            block = file.read(min(CHUNK // share, hi - position))
            if not block.endswith(b"\n"):
                block += file.readline(LONGEST)
            if not block:
                raise DataError(
                    f"{path}: ends at byte {position}; it was longer when reading began; do not write to it"
                )
            position += len(block)
            yield np.frombuffer(block, np.uint8)


class LineBuffer:
    """Buffer that one thread reads whole lines into, piece by piece: no page of it is touched for the first time twice.

    Args:
        file: an open file.
        start: byte at which lines begin in it.
        size: most bytes of a piece.
    """

    def __init__(self, file: IO[bytes], start: int, size: int):
        self.file, self.start = file, start
        self.bytes = np.empty(size + 2 * TAIL + PAD, np.uint8)

    def lines(self, lo: int, hi: int) -> np.ndarray | None:
        """Return the lines that start at bytes ``lo .. hi - 1``, padded for ``PlainLines``, up to the next call.

        None if the file ends early, or if a line is longer than :data:`TAIL`: :func:`lines_of_range` reads those.
        """
        low = lo - (lo > self.start)
        wanted = hi - low + TAIL
        size = self._read(low, wanted)
        if size < hi - low:
            return None
        first, last = 0, hi - 1 - low
        if lo > self.start:
            first = self.bytes[:TAIL].tobytes().find(b"\n") + 1
            if not first and size > TAIL:
                return None
            if not first or first > last:
                return self.bytes[:0]
        rest = self.bytes[last : min(size, last + TAIL)].tobytes()
        end = last + rest.find(b"\n") + 1
        if end == last:
            if size == wanted:
                return None
            self.bytes[size] = 10
            end = size + 1
        return self.bytes[first:end]

    def _read(self, low: int, wanted: int) -> int:
        """Read up to ``wanted`` bytes from byte ``low`` on; return their number, less only at the end of the file."""
        size, room = 0, memoryview(self.bytes)  # type: ignore[arg-type]
        while size < wanted and (more := os.preadv(self.file.fileno(), [room[size:wanted]], low + size)):
            size += more
        return size


def scattered_lines(path: str, packing: str, start: int, comm: Comm) -> Iterator[np.ndarray]:
    """Yield this rank's lines of a compressed file, from byte ``start`` of its text on; collective.

    In each round rank 0 takes about :data:`CHUNK` bytes per rank, which its threads decompress ahead, and scatters the
    lines in the order of the ranks. The iteration ends after the first round without a line on any rank.

    Raises:
        DataError: on all ranks, if the file is cut short or damaged.
    """
    threads = rank_threads(comm)
    blocks = _blocks(path, packing, start, threads) if comm.rank == 0 else iter(())
    more = True
    while more:
        parts = [np.empty(0, np.uint8)] * comm.size
        with comm.together():
            for rank, block in zip(range(comm.size), blocks, strict=False):
                parts[rank] = np.frombuffer(block, np.uint8)
        mine = comm.alltoallv(parts)[0]
        more = comm.largest(mine.size) > 0
        if more:
            yield mine


def find_line(path: str, pattern: str, time: int) -> int:
    """Return the line number of the ``time``-th line, from 1, that begins with ``pattern``; 0 if there is none.

    It reads the file, compressed or not, from its first line up to that one. Used for messages about refused files.
    """
    begins, before, count = re.compile(rb"(?m)^(\xef\xbb\xbf)?" + pattern.encode()), 0, 0
    with open(path, "rb") as file:
        kind = packing(file.read(8))
    for block in _blocks(path, kind, 0):
        for match in begins.finditer(block):
            count += 1
            if count == time:
                return before + block.count(b"\n", 0, match.start()) + 1
        before += block.count(b"\n")
    return 0


def _blocks(path: str, packing: str, start: int, threads: int = 1) -> Iterator[bytes]:
    """Yield all whole lines from byte ``start`` on, in blocks of about :data:`CHUNK` bytes."""
    with unpacked(path, packing, threads) as file:
        file.seek(start, os.SEEK_SET)
        while block := file.read(CHUNK):
            yield block if block.endswith(b"\n") else block + file.readline(LONGEST)
