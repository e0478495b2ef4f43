"""Arcs of game graphs: a line ``> SOURCE TARGET WEIGHT`` for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.counted_header import set_direction
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.scan import NUMBER, SOURCE, TARGET
from dgraph.graph.formats.sniff import read_head
from dgraph.graph.formats.text import columns_read, read_table

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


def read_arcs(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read ``> SOURCE TARGET WEIGHT`` lines; the vertices are the ids that occur. Directed."""
    head = read_head(path, "#", comm)
    columns = columns_read((SOURCE, TARGET, NUMBER), options.weights is None)
    table = read_table(path, Layout(columns, "> 1 2 5", ">", "#"), head.here, comm, options.lenient)
    raw = RawEdges(table.src, table.dst, table.weights)
    table.report(raw.facts)
    set_direction(raw, path, True, "the .arcs format lists arcs")
    return raw
