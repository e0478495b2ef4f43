"""Layout of the lines of a table, and the reason why a line violates it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.graph.formats import scan
from dgraph.graph.formats.decimal_marks import decimal_hint
from dgraph.graph.formats.quoted import split_fields
from dgraph.graph.formats.sniff import CARRIAGE, SHOWN, shortened


@dataclass(frozen=True)
class Layout:
    """Columns of a format's lines.

    Attributes:
        columns: kinds of :mod:`scan`, in order.
        example: a valid line, for messages.
        tag: the letter that begins every line, or "".
        comments: letters that begin a comment line.
        separator: the character between columns; "": blanks and tabs.
        fields: number of columns with which a comment line is counted as hidden (``hidden_lines.py``); 0: none is.
        decimal: the decimal mark of weights, "." or ",".
        lowest, highest: range of ids.
        limit: for messages, the reason for ``highest``.
        advice: for messages, other possible causes of a wrong line.
        first: for messages, other possible causes if the wrong line is the first one read.
        quoted: True if fields may be quoted, as in CSV.
    """

    columns: tuple[int, ...]
    example: str
    tag: str = ""
    comments: str = "#%"
    separator: str = ""
    fields: int = 0
    decimal: str = "."
    lowest: int = 0
    highest: int = scan.LARGEST
    limit: str = "ids fit 63 bits"
    advice: str = ""
    first: str = ""
    quoted: bool = False


def reason_of(wrong: int, column: int, text: np.ndarray, line: int, token: int, layout: Layout) -> str:
    """Return the error of a line: ``wrong`` is that of ``scan.py``, at a token in a column."""
    word = _token(text, token, layout.separator)
    mark = repr(layout.separator)
    reasons = {
        scan.TAG: f"it does not begin with {layout.tag!r}",
        scan.MISSING: f"column {column + 1} of {len(layout.columns)} is missing",
        scan.EMPTY: f"column {column + 1} is empty",
        scan.EXTRA: f"it goes on after column {column}",
        scan.WORD: f"{word!r} in column {column + 1} is not a {_name_kind(layout, column)}",
        scan.FRACTION: f"{word!r} in column {column + 1} is not a 64-bit integer",
        scan.NEGATIVE: f"id {word!r} is negative",
        scan.TOO_BIG: f"id {word!r} is above 2^63 - 1",
        scan.TOO_LOW: f"id {word!r} is too low: ids here begin at {layout.lowest}",
        scan.TOO_HIGH: f"id {word!r} is above {layout.highest}: {layout.limit}",
        scan.SPLIT: f"a blank follows column {column + 1}, and {mark} stands between the columns of this file",
        scan.CARRIAGE: CARRIAGE,
    }
    hint = decimal_hint(word) if wrong == scan.WORD and layout.decimal == "." else ""
    if wrong == scan.WORD and layout.advice and word[:1].isalpha() and _name_kind(layout, column) != "number":
        hint = "; names of vertices need --ids string (ids='string')"
    return (
        f"got {_line(text, line)!r}; {reasons[wrong]}{hint}; a line is {layout.example!r}: correct or remove this "
        f"one{layout.advice}"
    )


def _name_kind(layout: Layout, column: int) -> str:
    weight = {scan.INTEGER, scan.NUMBER}.intersection(layout.columns[column : column + 1])
    return "number" if weight else "whole number"


def _line(text: np.ndarray, start: int) -> str:
    """Return the line that begins at ``start``, shortened."""
    raw = bytes(text[start : start + 4 * SHOWN]).split(b"\n")[0].removesuffix(b"\r").decode(errors="replace")
    return shortened(raw)


def _token(text: np.ndarray, start: int, separator: str) -> str:
    """Return the field that begins at ``start``, shortened."""
    raw = bytes(text[start : start + 4 * SHOWN]).split(b"\n")[0].rstrip(b"\r").decode(errors="replace")
    return shortened((split_fields(raw, separator) or [""])[0])
