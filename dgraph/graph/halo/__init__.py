"""Rows of vertices with neighbours that other ranks own; algorithms get them from ``ctx.rows``."""

from dgraph.graph.halo.degree_rows import DegreeRows
from dgraph.graph.halo.ghost_rows import GidRows
from dgraph.graph.halo.numbered_rows import NumberedRows
from dgraph.graph.halo.rows_of import rows_of

__all__ = ["DegreeRows", "GidRows", "NumberedRows", "rows_of"]
