"""Parse plain lines: numbers, one character between them, a line feed. Nearly all lines of edges are plain.

:class:`PlainLines` reads such lines from the start of a text, and stops at the first other line, which ``scan.py``
reads and judges. Short lines of integers come first: vector instructions find the ends of their numbers, so that the
next line does not wait for the digits of this one (Langdale and Lemire, Parsing Gigabytes of JSON per Second, 2019).
The kernel for other plain lines is small, too: a process that reads only plain lines never compiles the scanner, which
takes seconds. Columns begin in their narrowest type, and are widened in place at the first value that needs it. A
second form of the kernel, compiled at the first weight with a fraction or an exponent (``round_decimal.py``), reads all
as float64.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.formats.column import IDS, WEIGHTS
from dgraph.graph.formats.parse_digits import bits_below, digits_at, ends_at, number_at
from dgraph.graph.formats.plain_arrays import affordable, read_plain
from dgraph.graph.formats.round_decimal import decimal_at
from dgraph.graph.formats.scan import ANY, BLANK, DELIMITER, EXACT, INTEGER, NUMBER, OTHER, REST, SOURCE, TARGET, WHOLE

PAD = 32
"""Bytes beyond the last line that the kernel may read."""
NARROW_ID, NARROW_WEIGHT = (1 << 32) - 1, (1 << 31) - 1
QUOTE = ord('"')
WIDEST = 4096
"""Most bytes of a column of a plain line that is not a number."""
NONE = np.empty(0, np.int64)
READ = {SOURCE, TARGET, INTEGER, NUMBER, WHOLE, ANY, REST}
"""Kinds of columns that the kernel reads."""


class PlainLines:
    """Reader of plain lines, with the arrays that it fills.

    Args:
        columns: kinds of :mod:`scan`, in order.
        classes: of bytes, as ``byte_classes`` returns them.
        tag: the byte that begins every line, or 0.
        lowest: smallest id.
        highest: largest id.
        decimal: the decimal mark of weights, or 0 if lines with one are not plain.

    Attributes:
        fractions: True once a weight with a fraction was read, so that the column is float64.
        more: True if :meth:`read` stopped at what may be a weight with a fraction, which the next call reads.
        src, dst: ids of the lines read last, in a type of ``column.IDS``, the same for both.
        weights: their weights, in a type of ``column.WEIGHTS``; of no use without a column of weights.
    """

    def __init__(
        self, columns: tuple[int, ...], classes: np.ndarray, tag: int, lowest: int, highest: int, decimal: int
    ):
        self.columns, self.classes, self.tag = np.array(columns, np.int64), classes, tag
        self.lowest, self.highest, self.decimal = lowest, highest, decimal
        self.usable = READ.issuperset(columns)
        self.weighted = INTEGER in columns or NUMBER in columns
        self.fractions = self.more = False
        self._allocate(0)

    def read(self, text: np.ndarray, padded: bool = False) -> tuple[int, int]:
        """Read the plain lines at the start of ``text``; return their number and the position after them.

        ``padded``: ``text`` ends with a line feed, and :data:`PAD` bytes after it may be read.
        """
        if not self.usable or not text.size:
            return 0, 0
        capacity = text.size // (2 * self.columns.size) + 1
        if capacity > self.ends.shape[1]:
            self._allocate(capacity)
        size = text.size
        if not padded:
            copy = np.empty(size + 1 + PAD, np.uint8)
            copy[:size], copy[size:] = text, 10
            text = copy
        ends, values = self.ends, self.values
        if not self.fractions and not self.more:
            columns = ends[0].view(IDS[0]), ends[1].view(IDS[0]), values.view(WEIGHTS[0])
            if (counts := self._read_few(text[:size], columns[: 2 + self.weighted], ends.shape[1])) is not None:
                self.src, self.dst, self.weights = (column[: counts[0]] for column in columns)
                return counts
        narrow = ends[0].view(IDS[0]), ends[1].view(IDS[0]), values.view(WEIGHTS[0])
        reals = values.view(WEIGHTS[2]) if self.fractions or self.more else None
        edges, position, wide, level = 0, 0, 0, 0
        if reals is None:
            edges, position = self._read_short(text, size, narrow, ends.shape[1])
        if position < size:
            edges, position, wide, level, self.more = _plain_lines(
                text, size, self.classes, self.tag, self.columns, self.lowest, self.highest, self.decimal,
                *narrow[:2], *ends, narrow[2], values, reals, ends.shape[1], edges, position,
            )  # fmt: skip
        self.fractions = self.fractions or (reals is not None and edges > 0)
        self.src, self.dst = (column.view(IDS[wide])[:edges] for column in ends)
        self.weights = values.view(WEIGHTS[level])[:edges]
        return edges, min(position, size)

    def fill(self, text: np.ndarray, columns: tuple[np.ndarray, ...]) -> bool:
        """Store all lines of a padded text in columns of the narrowest types; return False if that is not possible.

        The reader is ``usable``. ``columns``: sources, targets and, if there are any, weights, as long as ``text`` has
        lines.
        """
        if (counts := self._read_few(text, columns, columns[0].size)) is not None:
            return counts == (columns[0].size, text.size)
        narrow = *columns[:2], columns[2] if self.weighted else NONE.view(WEIGHTS[0])
        edges, position = self._read_short(text, text.size, narrow, columns[0].size)
        if position < text.size:
            edges, position, *_ = _plain_lines(
                text, text.size, self.classes, self.tag, self.columns, self.lowest, self.highest, self.decimal,
                *narrow[:2], NONE, NONE, narrow[2], NONE, None, columns[0].size, edges, position,
            )  # fmt: skip
        return edges == columns[0].size and position == text.size

    def _read_few(self, text: np.ndarray, columns: tuple[np.ndarray, ...], most: int) -> tuple[int, int] | None:
        """Read a text by NumPy; None if the kernel has to: a tag, a large text, or what :func:`read_plain` says."""
        if self.tag or not text.size or text[-1] != 10 or not affordable(text.size):
            return None
        ends, limits = (self.lowest, self.highest), (NARROW_ID, NARROW_WEIGHT)
        return read_plain(text, self.classes, self.columns, ends, most, limits, columns)

    def _read_short(self, text: np.ndarray, size: int, columns: tuple[np.ndarray, ...], most: int) -> tuple[int, int]:
        """Read the short lines of integers at the start of a padded text: their number, the position after them."""
        if tuple(self.columns[:2]) != (SOURCE, TARGET) or self.columns.size != 2 + self.weighted:
            return 0, 0
        return _short_lines(text, size, self.classes, self.tag, self.lowest, self.highest, *columns, most)

    def _allocate(self, lines: int) -> None:
        self.ends, self.values = np.empty((2, lines), np.int64), np.empty(lines if self.weighted else 0, np.int64)


@njit(cache=True, nogil=True)
def _short_lines(text, size, classes, tag, lowest, highest, src, dst, weights, most):
    """Return the number of lines at the start of ``text`` that were read, and the position after them.

    Such a line has a source, a target and, where there are ``weights``, an integer weight, of 1 to 16 digits each, and
    all of them end within 32 bytes.
    """
    edges, position, weighted = 0, 0, weights.size > 0
    while position < size and edges < most:
        start, weight = position, np.int64(0)
        if tag:
            if text[np.uintp(start)] != tag or classes[text[np.uintp(start + 1)]] != BLANK:
                break
            start += 2
        ends = ends_at(text, start)
        middle = start + np.int64(bits_below(ends))
        ends &= ends - np.uint64(1)
        last = end = start + np.int64(bits_below(ends))
        longest = (middle - start - 1) | (end - middle - 2)  # more than 15 where one of them is, or is negative
        if weighted:
            ends &= ends - np.uint64(1)
            last = start + np.int64(bits_below(ends))
            longest |= last - end - 2
        if longest & ~15 or classes[text[np.uintp(middle)]] not in (BLANK, DELIMITER):
            break
        if weighted:
            if classes[text[np.uintp(end)]] not in (BLANK, DELIMITER):
                break
            weight = number_at(text, end + 1, last - end - 1)
        source, target = number_at(text, start, middle - start), number_at(text, middle + 1, end - middle - 1)
        inside = lowest <= source <= highest and lowest <= target <= highest
        if text[np.uintp(last)] != 10 or not inside or max(source, target) > NARROW_ID or weight > NARROW_WEIGHT:
            break
        src[edges], dst[edges] = source, target
        if weighted:
            weights[edges] = weight
        edges += 1
        position = last + 1
    return edges, position


@njit(cache=True, nogil=True)
def _plain_lines(
    text, size, classes, tag, columns, lowest, highest, decimal, src, dst, wide_src, wide_dst, weights, longs, reals,
    most, edges, position,
):  # fmt: skip
    """Return lines, the position after them, the places of the columns' types in ``IDS`` and ``WEIGHTS``, and ``more``.

    ``edges`` lines up to ``position`` were read before, of the narrowest types.
    ``src`` and ``wide_src`` are two views of one buffer, as are ``dst`` and ``wide_dst``, and the three of weights.
    Without ``reals`` a weight that is no integer ends the plain lines, as does a value that needs a wider type where
    ``wide_src`` or ``longs`` is empty. At most ``most`` lines are read.
    """
    wide, level, more, weighted = 0, 0, False, weights.size > 0
    if reals is not None:
        level = 2
    source, target, weight, real = np.int64(0), np.int64(0), np.int64(0), 0.0
    while position < size and edges < most:
        here = position
        if tag:
            if text[np.uintp(here)] != tag or classes[text[np.uintp(here + 1)]] != BLANK:
                break
            here += 2
        plain, whole, negative = True, True, False
        for column in range(columns.size):
            kind, start = columns[column], here
            if kind == ANY or kind == REST:  # noqa: SIM109 - one comparison each
                last = start + WIDEST
                while here <= last and text[np.uintp(here)] not in (10, 13, QUOTE):
                    if kind == ANY and classes[text[np.uintp(here)]] != OTHER:
                        break
                    here += 1
                plain = here <= last and (kind == REST or here > start)
            else:
                weighs = kind in (NUMBER, INTEGER)
                signed = weighs and text[np.uintp(here)] == 45
                here += signed
                value, places = digits_at(text, here)
                here += places
                plain = 0 < places <= 18
                if kind == SOURCE:
                    plain = plain and lowest <= value <= highest
                    source = value
                elif kind == TARGET:
                    plain = plain and lowest <= value <= highest
                    target = value
                elif weighs:
                    weight, negative = value, signed
                    whole = text[np.uintp(here)] == 10 or classes[text[np.uintp(here)]] in (BLANK, DELIMITER)
                    if reals is not None:
                        if not whole:
                            plain, real, here = decimal_at(text, start + signed, decimal)
                            plain = plain and kind == NUMBER
                    elif plain and not whole and kind == NUMBER:
                        more = text[np.uintp(here)] == decimal or text[np.uintp(here)] | 32 == 101
            if plain and column < columns.size - 1:
                if columns[column + 1] == REST and text[np.uintp(here)] == 10:
                    break
                plain = classes[text[np.uintp(here)]] in (BLANK, DELIMITER)
                here += 1
            if not plain:
                break
        if not plain or text[np.uintp(here)] != 10:
            break
        if weighted and reals is not None:
            if whole and weight > EXACT:
                break  # the scanner says that it is rounded
            real = float(weight) if whole else real
            reals[edges] = -real if negative else real
        elif weighted:
            if negative and weight == 0:
                break  # beside fractions it is the float -0.0
            if level == 0 and weight > NARROW_WEIGHT:
                if not longs.size:
                    break
                for i in range(edges - 1, -1, -1):
                    longs[i] = weights[i]
                level = 1
            weight = -weight if negative else weight
            if level:
                longs[edges] = weight
            else:
                weights[edges] = weight
        if not wide and max(source, target) > NARROW_ID:
            if not wide_src.size:
                break
            for i in range(edges - 1, -1, -1):
                wide_src[i], wide_dst[i] = src[i], dst[i]
            wide = 1
        if wide:
            wide_src[edges], wide_dst[edges] = source, target
        else:
            src[edges], dst[edges] = source, target
        edges += 1
        position = here + 1
    return edges, position, wide, level, more


def _count_few(text):
    return np.count_nonzero(text == 10)


@njit(cache=True, nogil=True, few=_count_few)
def count_lines(text):
    """Return the number of line feeds."""
    count = 0
    for i in range(text.size):
        count += text[i] == 10
    return count
