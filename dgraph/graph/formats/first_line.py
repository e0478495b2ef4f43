"""Classify the first line of an edge list: an edge, names of columns, or counts of vertices and edges.

:func:`most_columns` finds the number of columns, the other functions classify the first line. ``--header`` and
``--no-header`` override them. ``docs/guide/data.md`` has the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dgraph.errors import DataError
from dgraph.graph.formats.sniff import FileHead

OTHERWISE = "say --header (header=True) to pass over the line, or --no-header (header=False) to read it as an edge"
LARGEST = 1 << 63

_SOURCE = re.compile("(node|vertex)?(source|src|from|start|tail|u)(node|vertex)?(id|name)?")
_TARGET = re.compile("(node|vertex)?(target|tgt|destination|dest|dst|to|end|head|v)(node|vertex)?(id|name)?")
_NUMBERED = re.compile("(node|vertex|id|name)([1a0i])"), re.compile("(node|vertex|id|name)([2b1j])")
_FOLLOWS = {"1": "2", "a": "b", "0": "1", "i": "j"}


def most_columns(head: FileHead, split: Callable[[str], Sequence[str]], header: bool | None) -> int:
    """Return the most frequent number of columns of the first lines; of equally frequent ones the first.

    A header does not count: the first line if ``header`` is True, or if it holds the number of lines after it.
    """
    lines = [head.line, *head.following]
    counts = counts_of(split(head.line)) if header is None else None
    if head.following and (header or (counts is not None and len(head.following) in counts.edges)):
        lines = lines[1:]
    return Counter(len(split(line)) for line in lines).most_common(1)[0][0]


def names_ends(words: Sequence[str], places: Sequence[int]) -> bool:
    """Return True if the source and target columns have matching names: source and target, u and v, or similar."""
    if max(places[:2]) >= len(words):
        return False
    source, target = (_plain(words[place]) for place in places[:2])
    if _SOURCE.fullmatch(source) and _TARGET.fullmatch(target):
        return True
    first, second = _NUMBERED[0].fullmatch(source), _NUMBERED[1].fullmatch(target)
    return bool(first and second and first[1] == second[1] and _FOLLOWS[first[2]] == second[2])


def check_names(path: str, head: FileHead, words: Sequence[str], places: Sequence[int]) -> None:
    """Refuse names of columns that place the ends of an edge in other columns than those that are read.

    Raises:
        DataError: the names of source and target occur once each, and not in the columns ``places``.
    """
    sources, targets = (
        [index for index, word in enumerate(words) if kind.fullmatch(_plain(word))] for kind in (_SOURCE, _TARGET)
    )
    if len(sources) == len(targets) == 1 and [*sources, *targets] != list(places[:2]):
        raise DataError(
            f"{path}:{head.number}: got {head.line[:60]!r}, which names the source in column {sources[0] + 1} and the "
            f"target in column {targets[0] + 1}, but columns {places[0] + 1} and {places[1] + 1} were to be read; "
            f"say --columns {sources[0] + 1},{targets[0] + 1}[,WEIGHT] (columns=)"
        )


class Counts(NamedTuple):
    """First line of two or three whole numbers, interpreted as counts of vertices and of edges."""

    vertices: int
    edges: tuple[int, ...]

    def hold(self, lines: int, low: int, high: int) -> bool:
        """Return True if ``lines`` is the count of edges, and ids ``low .. high`` fit the count of vertices.

        Ids fit if they are below the count, or lie in 1 .. count.
        """
        return lines in self.edges and (high < self.vertices or (low >= 1 and high == self.vertices))


def counts_of(words: Sequence[str]) -> Counts | None:
    """Interpret words as ``n m``, ``n n m`` or ``n m k``; return None if they are none of these."""
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() for word in words):
        return None
    numbers = [int(word) for word in words]
    return Counts(numbers[0], tuple(numbers[1:])) if max(numbers) < LARGEST else None


def begins_number(word: str) -> bool:
    """Return True if the word begins like a number, so that it cannot be the name of a column."""
    return bool(word) and word[0] in "0123456789+-."


def is_number(word: str) -> bool:
    """Return True if the word is valid as a weight of an edge list."""
    return (
        re.fullmatch(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf|infinity)", word, re.IGNORECASE)
        is not None
    )


def header_note(head: FileHead, words: Sequence[str]) -> str:
    """Return the note on a first line that names the columns."""
    return f"line {head.number} is a header, not an edge: {' '.join(words)}"


def counts_warning(head: FileHead) -> str:
    """Return the warning about a first line that was read as counts."""
    return (
        f"line {head.number}, {head.line[:60]!r}, was taken as counts of vertices and edges, not as an edge, since "
        "they match the lines after it (--no-header, header=False: it is an edge)"
    )


def _plain(word: str) -> str:
    return re.sub("[^a-z0-9]", "", word.lower())
