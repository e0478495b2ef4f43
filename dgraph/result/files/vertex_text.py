"""LDBC Graphalytics' ``vertex value`` lines, formatted by NumPy a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

ROWS = 1 << 16
"""Rows formatted at a time."""

UNREACHED = np.iinfo(np.int64).max
"""Integer distance of an unreached vertex."""


def lines(vertex: np.ndarray, values: np.ndarray, infinity: bytes = b"") -> Iterator[bytes]:
    """Yield the text of the rows, in blocks. Floats read back equal; infinity is written as ``Infinity``.

    Args:
        vertex: int64, not negative; or names as bytes (``b""`` leaves the field empty).
        values: integers, floats or names, one a vertex.
        infinity: text for an integer ``UNREACHED``; b"" writes the number.
    """
    for begin in range(0, vertex.size, ROWS):
        rows = slice(begin, begin + ROWS)
        if "S" in (vertex.dtype.kind, values.dtype.kind):
            yield _name_lines(vertex[rows], values[rows], infinity)
        elif np.issubdtype(values.dtype, np.floating):
            yield _float_lines(vertex[rows], values[rows])
        else:
            yield _integer_lines(vertex[rows], values[rows].astype(np.int64), infinity)


def _name_lines(vertex: np.ndarray, values: np.ndarray, infinity: bytes) -> bytes:
    """Return lines in which vertices, and possibly values, are names."""
    if values.dtype.kind == "S":
        return b"".join(map(b"%s %s\n".__mod__, zip(vertex.tolist(), values.tolist(), strict=True)))
    numbered = b"".join(lines(np.arange(values.size), values, infinity)).splitlines()
    cells = [line.partition(b" ")[2] for line in numbered]
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
    one = np.ones((vertex.size, 1), np.uint8)
    block = np.hstack([keys, one * ord(" "), cells, one * ord("\n")])
    keep = np.hstack([used_keys, one.view(bool), used, one.view(bool)])
    return block[keep].tobytes()


def digits(values: np.ndarray, least: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return integers as right-aligned ASCII in a byte matrix (rows, width ≥ least), and a mask of the used cells."""
    negative = values < 0
    rest = np.abs(values).view(np.uint64)
    length = len(str(rest.max(initial=0)))
    width = max(length + int(negative.any()), least)
    cells = np.full((values.size, width), ord("0"), np.uint8)
    shown = np.zeros((values.size, width), bool)
    shown[:, -1] = True
    for place in range(1, length + 1):
        rest, digit = np.divmod(rest, np.uint64(10))
        cells[:, -place] += digit.astype(np.uint8)
        if place < length:
            shown[:, -place - 1] = rest > 0
    if negative.any():
        rows = np.flatnonzero(negative)
        before = width - 1 - shown[rows].sum(axis=1)
        cells[rows, before], shown[rows, before] = ord("-"), True
    return cells, shown
