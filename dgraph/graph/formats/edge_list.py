"""Edge lists: one edge a line, in columns. SNAP, TSV, CSV, GAPBS's .el and .wel, and .cedge road files.

``separator.py`` decides what separates columns, ``list_columns.py`` which are read and whether the first line is a
header, ``named_edges.py`` reads ends that are words.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dgraph._support.threads import extremes
from dgraph.comm.base import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import DataError, option
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.counted_header import check_size, set_direction
from dgraph.graph.formats.edge_form import edge_form
from dgraph.graph.formats.first_line import LARGEST, Counts, begins_number, check_names, counts_of, counts_warning
from dgraph.graph.formats.hidden_lines import hidden_before
from dgraph.graph.formats.kept_text import read_kept
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.list_columns import ListColumns, ends_are_words, list_columns
from dgraph.graph.formats.named_edges import read_named
from dgraph.graph.formats.packed import suffix_of
from dgraph.graph.formats.quoted import split_fields
from dgraph.graph.formats.scan import ANY, NUMBER, REST, SOURCE, TARGET, WHOLE
from dgraph.graph.formats.separator import separator_of
from dgraph.graph.formats.sniff import FileHead, read_head, words_of
from dgraph.graph.formats.text import LineTable, columns_read, fault_of, read_table, refuse_most

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


ADVICE = (
    ", or say that the file is otherwise: --columns, --separator, --ids string (columns=, separator=, ids='string')"
)
FIRST = "; if it names columns or counts, say --header (header=True)"
NAMES = {SOURCE: "SOURCE", TARGET: "TARGET", NUMBER: "WEIGHT", WHOLE: "EDGE", ANY: "-", REST: "…"}
"""Words for kinds of columns in the example of a line."""


def read_edge_list(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``SOURCE TARGET`` or ``SOURCE TARGET WEIGHT`` lines; the vertices are the ids that occur.

    One character separates columns: tab, comma, semicolon, pipe or ``separator``; or blanks do (``separator.py``). The
    number of columns is that of most lines. The first line may be a header: names of the columns, or counts.
    """
    named = options.ids == "string"
    form = edge_form(options)
    head = read_head(path, form.comments, comm, sample=True, later=form.later if named else form.comments)
    with comm.together():
        separator = form.separator
        if separator is None:
            gaps = not named and (options.columns is None or "1" in options.columns.split(","))
            separator = separator_of(path, head, form.decimal, gaps, suffix_of(path, options.format))
        columns = list_columns(path, head, separator, options)
    if named:
        return read_named(path, head, columns, separator, form, comm, options)
    if options.ids == "auto" and ends_are_words(head, columns, separator, options):
        raw = read_edge_list(path, comm, replace(options, ids="string", header=True))
        raw.facts.notes.append("the ends of edges are words, so vertices have names (--ids string, ids='string')")
        return raw
    example = " ".join(NAMES[kind] for kind in columns.kinds)
    kinds = columns_read(columns.kinds, options.weights is None)
    layout = Layout(
        kinds, example, "", form.comments, separator, columns.usual, form.decimal, advice=ADVICE,
        first=FIRST, quoted=True,
    )  # fmt: skip
    raw, _ = _read_lines(path, head, layout, columns, comm, options)
    set_direction(raw, path, True, f"the default for {suffix_of(path, options.format)}")
    return raw


def read_cedge(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``EDGE SOURCE TARGET LENGTH`` lines; the vertices are the ids that occur."""
    raw, _ = _read_fixed(path, comm, options, (WHOLE, SOURCE, TARGET, NUMBER), "EDGE SOURCE TARGET LENGTH")
    set_direction(raw, path, True, "the default for .cedge")
    return raw


def read_el(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``SOURCE TARGET`` lines, ids from 0 to the largest."""
    return _read_dense(path, comm, options, (SOURCE, TARGET), "SOURCE TARGET")


def read_wel(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``SOURCE TARGET WEIGHT`` lines, ids from 0 to the largest."""
    return _read_dense(path, comm, options, (SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT")


def _read_dense(path: str, comm: Comm, options: LoadOptions, kinds: tuple[int, ...], example: str) -> RawEdges:
    raw, largest = _read_fixed(path, comm, options, kinds, example)
    edges = comm.total(raw.src.size)
    with comm.together():
        check_size(path, largest + 1, edges, options)
    raw.n, raw.in_range = largest + 1, True
    set_direction(raw, path, True, f"the default for {suffix_of(path, options.format)}")
    return raw


def _read_fixed(
    path: str, comm: Comm, options: LoadOptions, kinds: tuple[int, ...], example: str
) -> tuple[RawEdges, int]:
    """Read lines of a format that says which columns it has; return the largest id, too."""
    comments = edge_form(options).comments
    head = read_head(path, comments, comm)
    layout = Layout(
        columns_read(kinds, options.weights is None), example, comments=comments, fields=len(kinds), first=FIRST
    )
    words, places = words_of(head.line), [kinds.index(kind) for kind in (SOURCE, TARGET)]
    named = options.header is None and bool(words) and not any(begins_number(word) for word in words)
    titles = split_fields(head.line, "\t" if "\t" in head.line else "")
    names = tuple(titles) if named or (options.header and not counts_of(words)) else ()
    with comm.together():
        if names:
            check_names(path, head, names, places)
    columns = ListColumns((*places, *range(max(places) + 1, len(kinds))), len(kinds), len(kinds), names)
    return _read_lines(path, head, layout, columns, comm, options)


def _read_lines(
    path: str, head: FileHead, layout: Layout, columns: ListColumns, comm: Comm, options: LoadOptions
) -> tuple[RawEdges, int]:
    """Read the edges of the file's lines, of which the first may be a header, and the largest id; collective.

    Counts can be checked only after the lines below have been read. An ambiguous first line is therefore read as an
    edge, and is dropped if it turns out to hold counts.
    """
    counts = counts_of(split_fields(head.line, layout.separator)) if options.header is None else None
    skip = bool(columns.names) or bool(options.header) or (counts is not None and bool(fault_of(head.raw, layout)))
    table = read_table(path, layout, head.below if skip else head.here, comm, options.lenient)
    raw = RawEdges(table.src, table.dst, table.weights)
    columns.report(head, layout.separator, raw.facts, options)
    if counts is not None and _are_counts(counts, table, skip, comm):
        raw.facts.warnings.append(counts_warning(head))
        if not skip:
            table.drop_first(comm)
            raw.src, raw.dst, raw.weights = table.src, table.dst, table.weights
    elif skip and counts is not None:
        if not options.lenient:
            raise DataError(f"{path}:{head.number}: {fault_of(head.raw, layout)}")
        table.dropped += 1
    edges, high = comm.total(table.src.size), _id_range(table.src, table.dst, comm)[1]
    with comm.together():
        if comm.rank == 0 and layout.fields:
            before = hidden_before(path, head, layout.comments, layout.separator, layout.fields, (edges, high))
            table.hidden.add(before.count, before.line, before.text)
    table.report(raw.facts)
    refuse_most(path, edges, table.dropped, layout.example)
    if not edges:
        passed = ""
        if skip and not options.header:
            passed = f" (line {head.number} was taken as a header: {option('header', False)})"
        raise DataError(f"{path}: no edge; a line is {layout.example!r}; is the file written to its end?{passed}")
    table.hidden.report(raw.facts, comm)
    lines = [split_fields(line, layout.separator) for line in (*([] if skip else [head.line]), *head.following)]
    ends = [fields[place] for fields in lines for place in columns.places[:2] if place < len(fields)]
    if padded := next(filter(re.compile("0[0-9]+").fullmatch, ends), ""):
        raw.facts.notes.append(f"ids are integers, {padded} is {int(padded)}: --ids string (ids='string') reads names")
    raw.attributes = read_kept(
        path, columns.names, layout.separator, layout.comments, head.below, raw.src.size, comm, options, raw.facts
    )
    return raw, high


def _are_counts(counts: Counts, table: LineTable, skipped: bool, comm: Comm) -> bool:
    """Return True if the first line holds the counts of the other lines; collective.

    ``skipped``: it was not read as an edge.
    """
    lines = comm.total(table.src.size) + table.dropped - (not skipped)
    if lines not in counts.edges or not lines:
        return False
    first = int(not skipped and comm.before(table.src.size) == 0)
    return counts.hold(lines, *_id_range(table.src[first:], table.dst[first:], comm))


def _id_range(src: np.ndarray, dst: np.ndarray, comm: Comm) -> tuple[int, int]:
    """Return the smallest and the largest id on all ranks; collective."""
    threads = rank_threads(comm) if isinstance(src, np.ndarray) else 1  # a GPU needs no threads
    ends = [extremes(end, threads) for end in (src, dst) if end.size]
    high = comm.largest(max((largest for _, largest in ends), default=-1))
    return -comm.largest(max((-smallest for smallest, _ in ends), default=-LARGEST)), high
