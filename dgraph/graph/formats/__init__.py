"""Readers of graph files, found by the file's suffix in :data:`FORMATS`.

A reader is ``read(path, comm, options)`` and returns ``RawEdges``, or ``RawRows`` if the file lists rows. It is
collective, and each rank gets its own share of the edges. ``dgraph/graph/file_formats.py`` names the readers.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from dgraph.graph.file_formats import ROWS
from dgraph.graph.formats.packed import suffix_of as suffix_of

if TYPE_CHECKING:
    from dgraph.comm.base import Comm
    from dgraph.graph.build.raw_edges import RawEdges
    from dgraph.graph.build.rows_from_file import RawRows
    from dgraph.graph.load_options import LoadOptions

    Reader = Callable[[str, Comm, LoadOptions], RawEdges | RawRows]


def _reader(name: str) -> Reader:
    """Return the reader that a row names."""
    module, _, function = name.partition(":")
    return getattr(import_module(f"{__name__}.{module}"), function)


FORMATS = {suffix: _reader(row.reader) for suffix, row in ROWS.items()}

TABLES = {FORMATS[suffix] for suffix, row in ROWS.items() if row.names == "file"}
"""Readers of tables, whose columns may hold names without being asked for them."""

NAMING = {FORMATS[suffix] for suffix, row in ROWS.items() if row.names != "never"}
"""Readers that read names of vertices."""
