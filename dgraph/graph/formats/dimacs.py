"""DIMACS graphs as text: ``.gr`` of the 9th challenge (shortest paths) and ``.col`` of the 2nd (colouring)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import RawRows
from dgraph.graph.formats.counted_header import check_count, check_size, header_number, set_direction
from dgraph.graph.formats.galois import MAGIC, read_galois
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.scan import NUMBER, SOURCE, TARGET
from dgraph.graph.formats.sniff import file_size, read_head, words_of
from dgraph.graph.formats.text import columns_read, read_table

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


def read_gr(path: str, comm: Comm, options: LoadOptions) -> RawEdges | RawRows:
    """Read ``p sp N M``, then M arcs ``a SOURCE TARGET WEIGHT`` with ids 1 .. N; or Galois's binary graph. Directed."""
    with comm.together():
        file_size(path)
        with open(path, "rb") as file:
            galois = file.read(8) in MAGIC
    if galois:
        return read_galois(path, comm, options)
    return _read(path, comm, options, "sp", ("a", "a SOURCE TARGET WEIGHT", (SOURCE, TARGET, NUMBER)))


def read_col(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``p edge N M``, then M edges ``e U V`` with ids 1 .. N. Undirected; an edge may be listed once or twice."""
    return _read(path, comm, options, "edge", ("e", "e U V", (SOURCE, TARGET)))


def _read(path: str, comm: Comm, options: LoadOptions, problem: str, line: tuple) -> RawEdges:
    tag, example, columns = line
    head = read_head(path, "c", comm)
    with comm.together():
        words = words_of(head.line)
        kinds = (problem, "col") if problem == "edge" else (problem,)
        if len(words) != 4 or words[0] != "p" or words[1] not in kinds:
            raise DataError(
                f"{path}:{head.number}: got {head.line[:60]!r}; the first line that is not a comment says "
                f"'p {problem} VERTICES LINES'; add it, or is this another format?"
            )
        n = header_number(words[2], "vertices", path, head.number)
        m = header_number(words[3], "lines", path, head.number)
    limit = f"the p line says {n} vertices"
    layout = Layout(columns_read(columns, options.weights is None), example, tag, "c", lowest=1, highest=n, limit=limit)
    table = read_table(path, layout, head.below, comm, options.lenient)
    lines = comm.total(table.src.size)
    with comm.together():
        check_count(path, lines + table.dropped, m, f"the p line (line {head.number})", f"{tag} lines")
        check_size(path, n, lines, options)
    raw = RawEdges(table.src, table.dst, table.weights, n=n, base=1)
    table.report(raw.facts)
    set_direction(raw, path, tag == "a", "the .gr format lists arcs" if tag == "a" else "the .col format lists edges")
    return raw
