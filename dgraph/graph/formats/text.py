"""Tables of edges in text files, read by byte ranges: each rank reads the lines that start in its range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import IDS, WEIGHTS, Column
from dgraph.graph.formats.head import LONGEST, TOO_LONG, file_size

CHUNK = 1 << 20
"""bytes read at a time"""
SHOWN = 60
"""characters of a bad line that a message quotes"""


@dataclass(frozen=True)
class Layout:
    """What a line of a format holds.

    Attributes:
        columns: kinds of :mod:`scan`, in order.
        example: a line as it should be, for messages.
        tag: the letter that begins every line, or nothing.
        comments: letters that begin a comment line.
        delimiters: what separates columns beside blanks.
        lowest, highest: ids.
        limit: why ids above ``highest`` cannot be.
    """

    columns: tuple[int, ...]
    example: str
    tag: str = ""
    comments: str = "#%"
    delimiters: str = ""
    lowest: int = 0
    highest: int = scan.LARGEST
    limit: str = "ids fit 63 bits"


@dataclass
class Table:
    """This rank's lines. ``weights`` is None, and ``dst`` empty, where the layout has no such column."""

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None


def read_table(path: str, layout: Layout, start: int, number: int, size: int, comm: Comm) -> Table:
    """Read a file from byte ``start`` on, which is line ``number``; collective.

    Returns:
        ids as uint32 where all of them fit, else int64; weights int32, int64 or float64, the narrowest that
        holds them all. The same dtypes on every rank.

    Raises:
        DataError: a line that is not as the layout says, with its number; the lowest such line.
    """
    reader = _Reader(path, layout)
    span = size - start
    with comm.together():
        if (here := file_size(path)) != size:
            raise DataError(f"{path}: {here} bytes on rank {comm.rank}, {size} on rank 0; give all ranks the same file")
        reader.read(start + span * comm.rank // comm.size, start + span * (comm.rank + 1) // comm.size, start)
    before = number - 1 + comm.before(reader.lines)
    with comm.together():
        if reader.fault:
            raise DataError(f"{path}:{before + reader.lines}: {reader.fault}")
    return reader.table(comm)


class _Reader:
    """Reads a byte range chunk by chunk; stops at the first wrong line, which is then line ``lines`` of the range."""

    def __init__(self, path: str, layout: Layout):
        self.path, self.layout = path, layout
        self.classes = scan.byte_classes(layout.comments, layout.delimiters)
        self.columns = np.array(layout.columns, np.int64)
        self.weighted = scan.INTEGER in layout.columns or scan.NUMBER in layout.columns
        self.lines, self.fault = 0, ""
        self.src, self.dst, self.weights = Column(IDS), Column(IDS), Column(WEIGHTS)
        self.room = scan.Room(0, self.weighted)

    def read(self, lo: int, hi: int, start: int) -> None:
        read = 0
        for text in _whole_lines(self.path, lo, hi, start):
            if text.size >= LONGEST and not (text[-LONGEST:] == 10).any():
                self.lines += int(np.count_nonzero(text == 10)) + 1
                self.fault = TOO_LONG
                return
            read += text.size
            if not self._parse(text, max(1.0, (hi - lo) / read)):
                return

    def _parse(self, text: np.ndarray, share: float) -> bool:
        """Take the lines of ``text``; the range is ``share`` times what will then have been read."""
        needed = int(np.count_nonzero(text == 10)) + 1
        if self.room.lines < needed:
            self.room = scan.Room(needed + needed // 8, self.weighted)
        room = self.room
        edges, lines, lates, integral, wrong, column, line, token = scan.scan(
            text,
            self.classes,
            ord(self.layout.tag or "\0"),
            self.columns,
            self.layout.lowest,
            self.layout.highest,
            room.src,
            room.dst,
            room.integers,
            room.reals,
            room.late,
        )
        if self.weighted and not integral and lates:
            values = scan.correctly_rounded(text, room.late[:lates, 2:])
            if not np.isfinite(values).all():
                first = int(np.argmin(np.isfinite(values)))
                self.lines += int(room.late[first, 1])
                shown = _quote(text, room.late[first, 2])
                self.fault = f"got weight {shown}; it does not fit a double; write a smaller number"
                return False
            room.reals[room.late[:lates, 0]] = values
        self.lines += lines
        if wrong != scan.OK:
            self.fault = _reason(wrong, column, text, line, token, self.layout)
            return False
        self.src.extend(room.src[:edges], share)
        if scan.TARGET in self.layout.columns:
            self.dst.extend(room.dst[:edges], share)
        if self.weighted:
            self.weights.extend((room.integers if integral else room.reals)[:edges], share)
        return True

    def table(self, comm: Comm) -> Table:
        """All values, in one dtype a column on all ranks; collective."""
        self.room = scan.Room(0, self.weighted)
        levels = [max(self.src.level, self.dst.level), self.weights.level]
        ids, weights = (int(v) for v in comm.allreduce(np.array(levels, np.int64), "max"))
        src, dst = self.src.finish(ids), self.dst.finish(ids)
        return Table(src, dst, self.weights.finish(weights) if self.weighted else None)


def _whole_lines(path: str, lo: int, hi: int, start: int) -> Iterator[np.ndarray]:
    """The lines that start at bytes ``lo .. hi - 1``, about :data:`CHUNK` bytes at a time."""
    with open(path, "rb") as file:
        at = lo
        if lo > start:
            file.seek(lo - 1)
            at = lo - 1
            while at < hi:
                rest = file.readline(CHUNK)
                at += len(rest)
                if rest.endswith(b"\n") or not rest:
                    break
        file.seek(at)
        while at < hi:
            data = file.read(min(CHUNK, hi - at))
            if not data.endswith(b"\n"):
                data += file.readline(LONGEST)
            if not data:
                raise DataError(f"{path}: ends at byte {at}; it was longer when reading began; let no one write to it")
            at += len(data)
            yield np.frombuffer(data, np.uint8)


def _reason(wrong: int, column: int, text: np.ndarray, line: int, token: int, layout: Layout) -> str:
    shown, got = _quote(text, line, whole=True), _quote(text, token)
    reasons = {
        scan.TAG: f"it does not begin with {layout.tag!r}",
        scan.MISSING: f"column {column + 1} of {len(layout.columns)} is missing",
        scan.EMPTY: f"column {column + 1} is empty",
        scan.EXTRA: f"it goes on after column {column}",
        scan.WORD: f"{got} in column {column + 1} is not a {_kind(layout, column)}",
        scan.FRACTION: f"{got} in column {column + 1} is not a 64-bit integer",
        scan.NEGATIVE: f"id {got} is negative",
        scan.TOO_BIG: f"id {got} is above 2^63 - 1",
        scan.TOO_LOW: f"id {got} is too low: ids here begin at {layout.lowest}",
        scan.TOO_HIGH: f"id {got} is above {layout.highest}: {layout.limit}",
    }
    return f"got {shown}; {reasons[wrong]}; a line is {layout.example!r}: correct or remove this one"


def _kind(layout: Layout, column: int) -> str:
    weight = {scan.INTEGER, scan.NUMBER}.intersection(layout.columns[column : column + 1])
    return "finite number" if weight else "whole number"


def _quote(text: np.ndarray, start: int, whole: bool = False) -> str:
    """The line or the token that begins at ``start``, shortened."""
    raw = bytes(text[start : start + 4 * SHOWN]).split(b"\n")[0].rstrip(b"\r").decode(errors="replace")
    if not whole:
        raw = (raw.replace(",", " ").replace(";", " ").split() or [""])[0]
    return repr(raw if len(raw) <= SHOWN else raw[:SHOWN] + "…")
