"""Tables of edges in text files: each rank reads its lines, and an error names the first wrong line of all ranks.

:func:`read_table` is the entry; ``scan.py`` parses lines, ``lines.py`` distributes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import chain
from threading import local
from typing import TypeVar

import numpy as np

from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.comm.serial import SerialComm
from dgraph.errors import DataError, option
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.array_input import ROUNDED
from dgraph.graph.formats import lines, plain_arrays, scan
from dgraph.graph.formats.column import GROWTH, IDS, WEIGHTS, Arena, GrowingColumn
from dgraph.graph.formats.decimal_marks import decimal_swap
from dgraph.graph.formats.hidden_lines import HiddenLines
from dgraph.graph.formats.line_layout import Layout, _line, _token, reason_of
from dgraph.graph.formats.lines import LineBuffer
from dgraph.graph.formats.number_tokens import REMARKS, all_whole, correctly_rounded, remarks_on
from dgraph.graph.formats.placed_lines import PlacedLines
from dgraph.graph.formats.plain_scan import PlainLines
from dgraph.graph.formats.quoted import FAULT as QUOTES
from dgraph.graph.formats.quoted import unquoted
from dgraph.graph.formats.sniff import LONGEST, TOO_LONG, DataStart, file_size
from dgraph.graph.reading import Reading

T = TypeVar("T")

PIECE = 4
"""Pieces of a file that threads take in turn, in chunks of ``lines.py``; one thread reads a chunk at a time."""


@dataclass
class LineTable:
    """Values of this rank's lines.

    Attributes:
        src: ids of sources.
        dst: ids of targets; empty if the layout has none.
        weights: None if the layout has none.
        dropped: lines skipped on all ranks.
        hidden: comment lines of this rank that may be edges.
        notes: remarks on the values for the load line.
        scanned_lines: lines on all ranks that ``scan.py`` read: from the first one that is not plain to the end of its
            piece.
    """

    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray | None
    dropped: int = 0
    hidden: HiddenLines = field(default_factory=HiddenLines)
    notes: list[str] = field(default_factory=list)
    scanned_lines: int = 0

    def report(self, facts: LoadFacts) -> None:
        """Add the counts and notes to the facts of the load."""
        facts.lines_dropped += self.dropped
        facts.scanned_lines += self.scanned_lines
        facts.notes += self.notes

    def drop_first(self, comm: Comm) -> None:
        """Drop the first line of all ranks; collective."""
        sizes = comm.allgather(np.array([self.src.size], np.int64))[:, 0]
        if comm.rank == int(np.flatnonzero(sizes)[0]):
            self.src, self.dst = self.src[1:], self.dst[1:]
            self.weights = None if self.weights is None else self.weights[1:]


def read_table(path: str, layout: Layout, begin: DataStart, comm: Comm, lenient: bool = False) -> LineTable:
    """Read a file from the start of its lines of values; collective.

    Returns:
        Ids as uint32 if all of them fit, else int64; weights int32, int64 or float64, the narrowest that holds them
        all. The same dtypes on every rank.

    Raises:
        DataError: a line that violates the layout; the lowest such line number is given. If ``lenient``, such lines are
            skipped and counted, unless they are most.
    """
    parser = None if comm.size > 1 or begin.packing else _parser.get()
    table = parser and parser(path, layout, begin, lenient)
    if table is None:
        reader = _Reader(layout, lenient, rank_threads(comm))
        if begin.packing:
            _read_scattered(path, reader, begin, comm)
        else:
            _read_ranges(path, reader, begin, comm)
        table = reader.table(comm)
    refuse_most(path, comm.total(table.src.size), table.dropped, layout.example)
    return table


Parser = Callable[[str, Layout, DataStart, bool], "LineTable | None"]
"""Reads the lines of a whole file, in the arguments' order path, layout, begin, lenient; None: the host is to do it."""
_parser: ContextVar[Parser | None] = ContextVar("parser", default=None)


@contextmanager
def parsing_with(parser: Parser) -> Iterator[None]:
    """Let a parser read plain text on one rank within the body; its columns may be on a GPU."""
    token = _parser.set(parser)
    try:
        yield
    finally:
        _parser.reset(token)


def table_of_lines(text: np.ndarray, layout: Layout, lenient: bool) -> LineTable | None:
    """Return the values of some lines; hidden ones are numbered among them. None if a line is wrong."""
    reader = _Reader(layout, lenient)
    if not reader.take(text, 1.0):
        return None
    reader.hidden = reader.fresh
    return reader.table(SerialComm())


def fault_of(raw: str, layout: Layout) -> str:
    """Return the error that :func:`read_table` reports for one line, given as Latin-1; "" if there is none."""
    reader = _Reader(layout, False)
    reader.take(np.frombuffer(raw.encode("latin-1"), np.uint8), 1.0)
    return reader.fault and f"{reader.fault}{layout.first}"


def columns_read(columns: tuple[int, ...], weighs: bool) -> tuple[int, ...]:
    """Return the kinds of columns to read; unless the graph ``weighs``, the weight column must exist but is skipped."""
    return columns if weighs else tuple(scan.ANY if kind in (scan.INTEGER, scan.NUMBER) else kind for kind in columns)


def refuse_most(path: str, kept: int, dropped: int, example: str) -> None:
    """Refuse a file of which most lines would be dropped; both counts are over all ranks."""
    if dropped > kept:
        raise DataError(
            f"{path}: {dropped} of {kept + dropped} lines would be dropped; a line is {example!r}; is the file of "
            f"another form? Without {option('lenient', True)} the first wrong line is named"
        )


def _read_ranges(path: str, reader: _Reader, begin: DataStart, comm: Comm) -> None:
    """Read the lines that start in this rank's part of the bytes; collective."""
    with comm.together():
        if (here := file_size(path)) != begin.size:
            raise DataError(
                f"{path}: {here} bytes on rank {comm.rank}, {begin.size} on rank 0; give all ranks the same file"
            )
        span = begin.size - begin.start
        lo, hi = (begin.start + span * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        plain_arrays.expect(hi - lo)
        reading = Reading(hi - lo)
        size = lines.CHUNK * (PIECE if (hi - lo) // lines.CHUNK > PIECE and reader.threads > 1 else 1)

        def texts(low: int) -> Iterator[tuple[np.ndarray, bool]]:
            """Yield the lines that start in one piece of the file, and True if they are padded."""
            text = reader.buffer(lambda: lines.LineBuffer(file, begin.start, size)).lines(low, min(low + size, hi))
            if text is None:
                yield from ((text, False) for text in lines.lines_of_range(path, low, min(low + size, hi), begin.start))
            else:
                yield text, True

        with open(path, "rb") as file:
            if size == lines.CHUNK:
                for text, padded in chain.from_iterable(map(texts, range(lo, hi, size))):
                    reading.add(text.size)
                    if not reader.take(text, max(1.0, (hi - lo) / max(reading.done, 1)), padded):
                        break
            else:
                if scan.TARGET in reader.layout.columns and reader.plain().usable:
                    reader.placed = PlacedLines(hi - lo, reader.weighted)
                reader.take_all(range(lo, hi, size), texts, lambda low: reading.reach(low + size - lo))
    before = begin.number - 1 + comm.before(reader.lines)
    with comm.together():
        reader.check(path, before, begin)


def _read_scattered(path: str, reader: _Reader, begin: DataStart, comm: Comm) -> None:
    """Read the lines of a compressed file that rank 0 scatters; collective."""
    before = begin.number - 1
    blocks = lines.scattered_lines(path, begin.packing, begin.start, comm)
    if comm.size == 1 and reader.threads > 1:
        damaged = reader.take_all(blocks, lambda text: [(text, False)])
        reader.check(path, before, begin)
        if damaged is not None:
            raise damaged
        return
    for text in blocks:
        reader.lines = 0
        with comm.together():
            reader.take(text, GROWTH)
        counts = comm.allgather(np.array([reader.lines], np.int64))[:, 0]
        with comm.together():
            reader.check(path, before + int(counts[: comm.rank].sum()), begin)
        before += int(counts.sum())


class _Reader:
    """Reader of lines that collects their values and stops at the first wrong line.

    Attributes:
        lines: lines read so far, including the wrong one.
        dropped: lines skipped.
        scanned_lines: lines that ``scan.py`` read.
        fault: error of the last line; "" if there is none.
        hidden: comment lines that may be edges.
        fresh: those among ``lines``, numbered from the first of these.
    """

    def __init__(self, layout: Layout, lenient: bool, threads: int = 1, arenas: Sequence[Arena | None] = (None,) * 3):
        self.layout, self.lenient, self.threads = layout, lenient, threads
        self.classes = scan.byte_classes(layout.comments, layout.separator)
        self.swap, self.inner_mark = decimal_swap(layout.decimal, layout.separator)
        self.scanned = self.classes[self.swap]
        self.columns = np.array(layout.columns, np.int64)
        self.weighted = scan.INTEGER in layout.columns or scan.NUMBER in layout.columns
        self.lines, self.dropped, self.scanned_lines, self.fault = 0, 0, 0, ""
        self.remarks: set[str] = set()
        self.hidden, self.fresh = HiddenLines(), HiddenLines()
        self.src, self.dst, self.weights = map(GrowingColumn, (IDS, IDS, WEIGHTS), arenas)
        self.buffers = scan.ScanBuffers(0, self.weighted)
        self.pieces: list[_Reader] = []
        self.placed: PlacedLines | None = None
        self.own = local()

    def buffer(self, make: Callable[[], LineBuffer]) -> LineBuffer:
        """Return this thread's buffer, made at its first call."""
        if not hasattr(self.own, "buffer"):
            self.own.buffer = make()
        return self.own.buffer

    def plain(self) -> PlainLines:
        """Return this thread's reader of plain lines."""
        if not hasattr(self.own, "plain"):
            layout = self.layout
            tag, decimal = ord(layout.tag or "\0"), ord(layout.decimal) * (layout.decimal != layout.separator)
            self.own.plain = PlainLines(layout.columns, self.classes, tag, layout.lowest, layout.highest, decimal)
        return self.own.plain

    def take_all(
        self, sources: Iterable[T], texts: Callable[[T], Iterable[tuple[np.ndarray, bool]]],
        after: Callable[[T], None] = lambda source: None,
    ) -> DataError | None:  # fmt: skip
        """Read the texts of sources, in order, on all threads, up to the first error; return the error of ``sources``.

        ``texts`` returns whole lines of a source, and True where they are padded, as :meth:`take` wants them. ``after``
        is called with every source that was read, on this thread.
        """
        damaged: list[DataError] = []

        def undamaged() -> Iterator[T]:
            try:
                yield from sources
            except DataError as wrong:  # lines before it may be wrong, too
                damaged.append(wrong)

        def parse(numbered: tuple[int, T]) -> tuple[T, _Reader]:
            number, source = numbered
            try:
                return source, self._piece(number, texts(source))
            except BaseException:
                if self.placed is not None:
                    self.placed.give_up()
                raise

        for source, piece in in_order(parse, enumerate(undamaged()), self.threads):
            self.fresh.add(piece.fresh.count, self.lines + piece.fresh.line, piece.fresh.text)
            self.lines, self.dropped = self.lines + piece.lines, self.dropped + piece.dropped
            self.scanned_lines += piece.scanned_lines
            self.fault, self.remarks = piece.fault, self.remarks | piece.remarks
            self.pieces.append(piece)
            after(source)
            if self.fault:
                break
        return damaged[0] if damaged else None

    def _piece(self, number: int, texts: Iterable[tuple[np.ndarray, bool]]) -> _Reader:
        """Read the texts of one source, up to the first error."""
        if not hasattr(self.own, "arenas"):
            self.own.arenas = Arena(), Arena(), Arena()
        piece = _Reader(self.layout, self.lenient, arenas=self.own.arenas)
        piece.own = self.own
        for text, padded in texts if self.placed is None else self.placed.texts(number, texts, piece.fill):
            if not piece.take(text, 1.0, padded):
                break
        piece.buffers = scan.ScanBuffers(0, self.weighted)
        return piece

    def fill(self, text: np.ndarray, columns: tuple[np.ndarray, ...]) -> bool:
        """Read padded lines into columns of the narrowest types, which are then this reader's; False: not possible."""
        if not self.plain().fill(text, columns):
            return False
        self.lines = columns[0].size
        for column, values in zip((self.src, self.dst, self.weights), columns, strict=False):
            column.adopt(values)
        return True

    def take(self, text: np.ndarray, share: float, padded: bool = False) -> bool:
        """Read whole lines; return False after an error.

        Args:
            text: the lines, uint8.
            share: expected total size as a multiple of what was read so far.
            padded: as of :meth:`PlainLines.read`.
        """
        plain, position, more = self.plain(), 0, True
        while more and position < text.size:
            edges, size = plain.read(text[position:], padded)
            if edges:
                self.lines += edges
                self.src.extend(plain.src, share)
                if scan.TARGET in self.layout.columns:
                    self.dst.extend(plain.dst, share)
                if self.weighted:
                    self.weights.extend(plain.weights, share)
            position, more = position + size, plain.more
        return position == text.size or self._scan(text[position:], share)

    def _scan(self, text: np.ndarray, share: float) -> bool:
        """Read whole lines of any valid form; as :meth:`take`."""
        needed = int(np.count_nonzero(text == 10)) + 1
        if text.size >= LONGEST and not (text[-LONGEST:] == 10).any():
            self.lines += needed
            self.fault = TOO_LONG
            return False
        if self.buffers.lines < needed:
            self.buffers = scan.ScanBuffers(needed + needed // 8, self.weighted)
        buffers, layout, original = self.buffers, self.layout, text
        whole, blanked = text.size, 0
        if layout.quoted:
            text, whole, blanked = unquoted(text, self.classes, self.lenient, self.inner_mark)
            text = text[:whole]
        if layout.decimal != ".":
            text = self.swap[text]
        edges, lines, lates, integral, dropped, wrong, column, line, token, hidden, first, start, early = scan.scan(
            text, self.scanned, ord(layout.tag or "\0"), self.columns, layout.lowest, layout.highest, self.lenient,
            layout.fields, buffers.src, buffers.dst, buffers.integers, buffers.reals, buffers.late,
        )  # fmt: skip
        if hidden:
            self.fresh.add(hidden, self.lines + first, _line(original, start))
        finite = None
        if self.weighted and not integral and lates:
            values = correctly_rounded(text, buffers.late[:lates, 2:])
            buffers.reals[buffers.late[:lates, 0]] = values
            finite = np.isfinite(values)
            if finite.all():
                finite = None
            elif not self.lenient:
                first = int(np.argmin(finite))
                self.lines += int(buffers.late[first, 1])
                quoted = repr(_token(original, buffers.late[first, 2], layout.separator))
                self.fault = f"got weight {quoted}; it does not fit a double; write a smaller number"
                return False
            else:
                integral = early and all_whole(text, buffers.late[:lates, 2:][finite])
            if not integral:
                self.remarks |= remarks_on(text, buffers.late[:lates, 2:], values)
        self.lines, self.scanned_lines = self.lines + lines, self.scanned_lines + lines
        if wrong != scan.OK:
            self.fault = reason_of(wrong, column, original, line, token, layout)
            return False
        if whole < original.size:
            self.lines += 1
            self.fault = f"got {_line(original, whole)!r}; {QUOTES}; correct or remove this line"
            return False
        dropped += blanked
        kept: np.ndarray | slice = slice(0, edges)
        if finite is not None:
            kept = np.delete(np.arange(edges), buffers.late[:lates, 0][~finite])
            dropped += edges - kept.size
        self.dropped += dropped
        self.src.extend(buffers.src[kept], share)
        if scan.TARGET in layout.columns:
            self.dst.extend(buffers.dst[kept], share)
        if self.weighted:
            integers, reals = buffers.integers[kept], buffers.reals[kept]
            zeros = np.flatnonzero(np.signbit(reals) & (integers == 0)) if integral else None
            self.weights.extend(integers if integral else reals, share, zeros)
        return True

    def check(self, path: str, before: int, begin: DataStart) -> None:
        """Raise the error of a wrong line; ``before`` is the number of the file's lines before ``lines``."""
        if self.fault:
            line = before + self.lines
            first = self.layout.first if line == begin.number else ""
            raise DataError(f"{path}:{line}: {self.fault}{first}")
        self.hidden.add(self.fresh.count, before + self.fresh.line, self.fresh.text)
        self.fresh = HiddenLines()

    def table(self, comm: Comm) -> LineTable:
        """Return all values, each column in one dtype on all ranks; collective."""
        self.buffers = scan.ScanBuffers(0, self.weighted)
        pieces, self.pieces, self.own = [self, *self.pieces], [], local()
        levels = np.array([(max(piece.src.level, piece.dst.level), piece.weights.level) for piece in pieces], np.int64)
        ids, weights = (int(level) for level in comm.allreduce(levels.max(axis=0), "max"))
        src, dst, *values = (self.placed and not ids + weights and self.placed.whole()) or (
            GrowingColumn.joined([getattr(piece, name) for piece in pieces], level, self.threads)
            for name, level in (("src", ids), ("dst", ids), ("weights", weights))[: 2 + self.weighted]
        )
        self.remarks |= {ROUNDED} if any(piece.weights.rounded for piece in pieces) else set()
        notes = [remark for remark in REMARKS if comm.total(remark in self.remarks)]
        dropped, scanned = comm.total(self.dropped), comm.total(self.scanned_lines)
        return LineTable(src, dst, values[0] if values else None, dropped, self.hidden, notes, scanned)
