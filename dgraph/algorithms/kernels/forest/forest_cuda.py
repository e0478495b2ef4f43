"""Minimum spanning forest of a whole graph on one GPU, and the finder of forests on GPUs."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms.kernels.forest.forest_between_gpus import found as between_gpus
from dgraph.algorithms.kernels.forest.forest_cpu import Forest
from dgraph.algorithms.kernels.forest.forest_search import First, RowSearch, Weights, bytes_needed, sampled
from dgraph.backend.cuda.memory.memory_plan import require


class GpuForest(Forest):
    """Finder of minimum spanning forests on a GPU."""

    def __init__(self, backend: Any):
        super().__init__(None)
        self.backend = backend

    def whole(self, local: Any) -> tuple[dict[str, Any], int | float, int]:
        """Return the columns of the forest, which stay on the GPU, the sum of the weights, and the number of edges."""
        graph, device, n = self.backend.graph_of(local), self.backend.device, local.size
        weights = Weights.of(local.out)
        first = First.of(sampled(graph), n, graph.edges, graph.edges, weights)
        require(device, bytes_needed(graph, n, weights, first), "a spanning forest")
        search = RowSearch(graph, device, n, weights, graph.original, graph.id_places, False, first)
        search.join()
        return search.columns()

    def between_ranks(self, ctx: Any) -> tuple[dict[str, Any], int | float, int] | None:
        """Return the same where every rank has a GPU with the memory, else None; collective."""
        return between_gpus(ctx, self.backend)
