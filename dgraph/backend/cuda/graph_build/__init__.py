"""Generated and listed graphs built in GPU memory.

For a generated graph, :class:`BuiltGraph`, each rank's GPU draws the generator's edges, keeps those placed on it and
lays them out as CSR. No edge is stored in a list, sent, or seen by the host: every pass over the edges draws them
again. :class:`LoadedGraph` uploads the edges of a file or of a user's arrays, and the same passes read the list.
"""

from dgraph.backend.cuda.graph_build.built_graph import BuiltGraph
from dgraph.backend.cuda.graph_build.loaded_graph import LoadedGraph

__all__ = ["BuiltGraph", "LoadedGraph"]
