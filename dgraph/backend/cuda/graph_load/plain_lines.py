"""Edge lists parsed on a GPU, a thread a line (``plain_lines.cuh``), for ``text.read_table``.

Threads read pieces of the file into pinned memory, from where they are copied to the GPU. Lines that are not plain,
such as comments, go to the host's reader. Where that finds a wrong line, or reads much of the file, it reads all of it:
values, counts and errors are always those of the host's reader.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.codegen.module_text import common
from dgraph.errors import DataError
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import WEIGHTS
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.sniff import LONGEST, DataStart
from dgraph.graph.formats.text import LineTable, Parser, table_of_lines

CHUNK, PARTS = 1 << 28, 32
"""Most bytes of text on the GPU at a time, and least parts of a file: scratch memory is small beside the columns."""
LEAST = 1 << 24
"""Bytes of text at a time in a small file."""
SPAN = 256
"""Bytes in which a thread counts line feeds."""
ODD = 1 << 16
"""Most lines of a chunk, and bytes of a line, that the host reads; with more it reads the file."""
SAMPLE, SAMPLES = 1 << 16, 64
"""Bytes of a sample that lines are counted in, and samples of a file."""
LARGE = 1 << 29
"""Bytes of a column from which the memory of its parts, too small for arrays of edges, goes back to the GPU."""
KINDS = {name: getattr(scan, name) for name in ("SOURCE", "TARGET", "INTEGER", "NUMBER", "ANY")}


@dataclass
class DeviceTable(LineTable):
    """Table whose columns are on a GPU."""


def plain_parser(device: Any) -> Parser:
    """Return a parser of whole files, for ``text.parsing_with``."""
    return lambda path, layout, begin, lenient: _Parser(device, path, layout, begin, lenient).table()


class _NotPlain(Exception):
    """The host's reader is to read the file."""


@dataclass
class _Parser:
    device: Any
    path: str
    layout: Layout
    begin: DataStart
    lenient: bool
    columns: list[list[Any]] = field(default_factory=lambda: [[], [], []])
    rooms: list[Any] = field(default_factory=lambda: [None] * 3)
    chunk: int = CHUNK
    expected: int = 0
    odd: list[tuple[int, bytes]] = field(default_factory=list)
    integral: bool = True
    lines: int = 0

    def table(self) -> LineTable | None:
        """Return the edges of the file; None if the host is to read it."""
        layout, size = self.layout, self.begin.size - self.begin.start
        able = layout.decimal == "." and not layout.tag and len(layout.columns) <= 8
        if not able or scan.REST in layout.columns or scan.TARGET not in layout.columns:
            return None
        self.classes = scan.byte_classes(layout.comments, layout.separator)
        self.weighted = scan.INTEGER in layout.columns or scan.NUMBER in layout.columns
        self.chunk = min(size, CHUNK, max(LEAST, size // PARTS))
        file = os.open(self.path, os.O_RDONLY)
        try:
            self.expected, reals = _expected(file, self.begin.start, self.begin.size)
            need = self._need(reals)
            if need > self.device.free(need):
                return None
            self.module = self.device.module(_text(), "plain_lines")
            self._read(file)
            return self._joined()
        except _NotPlain:
            return None
        finally:
            os.close(file)

    def _need(self, reals: bool) -> int:
        """Return the peak of bytes: columns, a chunk of text, and its lines' ends and weights as they are parsed."""
        at_once = self.expected * self.chunk // max(self.begin.size - self.begin.start, 1)
        weight = (8 if reals else 4) * self.weighted
        return (8 + weight) * self.expected + self.chunk + self.chunk // 32 + (4 + 8 * self.weighted) * at_once

    def _read(self, file: int) -> None:
        """Parse the file, a chunk of whole lines after the other, while threads read ahead."""
        device, size, begin = self.device, self.begin.size, self.begin.start

        def read(place: np.ndarray, offset: int) -> None:
            count = os.preadv(file, [place.data], begin + offset)
            if count < place.size:
                raise DataError(
                    f"{self.path}: ends at byte {begin + offset + count}; it was longer when reading began; do not "
                    "write to it"
                )

        text = device.xp.empty(_spans(self.chunk), np.uint8)
        with device.streamed(size - begin, read) as fill:
            first = filled = begin
            while first < size:
                last = stop = min(first + self.chunk, size)
                fill(text[filled - first : stop - first])
                if last < size:
                    tail = os.pread(file, min(LONGEST, last - first), last - min(LONGEST, last - first))
                    last -= len(tail) - 1 - tail.rfind(b"\n")
                    if b"\n" not in tail:
                        raise _NotPlain
                room = text[: _spans(stop - first)]
                device.clear(room[stop - first :])
                if os.pread(file, 1, last - 1) != b"\n":
                    room[last - first : last - first + 1] = np.uint8(10)
                self._parse(file, first, room)
                rest = text[last - first : stop - first].copy()  # of a line whose end is in the next chunk
                device.copy(text[: rest.size], rest)
                first, filled = last, stop

    def _parse(self, file: int, first: int, text: Any) -> None:
        xp, device, layout, size = self.device.xp, self.device, self.layout, text.size
        counts, figures = xp.empty(size // SPAN, np.uint32), xp.zeros(3, np.uint64)
        self._launch("count_lines", text=text, size=size, counts=counts)
        counts = xp.cumsum(counts, dtype=np.uint32)
        lines = int(counts[-1])
        ends, odd = xp.empty(lines, np.uint32), xp.empty(ODD, np.uint32)
        self._launch("list_lines", text=text, size=size, counts=counts, ends=ends)
        del counts
        sources, targets = (self._room(k, lines, np.dtype(np.uint32)) for k in range(2))
        weights = xp.empty(lines, np.float64) if self.weighted else None
        kinds = sum(kind << 8 * place for place, kind in enumerate(layout.columns))
        bytes_between = np.isin(self.classes, (scan.BLANK, scan.DELIMITER))
        between = np.packbits(bytes_between, bitorder="little").view(np.uint64).tolist()
        self._launch(
            "parse_lines", text=text, size=size, lines=lines, ends=ends, sources=sources, targets=targets,
            weights=weights, odd=odd, figures=figures, columns=len(layout.columns), kinds=kinds,
            lowest=layout.lowest, highest=min(layout.highest, 2**32 - 1), room=ODD, between=between,
        )  # fmt: skip
        count, fractions, negative_zeros = (int(figure) for figure in device.get(figures))
        self.integral = self.integral and not fractions
        columns = [sources, targets, weights]
        if count:
            columns = self._without_odd(file, first, ends, odd, count, columns)
        del ends
        for k, part in enumerate(columns):
            if part is not None:
                short = k == 2 and not (fractions or negative_zeros) and self._short(part)
                self._append(k, part, WEIGHTS[0] if short else part.dtype)
        self.lines += lines

    def _room(self, k: int, count: int, kind: np.dtype) -> Any:
        """Return memory for further values of a column: what was taken for the whole file, while that suffices."""
        parts = self.columns[k]
        if not parts:
            self.rooms[k] = self.device.xp.empty(max(self.expected, count), kind)
            parts.append(self.rooms[k][:0])
        room, begin = self.rooms[k], parts[0].size
        if len(parts) > 1 or room.dtype != kind or begin + count > room.size:
            return self.device.xp.empty(count, kind)
        return room[begin : begin + count]

    def _append(self, k: int, part: Any, kind: np.dtype) -> None:
        """Add a part to a column as values of a dtype; it may lie in the column's room already."""
        room, parts = self._room(k, part.size, kind), self.columns[k]
        if self.device.address(room) != self.device.address(part):
            if part.dtype == kind and not self._follows(k, room):
                room = part
            else:
                room[...] = part
        if self._follows(k, room):
            parts[0] = self.rooms[k][: parts[0].size + room.size]
        else:
            parts.append(room)

    def _follows(self, k: int, part: Any) -> bool:
        """Return True if a part lies in the room of its column, behind the values there."""
        parts, room = self.columns[k], self.rooms[k]
        if len(parts) > 1 or part.dtype != room.dtype or parts[0].size + part.size > room.size:
            return False
        return self.device.address(part) == self.device.address(room[parts[0].size :])

    def _short(self, weights: Any) -> bool:
        """Return True if 32 bits hold these integers."""
        return bool(weights.size) and -(2**31) <= float(weights.min()) <= float(weights.max()) < 2**31

    def _without_odd(self, file: int, first: int, ends: Any, odd: Any, count: int, columns: list[Any]) -> list[Any]:
        """Return the columns without the odd lines of a chunk, which are kept for the host."""
        if count > ODD:
            raise _NotPlain
        odd = np.sort(self.device.get(odd[:count]).astype(np.int64))
        if self.lines == 0 and odd[0] == 0:  # the first line may hold counts, see ``drop_first``
            raise _NotPlain
        places = self.device.put(np.concatenate([np.maximum(odd - 1, 0), odd]))
        before, after = self.device.get(ends[places]).astype(np.int64).reshape(2, -1)
        before[odd == 0] = -1
        if int((after - before).max()) > ODD:
            raise _NotPlain
        for line, begin, end in zip((odd + self.lines).tolist(), before.tolist(), after.tolist(), strict=True):
            self.odd.append((line, os.pread(file, end - begin - 1, first + begin + 1)))
        kept = self.device.xp.ones(len(ends), np.bool_)
        kept[self.device.put(odd)] = False
        return [None if column is None else column[kept] for column in columns]

    def _joined(self) -> LineTable:
        """Return the table of all chunks and of the lines that the host reads, whose edges are the last."""
        joined = b"".join(line + b"\n" for _, line in self.odd)
        rest = table_of_lines(np.frombuffer(joined, np.uint8), self.layout, self.lenient)
        quoted = self.layout.quoted and b'"' in joined
        if not self.columns[0] or quoted or rest is None or rest.src.dtype != np.uint32:
            raise _NotPlain
        if not self.integral and rest.weights is not None and rest.weights.dtype.kind == "i":
            if rest.weights.dtype == np.int64:
                raise _NotPlain  # integers of more than 53 bits beside fractions: the host reports that it rounds them
            if b"-0" in joined and not rest.weights.all():
                raise _NotPlain  # it may be -0, which is -0.0 beside fractions
        if rest.hidden.count:
            rest.hidden.line = self.begin.number + self.odd[rest.hidden.line - 1][0]
        if self.weighted:
            self.columns[2] = self._narrowed(self.columns[2], rest.weights)
        src, dst, weights = map(self._column, range(3), (rest.src, rest.dst, rest.weights))
        return DeviceTable(src, dst, weights, rest.dropped, rest.hidden, rest.notes, len(self.odd))

    def _column(self, k: int, rest: np.ndarray | None) -> Any:
        """Return a column of its parts, and of the host's lines behind; the parts are freed."""
        parts = self.columns[k]
        if not parts or rest is None:
            return None
        if rest.size:
            self._append(k, self.device.put(rest.astype(parts[0].dtype)), parts[0].dtype)
        column = parts[0] if len(parts) == 1 else self.device.xp.concatenate(parts)
        parts.clear()
        self.rooms[k] = None
        if column.nbytes >= LARGE:
            self.device.pool.free_all_blocks()
        return column

    def _narrowed(self, parts: list[Any], rest: np.ndarray | None) -> list[Any]:
        """Return weights in the first dtype that holds them and those of the host's lines."""
        level = 0 if rest is None or not rest.size else WEIGHTS.index(rest.dtype)
        wide = [part for part in parts if self.integral and part.size and part.dtype != WEIGHTS[0]]
        ranges = [(int(part.min()), int(part.max())) for part in wide]
        if not self.integral:
            level = 2
        elif any(low < -(2**31) or high >= 2**31 for low, high in ranges):
            level = max(level, 1)
        return [part.astype(WEIGHTS[level], copy=False) for part in parts]

    def _launch(self, kernel: str, **values: Any) -> None:
        """Launch a kernel with these values of ``Env``; arrays are their addresses."""
        names = ("text", "size", "lines", "counts", "ends", "sources", "targets", "weights", "odd", "figures")
        words: list[int] = []
        for name in (*names, "columns", "kinds", "between", "lowest", "highest", "room"):
            value = values.get(name, [0] * 4 if name == "between" else 0)
            words += value if isinstance(value, list) else [self._word(value)]
        self.module.set_environment(np.array(words, np.uint64))
        self.module.launch(kernel, self.device.blocks * self.module.resident(kernel))

    def _word(self, value: Any) -> int:
        return 0 if value is None else value if isinstance(value, int) else self.device.address(value)


def _spans(size: int) -> int:
    """Return the bytes of whole spans that hold a text and a line feed behind it."""
    return -(-(size + 1) // SPAN) * SPAN


def _expected(file: int, first: int, size: int) -> tuple[int, bool]:
    """Return about the number of lines, or a few more, and True if some have a point, from samples of the file."""
    samples = [os.pread(file, SAMPLE, first + (size - first) * k // SAMPLES) for k in range(SAMPLES)]
    feeds = sum(sample.count(b"\n") for sample in samples)
    lines = feeds * (size - first) * 65 // (64 * max(sum(map(len, samples)), 1)) + 1
    return lines, any(b"." in sample for sample in samples)


def _text() -> str:
    """Return the module's text."""
    named = "".join(f"#define {name} {value}\n" for name, value in {**KINDS, "SPAN": SPAN}.items())
    own = (Path(__file__).parent / "plain_lines.cuh").read_text()
    return "\n".join([control_block.constants(), "#define PERSISTENT 0", named, common("base"), own])
