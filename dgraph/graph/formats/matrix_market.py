"""Matrix Market ``.mtx``: a square sparse matrix is a graph, entry (i, j) the arc i → j."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.counted_header import check_count, check_size, header_number, set_direction
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.scan import INTEGER, NUMBER, SOURCE, TARGET
from dgraph.graph.formats.sniff import FileHead, read_head, words_of
from dgraph.graph.formats.text import columns_read, read_table

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


VALUES = {"pattern": (), "integer": (INTEGER,), "real": (NUMBER,), "double": (NUMBER,)}


def read_mtx(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read a ``coordinate`` matrix, ``general`` (directed) or ``symmetric`` (undirected: one triangle is stored)."""
    head = read_head(path, "%", comm)
    with comm.together():
        field, symmetry = _banner(path, head)
        n, entries = _size(path, head)
    columns = columns_read((SOURCE, TARGET, *VALUES[field]), options.weights is None)
    example = "ROW COLUMN VALUE" if VALUES[field] else "ROW COLUMN"
    layout = Layout(
        columns, example, comments="%", lowest=1, highest=n, limit=f"the size line says {n} rows and columns"
    )
    table = read_table(path, layout, head.below, comm, options.lenient)
    lines = comm.total(table.src.size)
    with comm.together():
        check_count(path, lines + table.dropped, entries, f"the size line (line {head.number})", "entries")
        check_size(path, n, lines, options)
    raw = RawEdges(table.src, table.dst, table.weights, n=n, base=1)
    table.report(raw.facts)
    set_direction(raw, path, symmetry == "general", f"the .mtx header says {symmetry}")
    return raw


def _banner(path: str, head: FileHead) -> tuple[str, str]:
    words = words_of(head.first.lower())
    if len(words) != 5 or words[0] != "%%matrixmarket":
        raise DataError(
            f"{path}:1: got {head.first[:60]!r}; a Matrix Market file begins with "
            "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'; add it, or is this another format?"
        )
    _, kind, storage, field, symmetry = words
    for word, supported, cure in (
        (kind, ("matrix",), "convert it to a matrix"),
        (storage, ("coordinate",), "a dense array is not a sparse graph: write it with coordinates"),
        (field, tuple(VALUES), "weights are real: write the values as such"),
        (symmetry, ("general", "symmetric"), "an arc and its reverse weigh the same: write the matrix as general"),
    ):
        if word not in supported:
            raise DataError(f"{path}:1: got {word!r}; supported are {', '.join(supported)}; {cure}")
    return field, symmetry


def _size(path: str, head: FileHead) -> tuple[int, int]:
    words = words_of(head.line)
    if len(words) != 3:
        raise DataError(
            f"{path}:{head.number}: got {head.line[:60]!r}; after the comments a line says 'ROWS COLUMNS ENTRIES'; "
            "was the file cut short?"
        )
    rows, columns, entries = (
        header_number(word, what, path, head.number)
        for word, what in zip(words, ("rows", "columns", "entries"), strict=True)
    )
    if rows != columns:
        raise DataError(
            f"{path}:{head.number}: got {rows} rows and {columns} columns; the matrix of a graph is square; "
            "make it so, for example by numbering columns after rows"
        )
    return rows, entries
