"""Edge lists whose ends are words: the words become numbers, and are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dgraph.comm.base import Comm
from dgraph.compiled import njit
from dgraph.errors import DataError
from dgraph.graph.clean import RawEdges
from dgraph.graph.formats import scan
from dgraph.graph.formats.column import WEIGHTS, Column
from dgraph.graph.formats.dense import set_direction
from dgraph.graph.formats.head import LONGEST, TOO_LONG, Begin, file_size
from dgraph.graph.formats.lines import lines_dealt, lines_of_range
from dgraph.graph.names import NamedIds, number_names

if TYPE_CHECKING:
    from dgraph.graph.options import LoadOptions

WIDEST = 255
"""bytes in a name at most"""
FEW, MANY, LONG, NUMBER, QUOTED, EMPTY = range(1, 7)


def read_named(
    path: str, begin: Begin, places: tuple[int, int, int], separator: str, comments: str, comm: Comm,
    options: LoadOptions,
) -> RawEdges:  # fmt: skip
    """Read lines of columns from ``begin`` on; collective.

    Args:
        places: the columns, from 0, of source, target and weight (-1: there is none).
        separator: the one character between columns, which names then cannot hold; "": any blanks.
    """
    reader = _Words(places, separator, comments, options)
    if begin.packing:
        before = begin.number - 1
        for text in lines_dealt(path, begin.packing, begin.start, comm):
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
    src, dst, weights, words = reader.table(comm)
    names, numbers = number_names(words, comm)
    n = int(names.starts[-1])
    raw = RawEdges(numbers[src], numbers[dst], weights, n=n, ids=NamedIds(names))
    raw.facts.lines_dropped = comm.total(reader.dropped)
    if not comm.total(src.size):
        raise DataError(f"{path}: no edge; a line is 'SOURCE TARGET'; is the file written to its end?")
    set_direction(raw, path, True, "the default for edge lists")
    raw.facts.notes.append(f"ids are names, {n} of them, {names.here.itemsize} bytes at most")
    return raw


def _checked(reader: _Words, path: str, before: int, comm: Comm) -> int:
    """Refuse the first wrong line of all ranks; else the lines that they took."""
    lines = comm.allgather(np.array([reader.lines], np.int64))[:, 0]
    with comm.together():
        if reader.fault:
            raise DataError(f"{path}:{before + int(lines[: comm.rank + 1].sum())}: {reader.fault}")
    return int(lines.sum())


class _Words:
    """Takes lines, and keeps for every edge which of the distinct words its ends are."""

    def __init__(self, places: tuple[int, int, int], separator: str, comments: str, options: LoadOptions):
        self.strict, self.lenient = options.columns is None, options.lenient
        self.places = np.array(places, np.int64)
        self.separator = ord(separator) if separator else 0
        self.classes = scan.byte_classes(comments, "")
        self.lines, self.dropped, self.fault = 0, 0, ""
        self.words: list[np.ndarray] = []
        self.ends: list[np.ndarray] = []
        self.held = 0
        self.weights = Column(WEIGHTS)

    def take(self, text: np.ndarray) -> None:
        room = int(np.count_nonzero(text == 10)) + 1
        if text.size >= LONGEST and not (text[-LONGEST:] == 10).any():
            self.lines, self.fault = self.lines + room, TOO_LONG
            return
        spans, reals = np.empty((2 * room, 2), np.int64), np.empty(room)
        integers, late = np.empty(room, np.int64), np.empty((room, 2), np.int64)
        edges, lines, dropped, whole, wrong, at = _find(
            text, self.classes, self.separator, self.places, self.strict, self.lenient, spans, integers, reals, late
        )
        self.lines, self.dropped = self.lines + lines, self.dropped + dropped
        if wrong:
            shown = bytes(text[at : at + 60]).split(b"\n")[0].decode(errors="replace")
            self.fault = f"got {shown!r}; {_REASONS[wrong]}; correct or remove this line"
            return
        kept = np.arange(edges)
        if self.places[2] >= 0 and not whole:
            inexact = np.flatnonzero(late[:edges, 1])
            reals[inexact] = scan.correctly_rounded(text, late[inexact])
            kept = np.flatnonzero(np.isfinite(reals[:edges]))
            if kept.size < edges and not self.lenient:
                self.fault = "a weight at or before this line does not fit a double; write a smaller number"
                return
            self.dropped += edges - kept.size
        if not kept.size:
            return
        flat = scan.tokens(text, spans[: 2 * edges].reshape(-1, 4)[kept].reshape(-1, 2))
        words, which = np.unique(flat, return_inverse=True)
        self.words.append(words)
        self.ends.append((which + self.held).astype(np.int64).reshape(-1, 2))
        self.held += words.size
        if self.places[2] >= 0:
            self.weights.extend((integers if whole else reals)[kept], 1.5)

    def table(self, comm: Comm) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """Sources and targets as places in the distinct words, weights, and those words, ascending; collective."""
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
    NUMBER: "the weight is no finite number",
    QUOTED: "a name begins with a quotation mark or holds a zero byte; quotation is not read: remove it",
    EMPTY: "a name is empty",
}


@njit(cache=True)
def _find(text, classes, separator, places, strict, lenient, spans, integers, reals, late):
    """Find the words of every line. ``strict``: there are no columns after the last that is read.

    Returns: edges, lines, lines passed over, whether all weights are integers, what is wrong
    with the last line, and where it begins.
    """
    edges, lines, dropped, whole, at = 0, 0, 0, True, 0
    last = max(places[0], places[1], places[2])
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
            if separator:
                while here < end and text[here] != separator:
                    here += 1
            else:
                while here < end and text[here] != 32 and text[here] != 9:
                    here += 1
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
                elif text[low] == 34 or text[low] == 39:
                    wrong = QUOTED
                for i in range(low, high):
                    if text[i] == 0:
                        wrong = QUOTED
                slot = 2 * edges + (column == places[1])
                spans[slot, 0], spans[slot, 1] = low, high
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
