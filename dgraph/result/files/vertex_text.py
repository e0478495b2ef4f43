"""LDBC Graphalytics' ``vertex value`` lines, formatted by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROWS = 1 << 16
"""Rows formatted at a time."""

FOUR_DIGITS = np.array([b"%04d" % number for number in range(10_000)]).view(np.uint32)
"""Text of each number below 10,000, four bytes as one integer."""

UNREACHED = np.iinfo(np.int64).max
"""Integer distance of an unreached vertex."""


def lines(vertex: np.ndarray, values: np.ndarray, infinity: bytes = b"") -> bytes:
    """Return the text of some rows. Floats read back equal; infinity is written as ``Infinity``.

    Args:
        vertex: int64, not negative; or names as bytes (``b""`` leaves the field empty).
        values: integers, floats or names, one a vertex.
        infinity: text for an integer ``UNREACHED``; b"" writes the number.
    """
    if "S" in (vertex.dtype.kind, values.dtype.kind):
        return _name_lines(vertex, values, infinity)
    if np.issubdtype(values.dtype, np.floating):
        return _float_lines(vertex, values)
    return _integer_lines(vertex, values.astype(np.int64), infinity)


def _name_lines(vertex: np.ndarray, values: np.ndarray, infinity: bytes) -> bytes:
    """Return lines in which vertices, and possibly values, are names."""
    if values.dtype.kind == "S":
        return b"".join(map(b"%s %s\n".__mod__, zip(vertex.tolist(), values.tolist(), strict=True)))
    cells = [line.partition(b" ")[2] for line in lines(np.arange(values.size), values, infinity).splitlines()]
    return b"".join(map(b"%s %s\n".__mod__, zip(vertex.tolist(), cells, strict=True)))


def _float_lines(vertex: np.ndarray, values: np.ndarray) -> bytes:
    pairs = zip(vertex.tolist(), values.tolist(), strict=True)
    text = "".join(map("%d %r\n".__mod__, pairs))
    return text.replace("inf", "Infinity").replace("nan", "NaN").encode()


def _integer_lines(vertex: np.ndarray, values: np.ndarray, infinity: bytes) -> bytes:
    keys, used_keys = digits(vertex)
    if infinity:
        unreached = values == UNREACHED
        cells, used = digits(np.where(unreached, 0, values), len(infinity))
        cells[unreached, -len(infinity) :] = np.frombuffer(infinity, np.uint8)
        used[unreached, -len(infinity) :] = True
    else:
        cells, used = digits(values)
    return joined([keys, cells], [used_keys, used], b" \n")


def joined(cells: Sequence[np.ndarray], used: Sequence[np.ndarray], ends: bytes) -> bytes:
    """Return rows as text: the used cells of each byte matrix (rows, width), followed by its byte of ``ends``."""
    rows, width = len(cells[0]), sum(part.shape[1] + 1 for part in cells)
    block, keep = np.empty((rows, width), np.uint8), np.empty((rows, width), bool)
    begin = 0
    for text, kept, end in zip(cells, used, ends, strict=True):
        last = begin + text.shape[1]
        block[:, begin:last], keep[:, begin:last] = text, kept
        block[:, last], keep[:, last] = end, True
        begin = last + 1
    return np.compress(keep.ravel(), block.ravel()).tobytes()


def digits(values: np.ndarray, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return integers as right-aligned ASCII in a byte matrix (rows, width ≥ least), and a mask of the used cells."""
    negative = values < 0
    rest = np.abs(values).view(np.uint64)
    most = int(rest.max(initial=0))
    length = len(str(most))
    width = max(length + int(negative.any()), least)
    if most < 1 << 32:
        rest = rest.astype(np.uint32)  # which divides faster
    shown = np.zeros((values.size, width), bool)
    shown[:, -1] = True
    for place in range(1, length):
        np.greater_equal(rest, rest.dtype.type(10**place), out=shown[:, -place - 1])
    groups = -(-width // 4)
    fours = np.empty((values.size, groups), np.uint32)
    for group in range(groups - 1, 0, -1):
        higher = rest // rest.dtype.type(10_000)
        fours[:, group] = FOUR_DIGITS[rest - higher * rest.dtype.type(10_000)]
        rest = higher
    fours[:, 0] = FOUR_DIGITS[rest]
    cells = fours.view(np.uint8)[:, 4 * groups - width :]
    if negative.any():
        rows = np.flatnonzero(negative)
        before = width - 1 - shown[rows].sum(axis=1)
        cells[rows, before], shown[rows, before] = ord("-"), True
    return cells, shown
