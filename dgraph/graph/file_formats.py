"""Suffixes of graph files, and the function that reads each: to add a format, write its file and a row here.

Options and command lines check names of formats against this table without importing a reader. ``formats/`` imports
the readers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileFormat:
    """One row of the table.

    Attributes:
        reader: ``module:function`` in ``formats/``.
        names: when it reads names of vertices: "never", if "asked" for by ``ids``, or if the "file" has them.
        alone: True if a graph is one file, so that ``format=`` can name its format.
    """

    reader: str
    names: str = "never"
    alone: bool = True


ROWS = {
    ".arrow": FileFormat("parquet:read_arrow", names="file"),
    ".cedge": FileFormat("edge_list:read_cedge"),
    ".col": FileFormat("dimacs:read_col"),
    ".csv": FileFormat("edge_list:read_edge_list", names="asked"),
    ".e": FileFormat("ldbc:read_ldbc", alone=False),
    ".edges": FileFormat("edge_list:read_edge_list", names="asked"),
    ".el": FileFormat("edge_list:read_el"),
    ".feather": FileFormat("parquet:read_arrow", names="file"),
    ".g500": FileFormat("graph500:read_packed"),
    ".g500w": FileFormat("graph500:read_wide"),
    ".gr": FileFormat("dimacs:read_gr"),
    ".graph": FileFormat("metis_graph:read_metis"),
    ".mtx": FileFormat("matrix_market:read_mtx"),
    ".npz": FileFormat("scipy_npz:read_npz"),
    ".parquet": FileFormat("parquet:read_parquet", names="file"),
    ".properties": FileFormat("ldbc:read_ldbc", alone=False),
    ".sg": FileFormat("gapbs:read_sg"),
    ".snap": FileFormat("edge_list:read_edge_list", names="asked"),
    ".tsv": FileFormat("edge_list:read_edge_list", names="asked"),
    ".txt": FileFormat("edge_list:read_edge_list", names="asked"),
    ".v": FileFormat("ldbc:read_ldbc", alone=False),
    ".wel": FileFormat("edge_list:read_wel"),
    ".wsg": FileFormat("gapbs:read_wsg"),
}

FILE_FORMATS = tuple(sorted(suffix[1:] for suffix, row in ROWS.items() if row.alone))
"""Formats of single files: their suffixes without the dot."""
