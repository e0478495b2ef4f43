"""Triangles of a whole graph on one GPU."""

from __future__ import annotations

from dgraph.algorithms.kernels.wedges.gpu_counts import GpuCounts
from dgraph.algorithms.kernels.wedges.wedges_memory import bytes_to_count, hubs_of
from dgraph.algorithms.kernels.wedges.wedges_search import WedgeCounter
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context


class GpuWedges(RowSolver):
    """Counter of triangles on a GPU."""

    bytes = staticmethod(bytes_to_count)

    def solve(self, ctx: Context) -> GpuCounts:
        """Count the triangles of a whole graph."""
        with ctx.record("compute"):
            graph, device = self.backend.graph_of(ctx.local), self.backend.device
            size = ctx.local.size
            require(device, self.bytes(RowSize.whole(size, graph.edges)), "counting triangles")
            search = WedgeCounter(graph, device)
            starts, degrees = search.oriented()
            wedges = search.wedges(starts, search.targets(starts), hubs_of(size, graph.edges))
            triangles = search.triangles(wedges, graph.rows_with_edges(size))
            return GpuCounts.of(graph, triangles, search.shares(triangles, degrees))
