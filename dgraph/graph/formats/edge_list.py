"""Edge lists: one edge a line, in columns. SNAP, TSV, CSV, GAPBS's .el and .wel, and .cedge road files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.clean import RawEdges
from dgraph.graph.formats.dense import check_size, set_direction
from dgraph.graph.formats.head import Head, read_head, words_of
from dgraph.graph.formats.packed import split_packing
from dgraph.graph.formats.scan import ANY, NUMBER, REST, SOURCE, TARGET, WHOLE
from dgraph.graph.formats.text import Layout, Table, read_table

if TYPE_CHECKING:
    from dgraph.graph.options import LoadOptions


DELIMITERS = ",;"
ADVICE = ", or say that the file is otherwise: --header, --columns, --separator, --ids string"
LIKE_A_HEADER = 10
"""Above so many edges, a first line whose second number is the number of lines after it is no coincidence."""


def read_edge_list(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``SOURCE TARGET`` or ``SOURCE TARGET WEIGHT``, as the first line has it; the vertices are the ids that occur.

    Columns are separated by blanks, a comma or a semicolon, or by what ``separator`` says. A .csv or .tsv file may
    begin with a line of names.
    """
    form = edge_form(options)
    head = read_head(path, form.comments, comm)
    suffix = Path(split_packing(path)[0]).suffix.lower()
    if options.ids == "string":
        return _read_named(path, head, form, suffix, comm, options)
    words = _words(head.line, form.delimiters)
    named = suffix in (".csv", ".tsv") and bool(words) and not any(_begins_number(w) for w in words)
    named = named if options.header is None else options.header
    with comm.together():
        if named and len(words) not in (2, 3) and not form.columns:
            raise DataError(
                f"{path}:{head.number}: got {len(words)} names of columns; an edge list has a source, a target and "
                "perhaps a weight; remove the other columns, or say which they are with --columns (columns=)"
            )
    table = _table(path, form.layout(len(words)), head, comm, options, skip=named)
    raw = RawEdges(table.src, table.dst, table.weights)
    raw.facts.lines_dropped = table.dropped
    set_direction(raw, path, True, f"the default for {suffix}")
    edges = comm.total(table.src.size)
    if edges > LIKE_A_HEADER and words[1:] == [str(edges - 1)]:
        raw.facts.notes.append(f"line {head.number}, {head.line!r}, reads like counts, but was taken as an edge")
    if named:
        raw.facts.notes.append(f"line {head.number} names the columns: {' '.join(words)}")
    return raw


def _read_named(path: str, head: Head, form: EdgeForm, suffix: str, comm: Comm, options: LoadOptions) -> RawEdges:
    from dgraph.graph.formats.named_edges import read_named

    separator = {".csv": ",", ".tsv": "\t"}.get(suffix, "") if options.separator is None else options.separator
    words = head.line.split(separator) if separator.strip(" ") else words_of(head.line)
    places = [int(place) - 1 for place in options.columns.split(",")] if options.columns else list(range(len(words)))
    with comm.together():
        if not options.columns and len(words) not in (2, 3):
            raise DataError(
                f"{path}:{head.number}: got {len(words)} columns; an edge list has a source, a target and perhaps a "
                "weight; say which they are with --columns (columns=)"
            )
    begin = head.below if options.header else head.here
    columns = (places[0], places[1], places[2] if len(places) > 2 else -1)
    return read_named(path, begin, columns, separator.strip(" "), form.comments, comm, options)


def read_cedge(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``EDGE SOURCE TARGET LENGTH``; the vertices are the ids that occur."""
    head = read_head(path, "#%", comm)
    table = _table(path, Layout((WHOLE, SOURCE, TARGET, NUMBER), "EDGE SOURCE TARGET LENGTH"), head, comm, options)
    raw = RawEdges(table.src, table.dst, table.weights)
    raw.facts.lines_dropped = table.dropped
    set_direction(raw, path, True, "the default for .cedge")
    return raw


def read_el(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``SOURCE TARGET``, ids from 0 to the largest."""
    return _read_dense(path, comm, options, Layout((SOURCE, TARGET), "SOURCE TARGET"))


def read_wel(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``SOURCE TARGET WEIGHT``, ids from 0 to the largest."""
    return _read_dense(path, comm, options, Layout((SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT"))


def _read_dense(path: str, comm: Comm, options: LoadOptions, layout: Layout) -> RawEdges:
    table = _table(path, layout, read_head(path, "#%", comm), comm, options)
    largest = comm.largest(max(int(table.src.max(initial=0)), int(table.dst.max(initial=0))))
    edges = comm.total(table.src.size)
    with comm.together():
        check_size(path, largest + 1, edges, options)
    raw = RawEdges(table.src, table.dst, table.weights, n=largest + 1)
    raw.facts.lines_dropped = table.dropped
    set_direction(raw, path, True, f"the default for {Path(split_packing(path)[0]).suffix}")
    return raw


def _table(path: str, layout: Layout, head: Head, comm: Comm, options: LoadOptions, skip: bool = False) -> Table:
    table = read_table(path, layout, head.below if skip else head.here, comm, options.lenient)
    edges = comm.total(table.src.size)
    with comm.together():
        if not edges:
            dropped = f" ({table.dropped} lines were dropped)" if table.dropped else ""
            raise DataError(f"{path}: no edge{dropped}; a line is {layout.example!r}; is the file written to its end?")
    return table


@dataclass(frozen=True)
class EdgeForm:
    """How the lines of an edge list are written, where the user may say it.

    Attributes:
        comments, delimiters: as in :class:`Layout`.
        columns: kinds of the columns up to the last that is read, or () for the first two or three.
    """

    comments: str
    delimiters: str
    columns: tuple[int, ...]

    def layout(self, words: int) -> Layout:
        """The layout of a file whose first line has ``words`` columns."""
        columns = self.columns or ((SOURCE, TARGET, NUMBER) if words > 2 else (SOURCE, TARGET))
        names = {SOURCE: "SOURCE", TARGET: "TARGET", NUMBER: "WEIGHT", ANY: "-", REST: "…"}
        example = " ".join(names[kind] for kind in columns)
        return Layout(columns, example, "", self.comments, self.delimiters, advice=ADVICE)


def edge_form(options: LoadOptions) -> EdgeForm:
    """What ``separator``, ``comment`` and ``columns`` say.

    Raises:
        UsageError: they do not say it in a way that can be followed.
    """
    for name, mark in (("separator", options.separator), ("comment", options.comment)):
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "+-.\r\n"):
            raise UsageError(f"{name} {mark!r}: give one character that no number holds, such as '|' or a tab")
    delimiters = DELIMITERS if options.separator is None else options.separator.strip(" \t")
    comments = "#%" if options.comment is None else options.comment
    return EdgeForm(comments, delimiters, _columns(options.columns))


def _columns(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    places = text.split(",")
    right = all(place.isascii() and place.isdigit() and 1 <= int(place) <= 999 for place in places)
    if not right or len(places) not in (2, 3) or len(set(places)) != len(places):
        raise UsageError(f"columns {text!r}: write SOURCE,TARGET or SOURCE,TARGET,WEIGHT, each a number from 1, once")
    at = {int(place): kind for place, kind in zip(places, (SOURCE, TARGET, NUMBER), strict=False)}
    return (*(at.get(place, ANY) for place in range(1, max(at) + 1)), REST)


def _words(line: str, delimiters: str) -> list[str]:
    for delimiter in delimiters:
        line = line.replace(delimiter, " ")
    return words_of(line)


def _begins_number(word: str) -> bool:
    return word[0].isdigit() or word[0] in "+-."
