"""How an input becomes a graph: what a user may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dgraph.errors import unknown

IDS = ("integer", "string")
ORDERS = ("original", "degree")
EDGE_DATA = ("int32", "int64", "float32", "float64")


@dataclass(frozen=True)
class LoadOptions:
    """How an input becomes a graph.

    Attributes:
        directed: True or False whatever the input says; None: as it says, directed where it says nothing.
        weights: replaces the input's: "unit" (every edge weighs 1), "LO..HI", "hash" or "dimacs" (see
            ``build/weights.py``).
        keep_loops, keep_parallel: keep self-loops, keep parallel edges.
        sparse_ids: the vertices are the ids that occur, also in a format that counts ids from 0 or 1 to n.
        seed: of the weights that are made.
        ids: "integer", or "string": the ends of an edge list are words (``names.py``).
        order: how vertices are numbered inside: "original", by id, or "degree", the largest degree first. Outside, ids
            stay the original ones.
        lenient: pass over lines of text that are not as their format says, and count them; a file of which these are
            most is refused.
        separator: the character between columns of an edge list beside blanks; None: comma and semicolon.
        comment: the character that begins a comment line of an edge list; None: ``#`` and ``%``.
        header: whether the first line of an edge list is a header, names of columns or counts, and no edge; None: as
            the line reads (``docs/formats.md`` has the rules).
        columns: where an edge list has SOURCE, TARGET and perhaps WEIGHT, counted from 1, such as ``"2,3"``; None:
            the first two or three columns, as most lines have them, and there are no others.
        edge_data: how the edge data of a Galois graph are to be read: int32, int64, float32 or float64.
        verify: check what a store holds against its checksums.

    Raises:
        UsageError: an ``ids``, ``order`` or ``edge_data`` that is none.
    """

    directed: bool | None = None
    weights: str | None = None
    keep_loops: bool = False
    keep_parallel: bool = False
    sparse_ids: bool = False
    seed: int = 1
    ids: str = "integer"
    order: str = "original"
    lenient: bool = False
    separator: str | None = None
    comment: str | None = None
    header: bool | None = None
    columns: str | None = None
    edge_data: str | None = None
    verify: bool = True

    def __post_init__(self) -> None:
        if self.ids not in IDS:
            raise unknown("kind of ids", self.ids, IDS)
        if self.order not in ORDERS:
            raise unknown("order", self.order, ORDERS)
        if self.edge_data not in (None, *EDGE_DATA):
            raise unknown("type of edge data", self.edge_data, EDGE_DATA)


NAMES = tuple(field.name for field in fields(LoadOptions))


def load_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of ``given`` that are fields of :class:`LoadOptions`, to pass on by name."""
    return {name: given[name] for name in NAMES if name in given}
