"""Minimum spanning forest of a whole graph on one GPU."""

from __future__ import annotations

from dgraph.algorithms.kernels.forest.forest_cpu import Answers
from dgraph.algorithms.kernels.forest.forest_search import First, RowSearch, Weights, bytes_needed, sampled
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context


class GpuForest(RowSolver):
    """Finder of minimum spanning forests on a GPU."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of a search, as ``bytes_needed`` counts them where edges do not fit one word.

        A position of this rank's rows takes 40, and a vertex of the graph 52: 48 of its tree, and 4 of its place by id.
        An arc takes 24, half of a listed edge of 24 that is copied once.
        """
        return 40 * size.vertices + 24 * size.arcs + 52 * size.n

    def solve(self, ctx: Context) -> Answers:
        """Return the columns of the forest, which stay on the GPU, the sum of the weights, and the number of edges."""
        with ctx.record("compute"):
            local, device, n = ctx.local, self.backend.device, ctx.local.size
            graph = self.backend.graph_of(local)
            weights = Weights.of(local.out)
            first = First.of(sampled(graph), n, graph.edges, graph.edges, weights)
            require(device, bytes_needed(graph, n, weights, first), "a spanning forest")
            search = RowSearch(graph, device, n, weights, graph.original, graph.id_places, False, first)
            search.join()
            return search.columns()
