"""Rows of a CSV file (RFC 4180, lines end with LF), formatted by NumPy."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dgraph.result.arrow_tables import missing
from dgraph.result.files.vertex_text import digits, joined

SPECIAL = b'",\r\n'
"""Bytes that make a field need quotes."""
ENDS = b" \t'"
"""Bytes that do so at an end of a field: readers leave blanks there out, and an apostrophe may quote."""


def header(names: Collection[str]) -> bytes:
    """Return the first line: the names of the columns."""
    return b",".join(_quoted(np.array([name.encode() for name in names])).tolist()) + b"\n"


def rows(columns: Mapping[str, np.ndarray], nullable: Collection[str], separator: bytes = b",") -> bytes:
    """Return the text of some rows. Floats read back equal; a missing value is an empty field.

    Args:
        columns: integers, booleans, floats, times, or names as bytes, of one length.
        nullable: columns in which integers and floats may be missing.
        separator: the byte between fields.
    """
    cells: list[np.ndarray] = []
    used: list[np.ndarray] = []
    for name, values in columns.items():
        text, kept = _cells(values)
        mask = np.isnat(values) if values.dtype.kind == "M" else missing(name, values, nullable)
        if mask is not None:
            kept[mask] = False
        cells.append(text)
        used.append(kept)
    return joined(cells, used, separator * (len(cells) - 1) + b"\n")


def lines(values: np.ndarray, ends: np.ndarray) -> bytes:
    """Return values as text, each before its byte of ``ends`` (uint8)."""
    text, used = _cells(values)
    return np.column_stack([text, ends])[np.column_stack([used, np.ones(len(ends), np.bool_)])].tobytes()


def _cells(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values as text in a byte matrix (rows, width), and a mask of the used cells."""
    if values.dtype.kind in "iu":
        return digits(values.astype(np.uint64 if values.dtype.kind == "u" else np.int64))
    if values.dtype.kind in "bM":
        words = values.astype("S")
    else:
        words = _quoted(values) if values.dtype.kind == "S" else np.array(list(map(str, values.tolist())), "S")
    text = np.ascontiguousarray(words).view(np.uint8).reshape(words.size, words.itemsize)
    return text, np.arange(words.itemsize) < np.char.str_len(words)[:, None]


def _quoted(words: np.ndarray) -> np.ndarray:
    """Return names, in quotes where they need them."""
    raw = np.ascontiguousarray(words).view(np.uint8).reshape(words.size, words.itemsize)
    ends = np.isin((raw[:, 0], raw[np.arange(words.size), np.char.str_len(words) - 1]), np.frombuffer(ENDS, np.uint8))
    special = np.flatnonzero(np.isin(raw, np.frombuffer(SPECIAL, np.uint8)).any(axis=1) | ends.any(axis=0))
    if not special.size:
        return words
    quoted = np.char.add(np.char.add(b'"', np.char.replace(words[special], b'"', b'""')), b'"')
    cells = words.astype(f"S{max(words.itemsize, quoted.itemsize)}")
    cells[special] = quoted
    return cells
