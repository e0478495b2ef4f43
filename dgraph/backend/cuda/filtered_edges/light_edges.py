"""Machine that walks only light edges: those of weight ``Program.heaviest`` or less."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.backend.cuda.device_graph.device_graph import DeviceCsr
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.filtered_edges.edge_filter import EdgeFilter
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.memory.memory_plan import LIGHTEST
from dgraph.program import Traced


class LightEdgesMachine(EdgeFilter):
    """Machine whose rows of light edges stay with the graph, for the next run with the same limit."""

    @classmethod
    def serves(cls, traced: Traced, extent: GraphSize, options: GpuPlan, pulls: bool) -> bool:
        """Return True if the program reads edges of limited weight alone."""
        return options.light_edges_only(traced, pulls)

    def start(self, initial: Mapping[str, np.ndarray]) -> None:
        """Run ``init``, with prefix sums of the light rows."""
        graph, heaviest = self.graph, self.traced.program.heaviest
        assert heaviest is not None
        limit, rows = graph.light or (None, None)
        if limit != heaviest:
            graph.light = None  # free it before the next is allocated
            rows = self._made(heaviest)
            graph.light = heaviest, rows
        if rows is not None:
            address = self.device.address
            self.kernels.set_members(
                out_offsets=address(rows.offsets),
                out_neighbours=address(rows.neighbours),
                out_weights=address(rows.weights),
                out_edges=len(rows.neighbours),
            )
        super().start(initial)

    def _made(self, heaviest: float) -> DeviceCsr | None:
        """Return rows of the light edges in their original order; None where there are too many."""
        graph, xp, address = self.graph, self.device.xp, self.device.address
        rows = graph.out
        if not graph.edges:
            return None
        bits = xp.empty((graph.edges + 31) // 32, np.uint32)
        sums = xp.empty(len(bits), rows.offsets.dtype)
        self.kernels.set_members(marked_edges=address(bits), marked_sums=address(sums))
        self._launch_filter("mark_light", int(np.float64(heaviest).view(np.int64)))
        self._launch_filter("count_marked")
        sums[...] = xp.cumsum(sums, dtype=sums.dtype)
        count = int(self.device.get(sums[-1:])[0])
        if count > graph.extent.edges // LIGHTEST:
            return None
        offsets = xp.empty_like(rows.offsets)
        neighbours, weights = xp.empty(max(count, 1), np.uint32), xp.empty(max(count, 1), rows.weights.dtype)
        self.kernels.set_members(kept=address(neighbours), kept_weights=address(weights), kept_offsets=address(offsets))
        self._launch_filter("keep_marked")
        return DeviceCsr(offsets, neighbours[:count], weights[:count])
