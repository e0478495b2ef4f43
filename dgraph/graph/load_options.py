"""``LoadOptions``: the options of a load, for all formats and generators."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dgraph._support.arguments import choice, flag, integer, is_integer, text
from dgraph.errors import UsageError, shown, unknown
from dgraph.graph.file_formats import FILE_FORMATS
from dgraph.graph.kept_rules import keep_text, kept_rules

IDS = ("auto", "integer", "string")
ORDERS = ("original", "degree")
MERGES = ("min", "max", "sum", "first", "count")
FLAGS = ("keep_loops", "keep_parallel", "sparse_ids", "lenient", "verify")
TEXTS = ("weights", "separator", "comment", "columns", "keep")
EDGE_DATA = ("int32", "int64", "float32", "float64")
DECIMALS = (".", ",")


@dataclass(frozen=True)
class LoadOptions:
    """Options that decide how an input becomes a graph.

    Attributes:
        directed: True or False overrides the input; None: as the input says, directed if it says nothing.
        weights: replaces the input's weights: "unit" (every edge weighs 1), "LO..HI", "hash" or "dimacs" (see
            ``build/weights.py``).
        keep_loops: keep self-loops.
        keep_parallel: keep parallel edges.
        merge: weight of an edge that stands for parallel ones: the "min", "max", "sum" or "first" of theirs, or their
            "count". In an undirected graph u → v and v → u are parallel, unless the input lists both arcs of every
            edge (``build/parallel_edges.py``): then each edge counts once.
        keep: columns that are kept with the edges: ``"NAME[:RULE],…"``, a list of such, or a dict name → rule. The
            value of merged parallel edges is the "first" (default), "min", "max" or "sum" of theirs.
        sparse_ids: the vertices are the ids that occur, also in a format that counts ids from 0 or 1 to n.
        seed: seed of generated weights.
        ids: "integer", or "string": the ends of an edge list or table are words (``names.py``). Tables whose columns
            hold text need no option. "auto": integers, or words where a header or ``columns`` names the ends of an edge
            list and no end in its first lines begins like a number.
        order: internal numbering of vertices: "original", by id, or "degree", the largest degree first. Results keep
            original ids.
        lenient: skip and count lines of text that violate their format; a file with mostly such lines is refused.
        separator: the character between columns of an edge list (``"tab"``, or a blank for runs of blanks and tabs);
            None: the one of tab, comma, semicolon, pipe and blanks that fits the first lines.
        comment: the character that begins a comment line of an edge list, "" for none; None: ``#`` and ``%`` before
            the first line of data, and anywhere in a file of integers.
        decimal: the decimal mark of weights in an edge list, "." or ",".
        header: True if the first line of an edge list is a header (names of columns, or counts) rather than an edge;
            None: detected (``docs/guide/data.md`` has the rules).
        columns: columns SOURCE,TARGET[,WEIGHT] of an edge list: names in its header, such as ``"who,whom"``, or
            numbers from 1, such as ``"2,3"``, or a list of either; None: lines have two or three columns, in this
            order.
        format: format of a file whose suffix does not say it, such as "txt" for KONECT's ``out.NAME`` and for pipes:
            one of ``file_formats.FILE_FORMATS``.
        edge_data: type of the edge data of a Galois graph: int32, int64, float32 or float64; of GAPBS's .wsg int32
            or float32.
        verify: check a store against its checksums.

    Raises:
        UsageError: a value of another type; an unknown ``ids``, ``order``, ``merge``, ``format``, ``decimal`` or
            ``edge_data``; or ``merge`` beside an option that leaves it nothing to do.
    """

    directed: bool | None = None
    weights: str | None = None
    keep_loops: bool = False
    keep_parallel: bool = False
    merge: str = "min"
    keep: str | None = None
    sparse_ids: bool = False
    seed: int = 1
    ids: str = "auto"
    order: str = "original"
    lenient: bool = False
    separator: str | None = None
    comment: str | None = None
    decimal: str = "."
    header: bool | None = None
    columns: str | None = None
    format: str | None = None
    edge_data: str | None = None
    verify: bool = True

    def __post_init__(self) -> None:
        for name in FLAGS:
            flag(name, getattr(self, name))
        for name in ("directed", "header"):
            if getattr(self, name) is not None:
                flag(name, getattr(self, name), more=", or None")
        for name in TEXTS:
            if getattr(self, name) is not None:
                text(name, getattr(self, name), more=", or None")
        kept_rules(self.keep)
        integer("seed", self.seed)
        choice("ids", self.ids, IDS, "kind of ids")
        choice("order", self.order, ORDERS)
        choice("merge", self.merge, MERGES, "rule to merge parallel edges")
        if self.merge != "min" and (self.keep_parallel or self.weights is not None):
            other = "keep_parallel keeps parallel edges" if self.keep_parallel else "weights replaces the weights"
            raise UsageError(f"merge={self.merge!r} merges parallel edges, and {other}; give one of the two")
        choice("decimal", self.decimal, DECIMALS, "decimal mark")
        if self.edge_data is not None:
            choice("edge_data", self.edge_data, EDGE_DATA, "type of edge data")
        if self.format is not None:
            choice("format", self.format, FILE_FORMATS, "format of files")


NAMES = tuple(field.name for field in fields(LoadOptions))


def options_of(keywords: Mapping[str, Any], allowed: Sequence[str] = NAMES, more: Sequence[str] = ()) -> LoadOptions:
    """Return the options of keyword arguments.

    Args:
        keywords: name → value.
        allowed: names that the caller takes.
        more: names that its signature has, for the message.

    Raises:
        UsageError: another name.
    """
    for name in keywords:
        if name not in allowed:
            raise unknown("option", name, [*allowed, *more])
    as_text = {"columns": columns_text, "keep": keep_text}
    return LoadOptions(**{name: as_text.get(name, _as_it_is)(value) for name, value in keywords.items()})


def _as_it_is(value: Any) -> Any:
    return value


def columns_text(columns: Any) -> str | None:
    """Return the option ``columns`` as text: of text, of a list of names or of numbers, or None.

    Raises:
        UsageError: another value.
    """
    if columns is None or isinstance(columns, str):
        return columns
    if isinstance(columns, (list, tuple)):
        if all(isinstance(column, str) for column in columns):
            line = io.StringIO()
            csv.writer(line, lineterminator="").writerow(columns)
            return line.getvalue()
        if all(map(is_integer, columns)):
            return ",".join(map(str, map(int, columns)))
    raise UsageError(
        f"columns = {shown(columns)} is not valid: give SOURCE,TARGET or SOURCE,TARGET,WEIGHT as text, or a list of "
        "names or of numbers from 1"
    )


def load_options(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of ``keywords`` that are fields of :class:`LoadOptions`."""
    return {name: keywords[name] for name in NAMES if name in keywords}
