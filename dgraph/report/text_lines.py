"""Numbers, sizes and times as short text, and rows of text as an aligned table."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from itertools import pairwise

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = str.maketrans(BLOCKS + "µ÷·…", "12345678u/-.")
"""Replacements where the output's encoding lacks these characters."""

GLUE = "\u00a0"


def size(value: float) -> str:
    """Return a number of bytes with a binary unit and three significant digits."""
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 99.95 else f"{value:.1f} {unit}"


def count(value: float) -> str:
    """Return an integer with thousands separators."""
    return f"{value:,.0f}"


def duration(seconds: float) -> str:
    """Return seconds as s, ms or µs with three significant digits."""
    return durations([seconds])[0]


def durations(seconds: Sequence[float]) -> list[str]:
    """Return seconds in one unit and with equal decimals, so that a column can be compared; the max sets both."""
    most = max(seconds, default=0.0)
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e3, "ms")) if most * s >= 0.9995), (1e6, "µs"))
    digits = max(0, 2 - math.floor(math.log10(most * scale * 1.0005))) if most * scale >= 0.9995 else 0
    return [f"{value * scale:,.{digits}f} {unit}" if value else "0 " + unit for value in seconds]


def aligned(lines: list[list[str] | None]) -> list[str]:
    """Return rows as lines with columns flush right; None becomes a rule. All rows have equally many cells."""
    rows = [row for row in lines if row is not None]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return [rule if row is None else "  ".join(map(str.rjust, row, widths)) for row in lines]


def labelled(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return label and text side by side, long texts wrapped to ``width`` columns beside their label."""
    margin = max((len(label) for label, _ in rows), default=0) + 4
    return [line for label, text in rows for line in wrapped(text, width, f"  {label:{margin - 2}}", " " * margin)]


def wrapped(text: str, width: int, first: str = "", other: str = "") -> list[str]:
    """Return ``text`` as lines of at most ``width`` columns, the first one behind ``first``, others behind ``other``.

    A number and its unit stay together, and words longer than a line stay whole.
    """
    glued = re.sub(r"(?<=\d) (?=(?:s|ms|µs|B|[KMGT]iB)\b)", GLUE, text)
    lines = textwrap.wrap(
        glued, max(width, len(other) + 20), initial_indent=first, subsequent_indent=other,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(GLUE, " ") for line in lines] or [first.rstrip()]


def sparkline(values: Sequence[float], width: int = 60) -> str:
    """Return block characters for ``values`` on a logarithmic scale; more than ``width`` values share a character.

    A character shows the max of its values.
    """
    cells = min(len(values), width)
    ends = [len(values) * i // cells for i in range(cells + 1)] if cells else [0]
    heights = [math.log1p(max(values[low:high])) for low, high in pairwise(ends)]
    most = max(heights, default=0.0) or 1.0
    return "".join(BLOCKS[round(height / most * (len(BLOCKS) - 1))] for height in heights)


def printable(text: str, encoding: str | None) -> str:
    """Return ``text`` with characters that ``encoding`` lacks replaced; None means UTF-8.

    Names of vertices and files may hold bytes that are not UTF-8 (surrogate escapes).
    """
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        if not encoding.lower().startswith("utf"):
            text = text.translate(PLAIN)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text
