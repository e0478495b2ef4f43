"""Generated graphs built in GPU memory.

Each rank's GPU draws the generator's edges, keeps those placed on it and lays them out as CSR. No edge is stored in a
list, sent, or seen by the host: every pass over the edges draws them again. :class:`BuiltGraph` is the entry.
"""

from dgraph.backend.cuda.graph_build.built_graph import BuiltGraph

__all__ = ["BuiltGraph"]
