"""Triangles of a whole graph on one GPU, and the counter of triangles on GPUs.

Ranks with a GPU each orient the rows of their parts and gather them (``wedges_between_gpus.py``). Where these do not
fit, ranks orient and move their rows on the host, and count them on CPU threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.kernels.wedges.wedges_between_gpus import Found, columns_of
from dgraph.algorithms.kernels.wedges.wedges_between_gpus import found as between_gpus
from dgraph.algorithms.kernels.wedges.wedges_memory import hubs_of
from dgraph.algorithms.kernels.wedges.wedges_search import Search
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.cuda.memory.memory_plan import require
from dgraph.backend.kernel_register import ROW_KERNELS


class GpuWedges:
    """Counter of triangles on a GPU."""

    def __init__(self, backend: Any):
        self.backend = backend

    def whole(self, local: Any) -> Found:
        """Count the triangles of a whole graph."""
        graph, device = self.backend.graph_of(local), self.backend.device
        require(
            device, ROW_KERNELS["wedges"].gpu.of(local.size, graph.edges, local.size, local.size), "counting triangles"
        )
        search = Search(graph, device)
        starts, degrees = search.oriented()
        wedges = search.wedges(starts, search.targets(starts), hubs_of(local.size, graph.edges))
        triangles = search.triangles(wedges, graph.rows_with_edges(local.size))
        return columns_of(graph, triangles, search.shares(triangles, degrees))

    def between_ranks(self, ctx: Any) -> Found | None:
        """Return this rank's columns, and the sums over all ranks, or None if rows do not fit on GPUs; collective."""
        return between_gpus(ctx, self.backend)

    def counter(self, offsets: np.ndarray, targets: np.ndarray) -> Any:
        """Return a counter of rows on the host."""
        from dgraph.algorithms.kernels.wedges.wedges_cpu import Counter

        return Counter(Team(1), offsets, targets)
