"""Readers of graph files, found by the file's suffix in :data:`FORMATS`.

A reader is ``read(path, comm, options)`` and returns ``RawEdges``, or ``RawRows`` if the file lists rows. It is
collective, and each rank gets its own share of the edges.
"""

from dgraph.graph.formats.dimacs import read_col, read_gr
from dgraph.graph.formats.edge_list import read_cedge, read_edge_list, read_el, read_wel
from dgraph.graph.formats.gapbs import read_sg, read_wsg
from dgraph.graph.formats.graph500 import read_packed, read_wide
from dgraph.graph.formats.ldbc import read_ldbc
from dgraph.graph.formats.matrix_market import read_mtx
from dgraph.graph.formats.metis_graph import read_metis
from dgraph.graph.formats.packed import suffix_of as suffix_of
from dgraph.graph.formats.parquet import read_arrow, read_parquet
from dgraph.graph.formats.scipy_npz import read_npz

FORMATS = {
    ".arrow": read_arrow,
    ".cedge": read_cedge,
    ".col": read_col,
    ".csv": read_edge_list,
    ".e": read_ldbc,
    ".edges": read_edge_list,
    ".el": read_el,
    ".feather": read_arrow,
    ".g500": read_packed,
    ".g500w": read_wide,
    ".gr": read_gr,
    ".graph": read_metis,
    ".mtx": read_mtx,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".properties": read_ldbc,
    ".sg": read_sg,
    ".snap": read_edge_list,
    ".tsv": read_edge_list,
    ".txt": read_edge_list,
    ".v": read_ldbc,
    ".wel": read_wel,
    ".wsg": read_wsg,
}

TABLES = (read_parquet, read_arrow)
"""Readers of tables, whose columns may hold names without being asked for them."""

NAMING = (read_edge_list, *TABLES)
"""Readers that read names of vertices."""
