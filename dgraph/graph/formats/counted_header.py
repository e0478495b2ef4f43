"""Checks of the counts in the headers of formats whose ids run from a base to n."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.errors import DataError
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.formats.sniff import name_of

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


def header_number(word: str, what: str, path: str, line: int) -> int:
    """Parse a count in a header line.

    Raises:
        DataError: it is not a whole number below 2^63.
    """
    if not (word.isascii() and word.isdigit()) or int(word) >= 1 << 63:
        raise DataError(f"{path}:{line}: got {word[:60]!r} for the number of {what}; it is a whole number; correct it")
    return int(word)


def check_count(path: str, count: int, declared: int, where: str, what: str) -> None:
    """Refuse a file whose number of lines differs from its header; ``count`` includes dropped lines."""
    if count != declared:
        cause = "was the file cut short" if count < declared else "was something appended"
        raise DataError(
            f"{path}: {count} {what}, but {where} says {declared}; {cause}? fetch it again or correct the header"
        )


def check_size(path: str, n: int, edges: int, options: LoadOptions) -> None:
    """Refuse more vertices than the edges justify, which would waste memory, unless ids are sparse."""
    if n == 0:
        raise DataError(f"{path}: no vertex; a graph has at least one; is this the right file?")
    if n > 1000 * edges + 10**6 and not options.sparse_ids:
        raise DataError(
            f"{path}: ids go up to {n} vertices, but there are only {edges} edges; with --sparse-ids (sparse_ids=True) "
            "the ids that occur are the vertices"
        )


def set_direction(raw: RawEdges | RawRows, path: str, directed: bool, why: str) -> None:
    """Set the name, and the direction with its reason; mark the reader's arrays as disposable."""
    raw.directed, raw.why = directed, why
    if isinstance(raw, RawEdges):
        raw.disposable = True
    raw.facts.name = name_of(path)
