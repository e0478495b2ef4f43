"""Lines of an edge list whose ends are words: a reader that collects the words and weights of a rank's lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dgraph._support.compiled import njit
from dgraph.comm.base import Comm
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import GROWTH, IDS, WEIGHTS, Arena, GrowingColumn
from dgraph.graph.formats.decimal_marks import decimal_hint, decimal_swap
from dgraph.graph.formats.hidden_lines import HiddenLines
from dgraph.graph.formats.number_tokens import correctly_rounded, remarks_on, tokens
from dgraph.graph.formats.quoted import FAULT, QUOTE, split_fields
from dgraph.graph.formats.sniff import CARRIAGE, LONGEST, SHOWN, TOO_LONG, shortened
from dgraph.graph.formats.word_table import WordTable
from dgraph.graph.names import Names

WIDEST = 255
"""Bytes in a name at most."""
FEW, MANY, LONG, NUMBER, QUOTED, EMPTY, OPEN, RETURNS, MARKED = range(1, 10)
MARK = 0xEF, 0xBB, 0xBF
"""The byte order mark of UTF-8: at the start of a file it is passed over, inside a file it is of another file."""


@dataclass(frozen=True)
class NameForm:
    """Syntax of lines with names.

    Attributes:
        comments: characters that begin a comment line after the first line of data.
        fields: columns of most lines; a comment line with as many is counted as hidden.
        decimal: the decimal mark of weights.
        weighs: True if weights are read.
        lenient: skip wrong lines, and count them.
    """

    comments: str
    fields: int
    decimal: str
    weighs: bool
    lenient: bool


@dataclass
class ScannedLines:
    """Edges of some lines, or their fault.

    Attributes:
        size: bytes of the lines.
        lines, dropped: numbers of lines, and of those passed over; lines end at a wrong one.
        fault: reason why the last line is wrong, or "".
        hidden: number of hidden lines, the place of the first among the lines, and its text; None: there are none.
        remarks: on the weights, those of ``number_tokens``.
        codes: of sources and targets in turn, or None.
        weights: int64 or float64, one for two codes, or None.
    """

    size: int
    lines: int
    dropped: int = 0
    fault: str = ""
    hidden: tuple[int, int, str] | None = None
    remarks: frozenset[str] = frozenset()
    codes: np.ndarray | None = None
    weights: np.ndarray | None = None


class NameReader:
    """Reader of lines that stores the ends of every edge as codes of the distinct words.

    Args:
        places: positions, from 0, of source, target and, if there is one, weight.
        count: columns of every line; 0: as many as ``places`` need, or more.
        separator: between columns; "": blanks and tabs.
        form: the rest of the syntax.
    """

    def __init__(self, places: Sequence[int], count: int, separator: str, form: NameForm):
        self.form, self.last, self.strict = form, (count or max(places) + 1) - 1, count > 0
        self.places = np.array([*places[:2], places[2] if len(places) > 2 and form.weighs else -1], np.int64)
        self.spelled, self.separator = separator, ord(separator) if separator else 0
        self.swap, _ = decimal_swap(form.decimal, "")
        self.classes = scan.byte_classes(form.comments, separator)
        self.lines, self.dropped, self.fault = 0, 0, ""
        self.remarks: set[str] = set()
        self.hidden, self.fresh = HiddenLines(), HiddenLines()
        self.ends = WordTable()
        self.src, self.dst, self.weights = (GrowingColumn(types, Arena()) for types in (IDS, IDS, WEIGHTS))

    def take(self, text: np.ndarray) -> None:
        """Read whole lines; on error set ``fault``, and ``lines`` ends at the wrong line."""
        self.add(self.scan(text))

    def scan(self, text: np.ndarray) -> ScannedLines:
        """Return what whole lines hold; threads may do so for several pieces at a time."""
        capacity = int(np.count_nonzero(text == 10)) + 1
        if text.size >= LONGEST and not (text[-LONGEST:] == 10).any():
            return ScannedLines(text.size, capacity, fault=TOO_LONG)
        weights = capacity if self.places[2] >= 0 else 0
        spans, reals = np.empty((2 * capacity, 2), np.int64), np.empty(weights)
        integers, late = np.empty(weights, np.int64), np.empty((weights, 2), np.int64)
        doubled = np.zeros(2 * capacity, bool)
        numbers = text if self.form.decimal == "." else self.swap[text]
        edges, lines, dropped, whole, wrong, position, hidden, first, start = _find(
            text, numbers, self.classes, self.separator, self.places, self.last, self.strict, self.form.lenient,
            self.form.fields, spans, integers, reals, late, doubled,
        )  # fmt: skip
        scanned = ScannedLines(text.size, lines, dropped)
        if hidden:
            scanned.hidden = hidden, first, _line(text, start)
        if wrong:
            scanned.fault = self._reason(wrong, _line(text, position))
            return scanned
        kept = np.arange(edges)
        if self.places[2] >= 0 and not whole:
            inexact = np.flatnonzero(late[:edges, 1])
            reals[inexact] = correctly_rounded(numbers, late[inexact])
            scanned.remarks = frozenset(remarks_on(numbers, late[inexact], reals[inexact]))
            fits = np.ones(edges, bool)
            fits[inexact] = np.isfinite(reals[inexact])
            kept = np.flatnonzero(fits)
            if kept.size < edges and not self.form.lenient:
                scanned.fault = "a weight at or before this line does not fit a double; write a smaller number"
                return scanned
            scanned.dropped += edges - kept.size
        if not kept.size:
            return scanned
        spans, marks = spans[: 2 * edges], doubled[: 2 * edges]
        if kept.size < edges:
            spans, marks = spans.reshape(-1, 4)[kept].reshape(-1, 2), marks.reshape(-1, 2)[kept].reshape(-1)
        if marks.any():
            words = tokens(text, spans)
            words[marks] = np.char.replace(words[marks], b'""', b'"')
            starts = np.arange(words.size) * words.itemsize
            text, spans = words.view(np.uint8), np.stack([starts, starts + np.char.str_len(words)], axis=1)
        scanned.codes = self.ends.codes(text, spans)
        if self.places[2] >= 0:
            scanned.weights = (integers if whole else reals)[kept]
        return scanned

    def add(self, scanned: ScannedLines, share: float = GROWTH) -> None:
        """Add what :meth:`scan` returned of the next lines; ``share`` is that of :meth:`GrowingColumn.extend`."""
        if scanned.hidden is not None:
            count, first, line = scanned.hidden
            self.fresh.add(count, self.lines + first, line)
        self.lines, self.dropped = self.lines + scanned.lines, self.dropped + scanned.dropped
        self.remarks |= scanned.remarks
        self.fault = scanned.fault
        if scanned.codes is not None:
            self.src.extend(scanned.codes[::2], share)
            self.dst.extend(scanned.codes[1::2], share)
        if scanned.weights is not None:
            self.weights.extend(scanned.weights, share)

    def _reason(self, wrong: int, line: str) -> str:
        """Return the error of a line."""
        apart = repr(self.spelled) if self.spelled else "blanks"
        reason = _REASONS[wrong].format(apart=apart)
        fields = split_fields(line, self.spelled)
        if wrong == NUMBER and len(fields) > self.places[2]:
            word = fields[self.places[2]]
            reason = f"the weight {shortened(word)!r} is not a number"
            reason += decimal_hint(word) if self.form.decimal == "." else ""
        return f"got {shortened(line)!r}; {reason}; correct or remove this line"

    def settle(self, before: int) -> None:
        """Count the hidden lines since the last call, which ``before`` lines of the file precede."""
        self.hidden.add(self.fresh.count, before + self.fresh.line, self.fresh.text)
        self.fresh = HiddenLines()

    def table(self, comm: Comm) -> tuple[Names, np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the names of all ranks, and this rank's sources and targets (gids) and weights; collective."""
        names, (src, dst) = self.ends.number([column.finish(column.level) for column in (self.src, self.dst)], comm)
        level = comm.largest(self.weights.level)
        return names, src, dst, self.weights.finish(level) if self.places[2] >= 0 else None


_REASONS = {
    FEW: "a column is missing; columns are separated by {apart} (--separator, separator=)",
    MANY: "it goes on after the last column; say which columns to read with --columns (columns=)",
    LONG: f"a name has more than {WIDEST} bytes",
    NUMBER: "the weight is not a number",
    QUOTED: "a name begins with an apostrophe or holds a zero byte; only double quotation marks quote: remove it",
    OPEN: FAULT,
    EMPTY: "a name is empty",
    RETURNS: CARRIAGE,
    MARKED: "a name begins with a byte order mark, which stands at the start of a file only: remove it",
}


@njit(cache=True, nogil=True)
def _find(
    text, numbers, classes, separator, places, last, strict, lenient, fields, spans, integers, reals, late, doubled
):
    """Find the words of every line. A line must have a column ``last``, and with ``strict`` none after it.

    Returns:
        Edges, lines, lines skipped, True if all weights are integers, the error of the last line, and its start; the
        number of hidden lines, and the number and the start of the first of them.
    """
    edges, lines, dropped, whole, position = 0, 0, 0, True, 0
    hidden, hidden_line, hidden_start = 0, 0, 0
    while position < text.size:
        line, lines = position, lines + 1
        begin = scan.blank_end(text, classes, position)
        end, carriage = scan.line_end(text, begin)
        position = end + 1
        if end > begin and text[end - 1] == 13:
            end -= 1
        if scan.gap_end(text, begin, end, 0) >= end and not carriage:
            continue
        if not carriage and classes[text[begin]] == scan.COMMENT:
            if scan.hides_fields(text[begin:end], classes, fields):
                hidden_line, hidden_start = (hidden_line, hidden_start) if hidden else (lines, line)
                hidden += 1
            continue
        wrong, column, integral = RETURNS if carriage else 0, 0, True
        here = begin if not separator else line
        while wrong == 0:
            start = here
            quoted = separator != QUOTE
            low = scan.gap_end(text, here, end, separator) if quoted else here
            quoted = quoted and low < end and text[low] == QUOTE
            twice = False
            if quoted:
                low += 1
                high = low
                while high < end and (text[high] != QUOTE or (high + 1 < end and text[high + 1] == QUOTE)):
                    twice = twice or text[high] == QUOTE
                    high += 1 + (text[high] == QUOTE)
                here = high + 1
                gap = scan.gap_end(text, here, end, separator)
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
                elif high - low > 2 and (text[low], text[low + 1], text[low + 2]) == MARK:
                    wrong = MARKED
                for i in range(low, high):
                    if text[i] == 0:
                        wrong = QUOTED
                slot = 2 * edges + (column == places[1])
                spans[slot, 0], spans[slot, 1], doubled[slot] = low, high, twice
            elif column == places[2]:
                integral, integer, value, exact, stop = scan.number(numbers, low)
                if low == high or stop != high:
                    wrong = NUMBER
                integers[edges], reals[edges] = integer, value
                late[edges, 0], late[edges, 1] = (0, 0) if exact else (low, high)
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
            return edges, lines, dropped, whole, wrong, line, hidden, hidden_line, hidden_start
    return edges, lines, dropped, whole, 0, 0, hidden, hidden_line, hidden_start


def _line(text: np.ndarray, start: int) -> str:
    """Return the line that begins at ``start``, cut where messages end."""
    return bytes(text[start : start + 4 * SHOWN]).split(b"\n")[0].removesuffix(b"\r").decode(errors="replace")
