"""Rows of a rank's vertices with the vertices of other ranks that they name; algorithms call ``ctx.rows``."""

from dgraph.graph.halo.ghost_rows import GhostRows, ghost_rows

__all__ = ["GhostRows", "ghost_rows"]
