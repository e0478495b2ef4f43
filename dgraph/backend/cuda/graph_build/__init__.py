"""Graphs made where they are worked on: each rank's GPU draws the edges of a generated graph, keeps those that lie on
it and lays them out as rows. No edge is listed, sent or seen by the host: every pass over the edges draws them again.
"""

from dgraph.backend.cuda.graph_build.built_graph import BuiltGraph

__all__ = ["BuiltGraph"]
