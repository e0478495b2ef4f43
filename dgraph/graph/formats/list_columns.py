"""Columns of an edge list: which are the ends of an edge and its weight, from the options, the header or their number.

:func:`list_columns` is the entry. Without a header the third column is the weight. A header names it: ``weight``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dgraph.errors import DataError, UsageError
from dgraph.graph.block import LoadFacts
from dgraph.graph.formats.column_names import SAY, are_names, edge_columns, named_columns, unused_columns, weight_column
from dgraph.graph.formats.first_line import begins_number, check_names, header_note, is_number, most_columns, names_ends
from dgraph.graph.formats.quoted import split_fields
from dgraph.graph.formats.scan import ANY, NUMBER, REST, SOURCE, TARGET
from dgraph.graph.formats.separator import columns_of, names_of
from dgraph.graph.formats.sniff import FileHead, shortened
from dgraph.graph.kept_rules import kept_rules

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


@dataclass(frozen=True)
class ListColumns:
    """Columns of an edge list's lines.

    Attributes:
        places: positions, from 0, of source, target and, if there is one, weight.
        count: columns of every line; 0: as many as ``places`` need, or more.
        usual: columns of most lines.
        names: the header's names of columns; () if the first line is not a header of names.
    """

    places: tuple[int, ...]
    count: int
    usual: int
    names: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[int, ...]:
        """Kinds of :mod:`scan`, in order."""
        kinds = dict(zip(self.places, (SOURCE, TARGET, NUMBER), strict=False))
        last = self.count or max(self.places) + 1
        return (*(kinds.get(place, ANY) for place in range(last)), *(() if self.count else (REST,)))

    def report(self, head: FileHead, separator: str, facts: LoadFacts, options: LoadOptions) -> None:
        """Note the header, and the columns that it names and that are not read."""
        if self.names:
            lines = [dict(zip(self.names, split_fields(line, separator), strict=False)) for line in head.following]
            types = {line.get(name, "").lower() for line in lines for name in self.names if name.lower() == "type"}
            if "undirected" in types and options.directed is None:
                facts.warnings.append("column type says undirected: if edges are, say --undirected (directed=False)")
            facts.notes.append(header_note(head, self.names))
            chosen = len(self.places) > 2 or options.weights is not None
            kept = [place for place, name in enumerate(self.names) if name in kept_rules(options.keep)]
            notes, warnings = unused_columns(self.names, [*self.places, *kept], weight_chosen=chosen)
            facts.notes += notes
            facts.warnings += warnings


def list_columns(path: str, head: FileHead, separator: str, options: LoadOptions) -> ListColumns:
    """Return the columns of an edge list.

    Raises:
        UsageError: ``columns`` is invalid, or names a column that the header lacks.
        DataError: neither ``columns`` nor the header says which columns are the ends of an edge; or lines and header
            differ in their number of columns.
    """
    chosen = _chosen(path, head, separator, options)
    names = _names(head, separator, chosen, options)
    split = split_fields if names else columns_of
    usual = most_columns(head, lambda line: split(line, separator), bool(names) or options.header)
    if not names:
        if chosen:
            return ListColumns(chosen, 0, usual)
        if options.ids == "string" and usual not in (2, 3):
            where = f"{path}: most lines have" if head.following else f"{path}:{head.number}: got"
            raise DataError(
                f"{where} {usual} column{'s' * (usual != 1)}; an edge list has a source, a target and perhaps a "
                "weight; say which they are with --columns (columns=), or what separates them with --separator "
                "(separator=)"
            )
        return ListColumns((0, 1, 2) if usual > 2 else (0, 1), 3 if usual > 2 else 2, usual)
    if not (options.columns is not None and are_names(options.columns)):
        check_names(path, head, names, chosen or (0, 1))
    if usual > max(len(names), 2) and not (chosen and options.header):
        raise DataError(
            f"{path}:{head.number}: got {shortened(head.line)!r}, a header of {len(names)} columns, and most lines "
            f"have {usual}; correct the header, or say which columns to read: --header --columns SOURCE,TARGET[,W], "
            "numbers from 1 (header=True, columns=)"
        )
    places = chosen or ((0, 1) if usual < 3 else _named_places(names, f"{path}:{head.number}"))
    if chosen and (len(chosen) == 2 or usual > len(names)):
        return ListColumns(places, 0, usual, names)
    return ListColumns(places, max(len(names), max(places) + 1) if max(places) >= usual else usual, usual, names)


def ends_are_words(head: FileHead, columns: ListColumns, separator: str, options: LoadOptions) -> bool:
    """Return True if the header or ``columns`` names the ends of edges, and they are words in all of the first lines.

    Without such names any table of words would be read as edges, so it takes ``ids="string"``.
    """
    ends = columns.places[:2]
    chosen = options.columns is not None and are_names(options.columns)
    if not (columns.names and (chosen or names_ends(columns.names, ends))):
        return False
    lines = (split_fields(line, separator) for line in head.following)
    words = [fields[place].strip() for fields in lines for place in ends if place < len(fields)]
    return any(words) and not any(map(begins_number, words))


def _chosen(path: str, head: FileHead, separator: str, options: LoadOptions) -> tuple[int, ...]:
    """Return the positions that ``columns`` selects; () if it is not set."""
    if options.columns is None:
        return ()
    if are_names(options.columns):
        if options.header is False:
            raise UsageError(
                f"columns {options.columns!r} are names, and header=False says there are none; give numbers"
            )
        names = names_of(head.line, separator)
        return tuple(named_columns(options.columns, names, f"line {head.number} of {path}"))
    places = options.columns.split(",")
    right = all(place.isascii() and place.isdigit() and 1 <= int(place) <= 999 for place in places)
    if not right or len(places) not in (2, 3) or len(set(places)) != len(places):
        raise UsageError(
            f"columns {options.columns!r}: write SOURCE,TARGET or SOURCE,TARGET,WEIGHT, each a number from 1, once"
        )
    return tuple(int(place) - 1 for place in places)


def _named_places(names: Sequence[str], what: str) -> tuple[int, ...]:
    """Return the positions of source, target and, if the header names one, weight."""
    if not names_ends(names, (0, 1)):
        return tuple(edge_columns(names, what))
    small = [name.strip().lower() for name in names]
    for name in names[:2]:
        if small.count(name.strip().lower()) > 1:
            raise DataError(f"{what}: {small.count(name.strip().lower())} columns are called {name!r}; {SAY}")
    weight = weight_column(names, what, (0, 1))
    return (0, 1) if weight is None else (0, 1, weight)


def _names(head: FileHead, separator: str, chosen: Sequence[int], options: LoadOptions) -> tuple[str, ...]:
    """Return the names of the columns if the first line is a header; else ().

    In a file of integers every first line of words is one. In a file of names the ends have matching names, or a word
    stands where the other lines have numbers.
    """
    words = split_fields(head.line, separator)
    names = tuple(names_of(head.line, separator))
    if options.header is False:
        return ()
    if options.header or (options.columns is not None and are_names(options.columns)):
        return () if all(is_number(word) for word in words) else names
    if options.ids != "string":
        return names if words and not any(begins_number(word) for word in names) else ()
    place = chosen[2] if len(chosen) > 2 else 2
    below = [fields[place] for line in head.following if len(fields := split_fields(line, separator)) > place]
    titled = (
        (len(chosen) > 2 or not chosen)
        and len(words) > place
        and not (begins_number(words[place]) or is_number(words[place]) or not words[place])
        and 2 * sum(begins_number(word) or is_number(word) for word in below) > len(below)
    )
    return names if titled or names_ends(words, chosen or (0, 1)) else ()
