"""Names of the columns of an edge table: which are source, target and weight, and which are not used.

The rule of weights, for text with a header, Parquet, Arrow, data frames and ``Graph.from_*``: a column named weight, in
any letter case, or one that the user names. Columns without names (:func:`are_unnamed`) are selected by position.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence

from dgraph.errors import DataError, UsageError, unknown

SOURCES = ("source", "src", "from", "u")
TARGETS = ("target", "destination", "dst", "to", "v")
WEIGHT = "weight"
"""Recognised names of columns, in any letter case."""
SIMILAR = ("w", "wgt", "weights", "edgeweight", "edgeweights", "amount", "cost", "value", "distance", "length")
"""Names, without signs such as ``_``, that weights often have; these columns are read only if the user names them."""
IN_FILES = "--columns {source},{target},{column} (columns=)"
IN_TABLES = "weight={column!r} (Graph.from_pandas(df, {source!r}, {target!r}, {column!r}))"
"""Options that read a column as weight, for :func:`unused_columns`."""
SAY = "say which is (--columns, columns=; Graph.from_pandas(df, source, target, weight)), or rename one"
LISTED = 10
"""Names of unused columns that a note lists at most."""


class ByName:
    """Type of :data:`BY_NAME`."""

    def __repr__(self) -> str:
        return "BY_NAME"


BY_NAME = ByName()
"""In place of a weight column that the user names: the column named weight, if there is one."""


def edge_columns(names: Sequence[str], what: str) -> list[int]:
    """Return the positions of source, target and, if there is a column of that name, weight.

    Source and target are found by their names; else, of two or three columns, they are the first two beside the weight.
    Of three columns without names the third is the weight.

    Args:
        names: of all columns.
        what: for messages, such as the file.

    Raises:
        DataError: there are more than three columns, and their names do not say which are the ends of an edge; or two
            columns are named like one end, or weight.
    """
    small = [name.strip().lower() for name in names]
    sources, targets = ([place for place, name in enumerate(small) if name in role] for role in (SOURCES, TARGETS))
    ends = sources + targets
    for role, places in (("source", sources), ("target", targets)):
        if sources and targets and len(places) > 1:
            listed = " and ".join(repr(names[place]) for place in places)
            raise DataError(f"{what}: columns {listed} are both named like the {role} of an edge; {SAY}")
    if not (sources and targets):
        if len(names) == 3 and are_unnamed(names):
            return [0, 1, 2]
        ends = [place for place, name in enumerate(names) if name.strip().lower() != WEIGHT][:2]
        if len(names) not in (2, 3) or len(ends) < 2:
            raise DataError(
                f"{what}: columns {', '.join(names) or 'none'}: which are the ends of an edge? name them source and "
                "target, or say which they are (--columns, columns=; Graph.from_pandas(df, source, target))"
            )
    weight = weight_column(names, what, ends)
    return ends if weight is None else [*ends, weight]


def weight_column(names: Sequence[str], what: str, ends: Sequence[int] = ()) -> int | None:
    """Return the position of the column named weight, in any letter case, beside the ``ends``, or None.

    Raises:
        DataError: more than one column has that name.
    """
    places = [place for place, name in enumerate(names) if name.strip().lower() == WEIGHT and place not in ends]
    if len(places) > 1:
        raise DataError(
            f"{what}: columns {' and '.join(repr(names[place]) for place in places)} are both named weight; {SAY}"
        )
    return places[0] if places else None


def are_unnamed(names: Sequence[str]) -> bool:
    """Return True for names that a library gives to columns without names: 0, 1, 2 or column_1, column_2, column_3."""
    numbered = [re.fullmatch("(|column_?|col_?|_?c|f|v)([0-9]{1,9})", name.strip().lower()) for name in names]
    numbers = [int(match[2]) for match in numbered if match]
    prefixes = {match[1] for match in numbered if match}
    return len(prefixes) == 1 and numbers in ([*range(len(names))], [*range(1, len(names) + 1)])


def unused_columns(
    names: Sequence[str], places: Sequence[int], option: str = IN_FILES, weight_chosen: bool = False
) -> tuple[list[str], list[str]]:
    """Return notes and warnings about the columns that are not read.

    Args:
        names: of all columns.
        places: positions of source, target and perhaps weight.
        option: the option that reads a column as weight, :data:`IN_FILES` or :data:`IN_TABLES`.
        weight_chosen: the user named the column of weights, or wants none of them; then nothing is warned about.

    Returns:
        A note that names the columns; a warning for a column that is named like a weight.
    """
    unused = [name for place, name in enumerate(names) if place not in places and name.strip()]
    if not unused:
        return [], []
    more = f" and {len(unused) - LISTED} more" if len(unused) > LISTED else ""
    notes = [f"columns not used: {', '.join(unused[:LISTED])}{more}"]
    similar = [name for name in unused if re.sub("[^a-z0-9]", "", name.lower()) in (WEIGHT, *SIMILAR)]
    if weight_chosen or not similar:
        return notes, []
    source, target = (names[place] for place in places[:2])
    reads = option.format(source=source, target=target, column=similar[0])
    if len(similar) == 1:
        return notes, [f"column {similar[0]!r} looks like a weight and is not read; to read it, say {reads}"]
    listed = ", ".join(map(repr, similar[:LISTED]))
    return notes, [f"columns {listed} look like weights and are not read; to read the first of them, say {reads}"]


def are_names(columns: str) -> bool:
    """Return True if ``columns`` holds names rather than numbers."""
    return not all(place.strip().isdigit() for place in columns.split(","))


def named_columns(columns: str, names: Sequence[str], what: str) -> list[int]:
    """Return the positions, from 0, of the columns that the text ``columns`` names.

    A name that holds a comma is quoted, as in CSV.

    Raises:
        UsageError: not two or three names, or one that no column or more than one column has.
    """
    wanted = next(csv.reader([columns], skipinitialspace=True), [])
    if len(wanted) not in (2, 3) or len(set(wanted)) != len(wanted):
        raise UsageError(
            f"columns {columns!r}: write SOURCE,TARGET or SOURCE,TARGET,WEIGHT, by name or number, each once"
        )
    return _places(wanted, names, what, f"column of {what}", "say numbers, from 1")


def named_kept(keep: Iterable[str], names: Sequence[str], what: str) -> list[int]:
    """Return the positions of the columns to keep.

    Raises:
        UsageError: one that no column or more than one column has.
    """
    return _places(keep, names, what, f"column of {what} to keep", "rename one to keep it")


def _places(wanted: Iterable[str], names: Sequence[str], what: str, kind: str, advice: str) -> list[int]:
    for name in wanted:
        if name not in names:
            raise unknown(kind, name, names)
        if list(names).count(name) > 1:
            raise UsageError(f"{what}: {list(names).count(name)} columns are called {name!r}; {advice}")
    return [list(names).index(name) for name in wanted]
