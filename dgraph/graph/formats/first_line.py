"""The first line of an edge list: an edge, names of columns, or counts of vertices and edges.

Readers of edge lists ask :func:`most_columns` how many columns the lines have, and the other functions what the first
line is. ``--header`` and ``--no-header`` answer instead of them. ``docs/formats.md`` has the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dgraph.errors import DataError
from dgraph.graph.formats.sniff import FileHead, words_of

OTHERWISE = "say --header (header=True) to pass over the line, or --no-header (header=False) to read it as an edge"
LARGEST = 1 << 63

_SOURCE = re.compile("(node|vertex)?(source|src|from|start|tail|u)(node|vertex)?(id|name)?")
_TARGET = re.compile("(node|vertex)?(target|tgt|destination|dest|dst|to|end|head|v)(node|vertex)?(id|name)?")
_NUMBERED = re.compile("(node|vertex|id|name)([1a0i])"), re.compile("(node|vertex|id|name)([2b1j])")
_FOLLOWS = {"1": "2", "a": "b", "0": "1", "i": "j"}


def most_columns(head: FileHead, split: Callable[[str], Sequence[str]], header: bool | None) -> int:
    """How many columns most of the first lines have, of equally many the earlier.

    A header has no say: the first line where ``header`` says so, or where it counts the lines after it.
    """
    lines = [head.line, *head.following]
    counts = counts_of(split(head.line)) if header is None else None
    if head.following and (header or (counts is not None and len(head.following) in counts.edges)):
        lines = lines[1:]
    return Counter(len(split(line)) for line in lines).most_common(1)[0][0]


def names_in(line: str, delimiters: str) -> list[str]:
    """The names of columns in a line: between delimiters or tabs, where there are any, and else between blanks."""
    if not any(mark in line for mark in (*delimiters, "\t")):
        return words_of(line)
    return [name.strip(" ") for name in re.split(f"[{re.escape(delimiters)}\t]", line)]


def names_ends(words: Sequence[str], places: Sequence[int]) -> bool:
    """True if the words in the columns of source and target are names of such columns: source and target, u and v …"""
    if max(places[:2]) >= len(words):
        return False
    source, target = (_plain(words[place]) for place in places[:2])
    if _SOURCE.fullmatch(source) and _TARGET.fullmatch(target):
        return True
    first, second = _NUMBERED[0].fullmatch(source), _NUMBERED[1].fullmatch(target)
    return bool(first and second and first[1] == second[1] and _FOLLOWS[first[2]] == second[2])


def check_names(path: str, head: FileHead, words: Sequence[str], places: Sequence[int]) -> None:
    """Refuse names of columns that put the ends of an edge into other columns than those that are read.

    Raises:
        DataError: the names of source and target are there, each once, and not in the columns ``places``.
    """
    sources, targets = (
        [at for at, word in enumerate(words) if kind.fullmatch(_plain(word))] for kind in (_SOURCE, _TARGET)
    )
    if len(sources) == len(targets) == 1 and [*sources, *targets] != list(places[:2]):
        raise DataError(
            f"{path}:{head.number}: got {head.line[:60]!r}, which names the source in column {sources[0] + 1} and the "
            f"target in column {targets[0] + 1}, but columns {places[0] + 1} and {places[1] + 1} were to be read; "
            f"say --columns {sources[0] + 1},{targets[0] + 1}[,WEIGHT] (columns=)"
        )


class Counts(NamedTuple):
    """A first line of two or three whole numbers: what it would say as counts of vertices and of edges."""

    vertices: int
    edges: tuple[int, ...]

    def hold(self, lines: int, low: int, high: int) -> bool:
        """True if ``lines`` lines follow, and ids ``low .. high`` are below the number of vertices, or 1 up to it."""
        return lines in self.edges and (high < self.vertices or (low >= 1 and high == self.vertices))


def counts_of(words: Sequence[str]) -> Counts | None:
    """``n m``, ``n n m`` or ``n m k``; None where the words are no such line."""
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() for word in words):
        return None
    numbers = [int(word) for word in words]
    return Counts(numbers[0], tuple(numbers[1:])) if max(numbers) < LARGEST else None


def begins_number(word: str) -> bool:
    """True if the word begins like a number, as no name of a column does."""
    return word[0] in "0123456789+-."


def is_number(word: str) -> bool:
    """True if the word is a weight as readers of edge lists take it."""
    return (
        re.fullmatch(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf|infinity)", word, re.IGNORECASE)
        is not None
    )


def header_note(head: FileHead, words: Sequence[str]) -> str:
    """The note on a first line that names the columns."""
    return f"line {head.number} is a header, no edge: {' '.join(words)}"


def counts_warning(head: FileHead) -> str:
    """The warning about a first line that was taken as counts."""
    return (
        f"line {head.number}, {head.line[:60]!r}, was taken as counts of vertices and edges, not as an edge, since "
        "they agree with the lines after it (--no-header, header=False: it is an edge)"
    )


def _plain(word: str) -> str:
    return re.sub("[^a-z0-9]", "", word.lower())
