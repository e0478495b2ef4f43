"""Names of the columns of an edge table: recognise them, and find those that ``columns`` names."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from dgraph.errors import DataError, UsageError, unknown

SOURCES = ("source", "src", "from", "u")
TARGETS = ("target", "destination", "dst", "to", "v")
VALUES = ("weight", "wgt", "w", "value", "cost", "distance", "length")
"""Recognised names of columns, in any letter case."""


def edge_columns(names: Sequence[str], what: str) -> list[int]:
    """Return the positions of source, target and perhaps weight: by their names, else the first two or three.

    Raises:
        DataError: there are more than three columns, and their names do not say which are the ends of an edge.
    """
    small = {name.lower(): at for at, name in reversed(list(enumerate(names)))}
    found = [next((small[name] for name in known if name in small), None) for known in (SOURCES, TARGETS, VALUES)]
    if found[0] is not None and found[1] is not None:
        return [at for at in found if at is not None]
    if len(names) not in (2, 3):
        raise DataError(
            f"{what}: columns {', '.join(names)}: which are the ends of an edge? name them source and target, or say "
            "which they are (--columns, columns=; Graph.from_pandas(df, source, target))"
        )
    return list(range(len(names)))


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
    for name in wanted:
        if name not in names:
            raise unknown(f"column of {what}", name, names)
        if list(names).count(name) > 1:
            raise UsageError(f"{what}: {list(names).count(name)} columns are called {name!r}; say numbers, from 1")
    return [list(names).index(name) for name in wanted]
