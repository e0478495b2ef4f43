"""Plain lines of integers by NumPy, for the first bytes of a process, which need no kernel of ``plain_scan.py``.

The bytes that are no digits show whether lines are plain: separators and a line feed by turns, behind a number each.
Numbers are summed digit by digit, all at once. What needs more than the narrowest types is left to the kernel.
"""

from __future__ import annotations

import os

import numpy as np

from dgraph.graph.formats.scan import BLANK, DELIMITER, INTEGER, NUMBER, SOURCE, TARGET

BYTES = 1 << 24
"""Bytes of text in a process that NumPy reads: it takes 20 ns for one, and the kernel 1.6 s until it is compiled."""
PIECE = 1 << 18
"""Bytes that it reads at a time."""
PLACES = 18
"""Most digits of a plain number."""

_read = [0]
"""Bytes that this process has read or left to the kernel; threads may lose a count."""


def expect(size: int) -> None:
    """Leave a file of ``size`` bytes to the kernel from its start if NumPy may not read all of them."""
    if not affordable(size):
        _read[0] = BYTES


def affordable(size: int) -> bool:
    """Return True if NumPy reads a text of ``size`` bytes."""
    return _read[0] + size <= BYTES and os.environ.get("DGRAPH_COMPILE") != "always"


def read_plain(
    text: np.ndarray, classes: np.ndarray, kinds: np.ndarray, ends: tuple[int, int], most: int,
    limits: tuple[int, int], columns: tuple[np.ndarray, ...],
) -> tuple[int, int] | None:  # fmt: skip
    """Store the numbers of the plain lines at the start of a text; return their number and the position after them.

    Args:
        text: uint8, whole lines.
        classes: of bytes, as ``byte_classes`` returns them.
        kinds: of the columns, see :mod:`scan`.
        ends: smallest and largest id.
        most: lines to read.
        limits: largest id and weight of the columns' types.
        columns: sources, targets and, if lines have them, weights, at least ``most`` long.

    Returns:
        None if the kernel has to read the text from its start: a kind of column, a sign, a number that is too wide, a
        weight that is no integer.
    """
    _read[0] += text.size
    if not {SOURCE, TARGET, INTEGER, NUMBER}.issuperset(kinds.tolist()):
        return None
    lines, position = 0, 0
    while position < text.size and lines < most:
        piece = text[position : position + PIECE]
        last = piece.size - int(np.argmax(piece[::-1] == 10))
        places = tuple(column[lines:] for column in columns)
        answer = _piece(piece[:last], classes, kinds, ends, most - lines, limits, places)
        if answer is None:
            return None
        lines, position = lines + answer[0], position + answer[1]
        if answer[1] < last:
            break
    return lines, position


def _piece(text, classes, kinds, ends, most, limits, columns) -> tuple[int, int] | None:
    """Do what :func:`read_plain` does, for a piece of the text that ends with a line feed."""
    width = kinds.size
    others = np.flatnonzero(text - np.uint8(48) > 9)  # the bytes before 0 wrap
    stops = others[: min(others.size // width, most) * width].reshape(-1, width)
    marks = text[stops]
    lengths = np.diff(stops.ravel(), prepend=-1).reshape(stops.shape) - 1
    good = (lengths > 0) & (lengths <= PLACES)
    good[:, :-1] &= np.isin(classes[marks[:, :-1]], (BLANK, DELIMITER))
    good[:, -1] &= marks[:, -1] == 10
    lines = _leading(np.logical_and.reduce(good, axis=1))
    values = _numbers(text, stops[:lines], lengths[:lines])
    weighs = np.isin(kinds, (INTEGER, NUMBER))
    fits = (values >= ends[0]) & (values <= ends[1]) | weighs
    lines = _leading(np.logical_and.reduce(fits, axis=1))
    if np.any(values[:lines] > np.where(weighs, limits[1], limits[0])):
        return None
    if lines < len(stops) and weighs.any():
        return None  # a weight with a sign or a fraction, perhaps
    for kind, column in zip((SOURCE, TARGET, INTEGER, NUMBER), (*columns, *columns[2:]), strict=False):
        for values_of_kind in values[:lines, kinds == kind].T:
            column[:lines] = values_of_kind
    return lines, int(stops[lines - 1, -1]) + 1 if lines else 0


def _leading(good: np.ndarray) -> int:
    """Return the number of leading True."""
    return good.size if good.all() else int(np.argmin(good))


def _numbers(text: np.ndarray, stops: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the numbers that end before ``stops``: int64, of its shape."""
    values = np.zeros(stops.shape, np.int64)
    for place in range(int(lengths.max(initial=0))):
        digits = text[np.maximum(stops - 1 - place, 0)] - np.uint8(48)
        values += np.where(place < lengths, digits, 0) * np.int64(10**place)
    return values
