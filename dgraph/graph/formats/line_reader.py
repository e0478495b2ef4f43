"""Reader of lines of text: it collects the values of one thread's or one rank's lines, and joins them in a table.

``scan.py`` and ``plain_scan.py`` parse the lines, ``text.py`` distributes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import local
from typing import TypeVar

import numpy as np

from dgraph._support.threads import in_order
from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.array_input import ROUNDED
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import IDS, WEIGHTS, Arena, GrowingColumn
from dgraph.graph.formats.decimal_marks import decimal_swap
from dgraph.graph.formats.hidden_lines import HiddenLines
from dgraph.graph.formats.line_layout import Layout, _line, _token, reason_of
from dgraph.graph.formats.lines import LineBuffer
from dgraph.graph.formats.number_tokens import REMARKS, all_whole, correctly_rounded, remarks_on
from dgraph.graph.formats.placed_lines import PlacedLines
from dgraph.graph.formats.plain_scan import PlainLines
from dgraph.graph.formats.quoted import FAULT as QUOTES
from dgraph.graph.formats.quoted import unquoted
from dgraph.graph.formats.sniff import LONGEST, TOO_LONG, DataStart

T = TypeVar("T")


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


class LineReader:
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
        self.pieces: list[LineReader] = []
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

        def parse(numbered: tuple[int, T]) -> tuple[T, LineReader]:
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

    def _piece(self, number: int, texts: Iterable[tuple[np.ndarray, bool]]) -> LineReader:
        """Read the texts of one source, up to the first error."""
        if not hasattr(self.own, "arenas"):
            self.own.arenas = Arena(), Arena(), Arena()
        piece = LineReader(self.layout, self.lenient, arenas=self.own.arenas)
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
