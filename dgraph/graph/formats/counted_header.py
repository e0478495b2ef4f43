"""What the formats whose ids run from a base to n have in common: the header's counts, checked before they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.errors import DataError
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.formats.sniff import name_of

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


def header_number(word: str, what: str, path: str, line: int) -> int:
    """A count in a header line."""
    if not (word.isascii() and word.isdigit()) or int(word) >= 1 << 63:
        raise DataError(f"{path}:{line}: got {word[:60]!r} for the number of {what}; it is a whole number; correct it")
    return int(word)


def check_count(path: str, found: int, said: int, where: str, what: str) -> None:
    """Refuse a file that holds other than the number of lines that its header says; ``found``: those dropped too."""
    if found != said:
        cause = "was the file cut short" if found < said else "was something appended"
        raise DataError(
            f"{path}: {found} {what}, but {where} says {said}; {cause}? fetch it again or correct the header"
        )


def check_size(path: str, n: int, edges: int, options: LoadOptions) -> None:
    """Refuse vertices out of proportion to the edges, which would cost memory for nothing, unless ids are sparse."""
    if n == 0:
        raise DataError(f"{path}: no vertex; a graph has at least one; is this the right file?")
    if n > 1000 * edges + 10**6 and not options.sparse_ids:
        raise DataError(
            f"{path}: ids go up to {n} vertices, but there are only {edges} edges; with --sparse-ids (sparse_ids=True) "
            "the ids that occur are the vertices"
        )


def set_direction(raw: RawEdges, path: str, directed: bool, why: str) -> None:
    """Set the name, and the direction that the input says with the reason; a reader's arrays are nobody else's."""
    raw.directed, raw.why, raw.disposable = directed, why, True
    raw.facts.name = name_of(path)
