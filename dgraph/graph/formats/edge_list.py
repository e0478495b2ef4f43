"""Edge lists: one edge a line, in columns. SNAP, TSV, CSV, GAPBS's .el and .wel, and .cedge road files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.clean import RawEdges
from dgraph.graph.formats.dense import check_size, set_direction
from dgraph.graph.formats.head import Head, read_head
from dgraph.graph.formats.scan import NUMBER, SOURCE, TARGET, WHOLE
from dgraph.graph.formats.text import Layout, Table, read_table

if TYPE_CHECKING:
    from dgraph.graph.load import LoadOptions


DELIMITERS = ",;"
LIKE_A_HEADER = 10
"""Above so many edges, a first line whose second number is the number of lines after it is no coincidence."""


def read_edge_list(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``SOURCE TARGET`` or ``SOURCE TARGET WEIGHT``, as the first line has it; the vertices are the ids that occur.

    Columns are separated by blanks, a comma or a semicolon. A .csv or .tsv file may begin with a line of names.
    """
    head = read_head(path, "#%", comm)
    words = _words(head.line)
    named = Path(path).suffix.lower() in (".csv", ".tsv") and bool(words) and not any(_begins_number(w) for w in words)
    with comm.together():
        if named and len(words) not in (2, 3):
            raise DataError(
                f"{path}:{head.number}: got {len(words)} names of columns; an edge list has a source, a target and "
                "perhaps a weight; remove the other columns"
            )
    weighted = len(words) > 2
    columns, example = (
        ((SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT") if weighted else ((SOURCE, TARGET), "SOURCE TARGET")
    )
    table = _table(path, Layout(columns, example, delimiters=DELIMITERS), head, comm, skip=named)
    raw = RawEdges(table.src, table.dst, table.weights)
    set_direction(raw, path, True, f"the default for {Path(path).suffix}")
    edges = comm.total(table.src.size)
    if edges > LIKE_A_HEADER and words[1:] == [str(edges - 1)]:
        raw.facts.notes.append(f"line {head.number}, {head.line!r}, reads like counts, but was taken as an edge")
    if named:
        raw.facts.notes.append(f"line {head.number} names the columns: {' '.join(words)}")
    return raw


def read_cedge(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``EDGE SOURCE TARGET LENGTH``; the vertices are the ids that occur."""
    head = read_head(path, "#%", comm)
    table = _table(path, Layout((WHOLE, SOURCE, TARGET, NUMBER), "EDGE SOURCE TARGET LENGTH"), head, comm)
    raw = RawEdges(table.src, table.dst, table.weights)
    set_direction(raw, path, True, "the default for .cedge")
    return raw


def read_el(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``SOURCE TARGET``, ids from 0 to the largest."""
    return _read_dense(path, comm, options, Layout((SOURCE, TARGET), "SOURCE TARGET"))


def read_wel(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """``SOURCE TARGET WEIGHT``, ids from 0 to the largest."""
    return _read_dense(path, comm, options, Layout((SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT"))


def _read_dense(path: str, comm: Comm, options: LoadOptions, layout: Layout) -> RawEdges:
    table = _table(path, layout, read_head(path, "#%", comm), comm)
    largest = comm.largest(max(int(table.src.max(initial=0)), int(table.dst.max(initial=0))))
    edges = comm.total(table.src.size)
    with comm.together():
        check_size(path, largest + 1, edges, options)
    raw = RawEdges(table.src, table.dst, table.weights, n=largest + 1)
    set_direction(raw, path, True, f"the default for {Path(path).suffix}")
    return raw


def _table(path: str, layout: Layout, head: Head, comm: Comm, skip: bool = False) -> Table:
    start, number = (head.after, head.number + 1) if skip else (head.start, head.number)
    table = read_table(path, layout, start, number, head.size, comm)
    edges = comm.total(table.src.size)
    with comm.together():
        if not edges:
            raise DataError(f"{path}: no edge; a line is {layout.example!r}; is the file written to its end?")
    return table


def _words(line: str) -> list[str]:
    for delimiter in DELIMITERS:
        line = line.replace(delimiter, " ")
    return line.split()


def _begins_number(word: str) -> bool:
    return word[0].isdigit() or word[0] in "+-."
