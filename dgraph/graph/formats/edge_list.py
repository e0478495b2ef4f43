"""Edge lists: one edge a line, in columns. SNAP, TSV, CSV, GAPBS's .el and .wel, and .cedge road files.

``first_line.py`` decides whether the first line is a header, ``named_edges.py`` reads ends that are words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.errors import DataError, UsageError
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.formats.column_names import are_names, named_columns
from dgraph.graph.formats.counted_header import check_size, set_direction
from dgraph.graph.formats.first_line import (
    LARGEST,
    Counts,
    begins_number,
    check_names,
    counts_of,
    counts_warning,
    header_note,
    most_columns,
    names_in,
)
from dgraph.graph.formats.named_edges import read_named, split_columns
from dgraph.graph.formats.packed import split_packing
from dgraph.graph.formats.quoted import split_quoted
from dgraph.graph.formats.scan import ANY, NUMBER, REST, SOURCE, TARGET, WHOLE
from dgraph.graph.formats.sniff import FileHead, read_head, words_of
from dgraph.graph.formats.text import Layout, Table, columns_read, fault_of, read_table, refuse_most

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


DELIMITERS = ",;"
ADVICE = ", or say that the file is otherwise: --columns, --separator, --ids string"
FIRST = "; if it names columns or counts, say --header (header=True)"


def read_edge_list(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``SOURCE TARGET`` or ``SOURCE TARGET WEIGHT`` lines; the vertices are the ids that occur.

    Columns are separated by blanks, a comma or a semicolon, or by ``separator``. The number of columns is that of most
    lines. The first line may be a header: names of the columns, or counts (``first_line.py``).
    """
    form = edge_form(options)
    head = read_head(path, form.comments, comm, sample=True)
    if options.columns is not None and are_names(options.columns):
        with comm.together():
            form = replace(form, columns=_kinds(_named_places(path, head, form, options)))
        options = replace(options, header=True)
    if options.ids == "string":
        return _read_named(path, head, form, comm, options)
    layout = form.layout(most_columns(head, form.words, options.header))
    raw = _read_lines(path, head, layout, comm, options)
    set_direction(raw, path, True, f"the default for {_suffix(path)}")
    return raw


def _read_named(path: str, head: FileHead, form: EdgeForm, comm: Comm, options: LoadOptions) -> RawEdges:
    separator = _separator(path, options)
    if form.columns:
        places = [form.columns.index(kind) for kind in (SOURCE, TARGET, NUMBER) if kind in form.columns]
    else:
        columns = most_columns(head, lambda line: split_columns(line, separator), options.header)
        places = list(range(columns))
        with comm.together():
            if columns not in (2, 3):
                where = f"{path}: most lines have" if head.following else f"{path}:{head.number}: got"
                raise DataError(
                    f"{where} {columns} columns; an edge list has a source, a target and perhaps a weight; say which "
                    "they are with --columns (columns=)"
                )
    return read_named(path, head, places, separator, form.comments, comm, options)


def read_cedge(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``EDGE SOURCE TARGET LENGTH`` lines; the vertices are the ids that occur."""
    layout = _fixed((WHOLE, SOURCE, TARGET, NUMBER), "EDGE SOURCE TARGET LENGTH", options)
    raw = _read_lines(path, read_head(path, "#%", comm), layout, comm, options)
    set_direction(raw, path, True, "the default for .cedge")
    return raw


def read_el(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``SOURCE TARGET`` lines, ids from 0 to the largest."""
    return _read_dense(path, comm, options, _fixed((SOURCE, TARGET), "SOURCE TARGET", options))


def read_wel(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``SOURCE TARGET WEIGHT`` lines, ids from 0 to the largest."""
    return _read_dense(path, comm, options, _fixed((SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT", options))


def _read_dense(path: str, comm: Comm, options: LoadOptions, layout: Layout) -> RawEdges:
    raw = _read_lines(path, read_head(path, "#%", comm), layout, comm, options)
    largest = comm.largest(max(int(raw.src.max(initial=0)), int(raw.dst.max(initial=0))))
    edges = comm.total(raw.src.size)
    with comm.together():
        check_size(path, largest + 1, edges, options)
    raw.n = largest + 1
    set_direction(raw, path, True, f"the default for {_suffix(path)}")
    return raw


def _fixed(columns: tuple[int, ...], example: str, options: LoadOptions) -> Layout:
    return Layout(columns_read(columns, options.weights is None), example, first=FIRST)


def _read_lines(path: str, head: FileHead, layout: Layout, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read the edges of the file's lines, of which the first may be a header; collective.

    Counts can be checked only after the lines below have been read. An ambiguous first line is therefore read as an
    edge, and is dropped if it turns out to hold counts.
    """
    words, names = words_in(head.line, layout.delimiters), names_in(head.line, layout.delimiters)
    named = options.header is None and bool(words) and not any(begins_number(word) for word in words)
    counts = counts_of(words) if options.header is None else None
    skip = named or bool(options.header) or (counts is not None and bool(fault_of(head.raw, layout)))
    with comm.together():
        if skip and counts is None and not (options.columns is not None and are_names(options.columns)):
            check_names(path, head, names, [layout.columns.index(kind) for kind in (SOURCE, TARGET)])
    table = read_table(path, layout, head.below if skip else head.here, comm, options.lenient)
    raw = RawEdges(table.src, table.dst, table.weights)
    raw.facts.notes += table.notes
    if skip and counts is None:
        raw.facts.notes.append(header_note(head, names))
    elif counts is not None and _are_counts(counts, table, skip, comm):
        raw.facts.warnings.append(counts_warning(head))
        if not skip:
            table.drop_first(comm)
    elif skip:
        if not options.lenient:
            raise DataError(f"{path}:{head.number}: {fault_of(head.raw, layout)}")
        table.dropped += 1
    raw.facts.lines_dropped, edges = table.dropped, comm.total(table.src.size)
    refuse_most(path, edges, table.dropped, layout.example)
    if not edges:
        passed = f" (line {head.number} was taken as a header: --no-header)" if skip and not options.header else ""
        raise DataError(f"{path}: no edge; a line is {layout.example!r}; is the file written to its end?{passed}")
    return raw


def _are_counts(counts: Counts, table: Table, skipped: bool, comm: Comm) -> bool:
    """Return True if the first line holds the counts of the other lines; collective.

    ``skipped``: it was not read as an edge.
    """
    lines = comm.total(table.src.size) + table.dropped - (not skipped)
    if lines not in counts.edges or not lines:
        return False
    first = not skipped and comm.before(table.src.size) == 0
    ends = [column[int(first) :] for column in (table.src, table.dst)]
    here = [end for end in ends if end.size]
    high = comm.largest(max((int(end.max()) for end in here), default=-1))
    low = -comm.largest(max((-int(end.min()) for end in here), default=-LARGEST))
    return counts.hold(lines, low, high)


def _suffix(path: str) -> str:
    return Path(split_packing(path)[0]).suffix.lower()


@dataclass(frozen=True)
class EdgeForm:
    """Syntax of an edge list's lines, from the load options.

    Attributes:
        comments, delimiters: as in :class:`Layout`.
        columns: kinds of the columns up to the last that is read, or () for the first two or three.
        weighs: True if weights are read.
    """

    comments: str
    delimiters: str
    columns: tuple[int, ...]
    weighs: bool

    def words(self, line: str) -> list[str]:
        """Split a line into its columns."""
        return words_in(line, self.delimiters)

    def layout(self, words: int) -> Layout:
        """Return the layout of a file whose lines have ``words`` columns."""
        columns = self.columns or ((SOURCE, TARGET, NUMBER) if words > 2 else (SOURCE, TARGET))
        names = {SOURCE: "SOURCE", TARGET: "TARGET", NUMBER: "WEIGHT", ANY: "-", REST: "…"}
        example = " ".join(names[kind] for kind in columns)
        columns = columns_read(columns, self.weighs)
        return Layout(columns, example, "", self.comments, self.delimiters, advice=ADVICE, first=FIRST, quoted=True)


def edge_form(options: LoadOptions) -> EdgeForm:
    """Return the syntax that ``separator``, ``comment`` and ``columns`` describe.

    Raises:
        UsageError: one of them is invalid.
    """
    for name, mark in (("separator", options.separator), ("comment", options.comment)):
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark.isalnum() or mark in "+-.\r\n"):
            raise UsageError(f"{name} {mark!r}: give one character that no number holds, such as '|' or a tab")
    delimiters = DELIMITERS if options.separator is None else options.separator.strip(" \t")
    comments = "#%" if options.comment is None else options.comment
    return EdgeForm(comments, delimiters, _columns(options.columns), options.weights is None)


def _columns(text: str | None) -> tuple[int, ...]:
    if text is None or are_names(text):
        return ()
    places = text.split(",")
    right = all(place.isascii() and place.isdigit() and 1 <= int(place) <= 999 for place in places)
    if not right or len(places) not in (2, 3) or len(set(places)) != len(places):
        raise UsageError(f"columns {text!r}: write SOURCE,TARGET or SOURCE,TARGET,WEIGHT, each a number from 1, once")
    return _kinds([int(place) - 1 for place in places])


def _kinds(places: Sequence[int]) -> tuple[int, ...]:
    """Return the kinds of the columns up to the last of ``places``, from 0, and of the rest."""
    at = dict(zip(places, (SOURCE, TARGET, NUMBER), strict=False))
    return (*(at.get(place, ANY) for place in range(max(at) + 1)), REST)


def _named_places(path: str, head: FileHead, form: EdgeForm, options: LoadOptions) -> list[int]:
    """Return the positions of the columns that ``columns`` names in the header."""
    if options.header is False:
        raise UsageError(f"columns {options.columns!r} are names, and header=False says there are none; give numbers")
    named = options.ids == "string"
    names = split_columns(head.line, _separator(path, options)) if named else names_in(head.line, form.delimiters)
    return named_columns(options.columns or "", names, f"line {head.number} of {path}")


def _separator(path: str, options: LoadOptions) -> str:
    """Return the character between names, or "" for blanks."""
    given = {".csv": ",", ".tsv": "\t"}.get(_suffix(path), "") if options.separator is None else options.separator
    return given.strip(" ")


def words_in(line: str, delimiters: str) -> list[str]:
    """Split a line at blanks and delimiters."""
    blanks = str.maketrans(delimiters, " " * len(delimiters))
    return split_quoted(line, delimiters, lambda text: words_of(text.translate(blanks)))
