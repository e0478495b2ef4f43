"""Syntax of an edge list that the load options describe: its separator, comments and decimal mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dgraph.errors import UsageError
from dgraph.graph.formats.separator import SPELLED

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


@dataclass(frozen=True)
class EdgeForm:
    """Syntax of an edge list's lines, from the load options.

    Attributes:
        comments: characters that begin a comment line before the first line of data.
        later: those that begin one in later lines, in files of names: those that the user gave.
        separator: between columns; None: decided by the first lines.
        decimal: the decimal mark of weights.
    """

    comments: str
    later: str
    separator: str | None
    decimal: str


def edge_form(options: LoadOptions) -> EdgeForm:
    """Return the syntax that ``separator`` and ``comment`` describe.

    Raises:
        UsageError: one of them is invalid.
    """
    separator, comment = options.separator, options.comment
    separator = separator if separator is None else SPELLED.get(separator.lower(), separator)
    for name, mark in (("separator", separator), ("comment", comment or None)):
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "+-.\r\n"):
            raise UsageError(f"{name} {mark!r}: give one character that no number holds, such as '|' or a tab")
    comments = "#%" if comment is None else comment
    return EdgeForm(comments, comment or "", separator and separator.strip(" "), options.decimal)
