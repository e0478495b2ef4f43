"""Rows of vertices with neighbours that other ranks own; algorithms get them from ``ctx.rows``."""

from dgraph.graph.halo.ghost_rows import GhostRows
from dgraph.graph.halo.numbered_rows import NumberedRows
from dgraph.graph.halo.rows_of import rows_of

__all__ = ["GhostRows", "NumberedRows", "rows_of"]
