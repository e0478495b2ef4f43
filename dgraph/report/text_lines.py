"""Figures for people, and lines of a table."""

from __future__ import annotations


def size(value: float) -> str:
    """Bytes for people: three figures and a binary unit."""
    unit = "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 99.95 else f"{value:.1f} {unit}"


def count(value: float) -> str:
    """With separators."""
    return f"{value:,.0f}"


def aligned(lines: list[list[str] | None]) -> list[str]:
    """Rows of one length in columns, flush right; a rule for None."""
    rows = [row for row in lines if row is not None]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return [rule if row is None else "  ".join(map(str.rjust, row, widths)) for row in lines]
