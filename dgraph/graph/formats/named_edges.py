"""Edge lists whose ends are words: words become numbers, and the table of names is kept.

:func:`read_named` is the entry. ``graph/names.py`` numbers the words of all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.block import LoadFacts
from dgraph.graph.build.array_input import ROUNDED
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import WEIGHTS, Column
from dgraph.graph.formats.column_names import are_names
from dgraph.graph.formats.counted_header import set_direction
from dgraph.graph.formats.first_line import (
    OTHERWISE,
    begins_number,
    check_names,
    counts_of,
    counts_warning,
    header_note,
    is_number,
    names_ends,
)
from dgraph.graph.formats.lines import lines_of_range, scattered_lines
from dgraph.graph.formats.quoted import FAULT, QUOTE, split_quoted
from dgraph.graph.formats.sniff import LONGEST, TOO_LONG, DataStart, FileHead, file_size, words_of
from dgraph.graph.formats.text import refuse_most
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import number_names

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions

WIDEST = 255
"""Bytes in a name at most."""
OR_HEADER = "; or, if it names columns or counts, say --header (header=True)"
FEW, MANY, LONG, NUMBER, QUOTED, EMPTY, OPEN = range(1, 8)


def split_columns(line: str, separator: str) -> list[str]:
    """Split a line at the separator, stripping blanks around columns; at blanks if the separator is ""."""
    if not separator:
        return split_quoted(line, "", words_of)
    return split_quoted(line, separator, lambda text: [word.strip(" \t") for word in text.split(separator)])


def read_named(
    path: str, head: FileHead, places: Sequence[int], separator: str, comments: str, comm: Comm, options: LoadOptions
) -> RawEdges:
    """Read lines of columns; collective.

    Args:
        path: the file.
        head: its first lines.
        places: the columns, from 0, of source, target and, if there is one, weight.
        separator: the one character between columns, which names then cannot contain; "": any blanks.
        comments: characters that begin a comment line.
        comm: communicator of the ranks.
        options: of the load.
    """
    reader = _NameReader(places, separator, comments, options)
    with comm.together():
        first = _FirstLine(path, head, places, separator, _NameReader(places, separator, comments, options), options)
    _read(path, reader, head.here if options.header is False else head.below, comm)
    raw = RawEdges(np.empty(0, np.int64), np.empty(0, np.int64))
    if options.header is None:
        first.resolve(reader, raw.facts, comm)
    elif options.header:
        raw.facts.notes.append(header_note(head, first.words))
    raw.src, raw.dst, raw.weights, words = reader.table(comm)
    names, numbers = number_names(words, comm)
    raw.src, raw.dst = numbers[raw.src], numbers[raw.dst]
    raw.n, raw.ids = int(names.starts[-1]), NamedIds(names)
    raw.facts.lines_dropped = comm.total(reader.dropped)
    edges = comm.total(raw.src.size)
    refuse_most(path, edges, raw.facts.lines_dropped, "SOURCE TARGET")
    if not edges:
        passed = f" (line {head.number} was taken as a header: --no-header)" if options.header is None else ""
        raise DataError(f"{path}: no edge; a line is 'SOURCE TARGET'; is the file written to its end?{passed}")
    set_direction(raw, path, True, "the default for edge lists")
    if comm.total(reader.rounded):
        raw.facts.notes.append(ROUNDED)
    return raw


def _read(path: str, reader: _NameReader, begin: DataStart, comm: Comm) -> None:
    """Read this rank's lines from ``begin`` on; collective."""
    if begin.packing:
        before = begin.number - 1
        for text in scattered_lines(path, begin.packing, begin.start, comm):
            reader.lines = 0
            with comm.together():
                reader.take(text)
            before += _checked(reader, path, before, comm)
    else:
        span = begin.size - begin.start
        lo, hi = (begin.start + span * rank // comm.size for rank in (comm.rank, comm.rank + 1))
        with comm.together():
            if file_size(path) != begin.size:
                raise DataError(f"{path}: ranks see files of different sizes; give all ranks the same file")
            for text in lines_of_range(path, lo, hi, begin.start):
                reader.take(text)
                if reader.fault:
                    break
        _checked(reader, path, begin.number - 1, comm)


class _FirstLine:
    """First line of a file, if the options do not say whether it is a header: an edge, names of columns, or counts.

    It is read apart from the others, because its class depends on the names in them.

    Attributes:
        words: its columns.
        fault: why it is not an edge; "" if it may be one.
        named: True if its first two columns read like names of the source and target columns.
        titled: True if the weight column holds a word that is not a number.
        counts: its numbers, if it reads like counts.
    """

    def __init__(
        self,
        path: str,
        head: FileHead,
        places: Sequence[int],
        separator: str,
        reader: _NameReader,
        options: LoadOptions,
    ):
        self.path, self.head, self.lenient = path, head, options.lenient
        self.text = np.frombuffer(head.raw.encode("latin-1"), np.uint8)
        self.words = split_columns(head.line, separator)
        exact = split_columns(head.raw.rstrip("\r\n").strip(" \t"), separator)
        self.ends = [exact[place].encode("latin-1") for place in places[:2] if place < len(exact)]
        reader.lenient = False
        reader.take(self.text)
        self.fault = reader.fault
        self.named = names_ends(self.words, places)
        weight = self.words[places[2]] if len(places) > 2 and len(self.words) > places[2] else ""
        self.titled = bool(weight) and not (begins_number(weight) or is_number(weight))
        self.counts = counts_of(self.words)
        by_name = options.columns is not None and are_names(options.columns)
        if not by_name and (options.header or (options.header is None and (self.named or self.titled))):
            check_names(path, head, self.words, places)
        if options.header is None and self.fault and not (self.named or self.titled or self.counts or self.lenient):
            raise DataError(f"{path}:{head.number}: {self.fault}{OR_HEADER}")

    def resolve(self, others: _NameReader, facts: LoadFacts, comm: Comm) -> None:
        """Classify the line, and pass it to ``others``, which has read the rest, if it is an edge; collective.

        Raises:
            DataError: it is neither edge nor header, or it may be both.
        """
        where = f"{self.path}:{self.head.number}"
        lines = comm.total(sum(len(ends) for ends in others.ends) + others.dropped)
        met = comm.allreduce(np.array([others.holds(end) for end in self.ends], np.int64), "max").any()
        if self.named and met:
            raise DataError(
                f"{where}: got {self.head.line[:60]!r}, which reads like names of columns, but vertices of other lines "
                f"have these names, too; {OTHERWISE}"
            )
        if self.named or (self.titled and not met):
            facts.notes.append(header_note(self.head, self.words))
            return
        if self.counts and lines and lines in self.counts.edges and _distinct(others, comm) == self.counts.vertices:
            facts.warnings.append(counts_warning(self.head))
            return
        if self.fault and not self.lenient:
            raise DataError(f"{where}: {self.fault}{OR_HEADER}")
        with comm.together():
            if comm.rank == 0:
                others.take(self.text)
        if lines and not (self.fault or met):
            facts.warnings.append(
                f"line {self.head.number}, {self.head.line[:60]!r}, was taken as an edge, and no other line has its "
                "names: if it names the columns, say --header (header=True)"
            )


def _distinct(reader: _NameReader, comm: Comm) -> int:
    """Return the number of distinct names in the edges read on all ranks; collective."""
    names, _ = number_names(np.unique(np.concatenate([np.empty(0, "S1"), *reader.words])), comm)
    return int(names.starts[-1])


def _checked(reader: _NameReader, path: str, before: int, comm: Comm) -> int:
    """Refuse the first wrong line of all ranks; else return the number of lines read on all ranks; collective."""
    lines = comm.allgather(np.array([reader.lines], np.int64))[:, 0]
    with comm.together():
        if reader.fault:
            raise DataError(f"{path}:{before + int(lines[: comm.rank + 1].sum())}: {reader.fault}")
    return int(lines.sum())


class _NameReader:
    """Reader of lines that stores the ends of every edge as indices into the distinct words."""

    def __init__(self, places: Sequence[int], separator: str, comments: str, options: LoadOptions):
        self.strict, self.lenient, self.last = options.columns is None, options.lenient, max(places)
        weight = places[2] if len(places) > 2 and options.weights is None else -1
        self.places = np.array([*places[:2], weight], np.int64)
        self.separator = ord(separator) if separator else 0
        self.classes = scan.byte_classes(comments, "")
        self.lines, self.dropped, self.fault, self.rounded = 0, 0, "", False
        self.words: list[np.ndarray] = []
        self.ends: list[np.ndarray] = []
        self.held = 0
        self.weights = Column(WEIGHTS)

    def take(self, text: np.ndarray) -> None:
        """Read whole lines; on error set ``fault``, and ``lines`` ends at the wrong line."""
        capacity = int(np.count_nonzero(text == 10)) + 1
        if text.size >= LONGEST and not (text[-LONGEST:] == 10).any():
            self.lines, self.fault = self.lines + capacity, TOO_LONG
            return
        spans, reals = np.empty((2 * capacity, 2), np.int64), np.empty(capacity)
        integers, late = np.empty(capacity, np.int64), np.empty((capacity, 2), np.int64)
        doubled = np.zeros(2 * capacity, bool)
        edges, lines, dropped, whole, wrong, at = _find(
            text, self.classes, self.separator, self.places, self.last, self.strict, self.lenient, spans, integers,
            reals, late, doubled,
        )  # fmt: skip
        self.lines, self.dropped = self.lines + lines, self.dropped + dropped
        if wrong:
            quoted = bytes(text[at : at + 60]).split(b"\n")[0].decode(errors="replace")
            self.fault = f"got {quoted!r}; {_REASONS[wrong]}; correct or remove this line"
            return
        kept = np.arange(edges)
        if self.places[2] >= 0 and not whole:
            inexact = np.flatnonzero(late[:edges, 1])
            reals[inexact] = scan.correctly_rounded(text, late[inexact])
            self.rounded = self.rounded or bool(scan.any_integer(text, late[inexact]))
            fits = np.ones(edges, bool)
            fits[inexact] = np.isfinite(reals[inexact])
            kept = np.flatnonzero(fits)
            if kept.size < edges and not self.lenient:
                self.fault = "a weight at or before this line does not fit a double; write a smaller number"
                return
            self.dropped += edges - kept.size
        if not kept.size:
            return
        flat = scan.tokens(text, spans[: 2 * edges].reshape(-1, 4)[kept].reshape(-1, 2))
        marks = doubled[: 2 * edges].reshape(-1, 2)[kept].reshape(-1)
        if marks.any():
            flat[marks] = np.char.replace(flat[marks], b'""', b'"')
        words, which = np.unique(flat, return_inverse=True)
        self.words.append(words)
        self.ends.append((which + self.held).astype(np.int64).reshape(-1, 2))
        self.held += words.size
        if self.places[2] >= 0:
            self.weights.extend((integers if whole else reals)[kept], 1.5)

    def holds(self, word: bytes) -> bool:
        """Return True if an end of some edge is this word."""
        return any(bool((words == word).any()) for words in self.words)

    def table(self, comm: Comm) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """Return sources and targets as indices, weights, and the distinct words, ascending; collective."""
        words, places = np.unique(np.concatenate([np.empty(0, "S1"), *self.words]), return_inverse=True)
        ends = np.concatenate([np.empty((0, 2), np.int64), *self.ends])
        self.words, self.ends = [], []
        ends = places[ends]
        level = comm.largest(self.weights.level)
        weights = self.weights.finish(level) if self.places[2] >= 0 else None
        return ends[:, 0], ends[:, 1], weights, words


_REASONS = {
    FEW: "a column is missing",
    MANY: "it goes on after the last column; say which columns to read with --columns (columns=)",
    LONG: f"a name has more than {WIDEST} bytes",
    NUMBER: "the weight is not a number",
    QUOTED: "a name begins with an apostrophe or holds a zero byte; only double quotation marks quote: remove it",
    OPEN: FAULT,
    EMPTY: "a name is empty",
}


@njit(cache=True)
def _gap_end(text, at, end, separator):
    """Return the position of the first byte from ``at`` on that is neither a blank nor a tab, or is the separator."""
    while at < end and (text[at] == 32 or text[at] == 9) and text[at] != separator:
        at += 1
    return at


@njit(cache=True)
def _find(text, classes, separator, places, last, strict, lenient, spans, integers, reals, late, doubled):
    """Find the words of every line. A line must have a column ``last``, and with ``strict`` none after it.

    Returns:
        Edges, lines, lines skipped, True if all weights are integers, the error of the last line, and its start.
    """
    edges, lines, dropped, whole, at = 0, 0, 0, True, 0
    while at < text.size:
        line, lines = at, lines + 1
        begin = scan.blank_end(text, classes, at)
        end = at
        while end < text.size and text[end] != 10:
            end += 1
        at = end + 1
        if end > begin and text[end - 1] == 13:
            end -= 1
        if begin >= end or classes[text[begin]] == scan.COMMENT:
            continue
        wrong, column, integral = 0, 0, True
        late[edges, 0], late[edges, 1] = 0, 0
        here = begin if not separator else line
        while wrong == 0:
            start = here
            quoted = separator != QUOTE
            low = _gap_end(text, here, end, separator) if quoted else here
            quoted = quoted and low < end and text[low] == QUOTE
            twice = False
            if quoted:
                low += 1
                high = low
                while high < end and (text[high] != QUOTE or (high + 1 < end and text[high + 1] == QUOTE)):
                    twice = twice or text[high] == QUOTE
                    high += 1 + (text[high] == QUOTE)
                here = high + 1
                gap = _gap_end(text, here, end, separator)
                ends = gap >= end or (text[gap] == separator if separator else gap > here)
                here = gap if separator else here
                if high >= end or not ends:
                    wrong = OPEN
                    break
            elif separator:
                while here < end and text[here] != separator:
                    here += 1
            else:
                while here < end and text[here] != 32 and text[here] != 9:
                    here += 1
            if not quoted:
                low, high = start, here
                while low < high and (text[low] == 32 or text[low] == 9):
                    low += 1
                while high > low and (text[high - 1] == 32 or text[high - 1] == 9):
                    high -= 1
            if column == places[0] or column == places[1]:
                if low == high:
                    wrong = EMPTY
                elif high - low > WIDEST:
                    wrong = LONG
                elif text[low] == 39 and not quoted:
                    wrong = QUOTED
                for i in range(low, high):
                    if text[i] == 0:
                        wrong = QUOTED
                slot = 2 * edges + (column == places[1])
                spans[slot, 0], spans[slot, 1], doubled[slot] = low, high, twice
            elif column == places[2]:
                integral, integer, value, exact, stop = scan.number(text, low)
                if low == high or stop != high:
                    wrong = NUMBER
                integers[edges], reals[edges] = integer, value
                if not exact:
                    late[edges, 0], late[edges, 1] = low, high
            column += 1
            if here >= end:
                break
            here += 1
            if not separator:
                here = scan.blank_end(text, classes, here)
                if here >= end:
                    break
        if wrong == 0 and column <= last:
            wrong = FEW
        if wrong == 0 and strict and column > last + 1:
            wrong = MANY
        if wrong == 0:
            whole = whole and integral
            edges += 1
        elif lenient:
            dropped += 1
        else:
            return edges, lines, dropped, whole, wrong, line
    return edges, lines, dropped, whole, 0, 0
