"""Graphs in a store: written part by part, opened at the same number of ranks by memory map, dealt out at another.

The files and their checksums are ``partitioning.store``'s; here is what the arrays mean.
"""

from dgraph.graph.stored.graph import StoredGraph
from dgraph.graph.stored.write import available, chunks_a_part, write

__all__ = ["StoredGraph", "available", "chunks_a_part", "write"]
