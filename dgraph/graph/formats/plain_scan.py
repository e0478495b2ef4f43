"""Parse plain lines: unsigned integers, one character between them, a line feed. Nearly all lines of edges are plain.

:class:`PlainLines` reads such lines from the start of a text, and stops at the first other line, which ``scan.py``
reads and judges. Its kernel is small: a process that reads only plain lines never compiles the scanner, which takes
seconds.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.formats.parse_digits import digits_at
from dgraph.graph.formats.scan import ANY, BLANK, DELIMITER, INTEGER, NUMBER, SOURCE, TARGET, WHOLE

PAD = 32
"""Bytes beyond the last line that the kernel may read."""
HIGHEST_ID, HIGHEST_WEIGHT = (1 << 32) - 1, (1 << 31) - 1
READ = {SOURCE, TARGET, INTEGER, NUMBER, WHOLE, ANY}
"""Kinds of columns that the kernel reads."""


class PlainLines:
    """Reader of plain lines, with the arrays that it fills.

    Args:
        columns: kinds of :mod:`scan`, in order.
        classes: of bytes, as ``byte_classes`` returns them.
        tag: the byte that begins every line, or 0.
        lowest: smallest id.
        highest: largest id.

    Attributes:
        src, dst: uint32, ids of the lines read last.
        weights: int32, their weights; of no use without a column of weights.
    """

    def __init__(self, columns: tuple[int, ...], classes: np.ndarray, tag: int, lowest: int, highest: int):
        self.columns, self.classes, self.tag = np.array(columns, np.int64), classes, tag
        self.lowest, self.highest = lowest, min(highest, HIGHEST_ID)
        self.usable = READ.issuperset(columns)
        self.weighted = INTEGER in columns or NUMBER in columns
        self._allocate(0)

    def read(self, text: np.ndarray, padded: bool = False) -> tuple[int, int]:
        """Read the plain lines at the start of ``text``; return their number and the position after them.

        ``padded``: ``text`` ends with a line feed, and :data:`PAD` bytes after it may be read.
        """
        if not self.usable or not text.size:
            return 0, 0
        capacity = text.size // (2 * self.columns.size) + 1
        if capacity > self.src.size:
            self._allocate(capacity)
        size = text.size
        if not padded:
            copy = np.empty(size + 1 + PAD, np.uint8)
            copy[:size], copy[size:] = text, 10
            text = copy
        edges, position = _plain_lines(
            text, size, self.classes, self.tag, self.columns, self.lowest, self.highest, self.src, self.dst,
            self.weights,
        )  # fmt: skip
        return edges, min(position, size)

    def _allocate(self, lines: int) -> None:
        self.src, self.dst = np.empty(lines, np.uint32), np.empty(lines, np.uint32)
        self.weights = np.empty(lines if self.weighted else 0, np.int32)


@njit(cache=True, nogil=True)
def _plain_lines(text, size, classes, tag, columns, lowest, highest, src, dst, weights):
    edges, position = 0, 0
    while position < size and edges < src.size:
        here = position
        if tag:
            if text[np.uintp(here)] != tag or classes[text[np.uintp(here + 1)]] != BLANK:
                break
            here += 2
        plain = True
        for column in range(columns.size):
            kind = columns[column]
            weighs = kind in (NUMBER, INTEGER)
            negative = weighs and text[np.uintp(here)] == 45
            here += negative
            value, places = digits_at(text, here)
            here += places
            plain = 0 < places <= 18
            if kind == SOURCE:
                plain = plain and lowest <= value <= highest
                src[edges] = value
            elif kind == TARGET:
                plain = plain and lowest <= value <= highest
                dst[edges] = value
            elif weighs:
                plain = plain and value <= HIGHEST_WEIGHT and (value > 0 or not negative)  # -0 is a float
                weights[edges] = -value if negative else value
            if plain and column < columns.size - 1:
                after = classes[text[np.uintp(here)]]
                plain = after in (BLANK, DELIMITER)
                here += 1
            if not plain:
                break
        if not plain or text[np.uintp(here)] != 10:
            break
        edges += 1
        position = here + 1
    return edges, position
