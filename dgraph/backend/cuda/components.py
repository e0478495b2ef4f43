"""Connected components of a whole graph on one GPU; what label propagation would take thousands of rounds for."""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda import layout
from dgraph.backend.cuda.graph import DeviceGraph
from dgraph.backend.cuda.text import common

SAMPLED = 2
"""Edges of every vertex that are hooked before the largest component is known."""


def text(wide: bool) -> str:
    """The kernels."""
    types = f"typedef {'i64' if wide else 'u32'} offset_t;"
    return "\n".join([layout.constants(), "#define PERSISTENT 0", common("base"), types, common("components")])


class Components:
    """The kernels and arrays of one graph, undirected and without mirrors."""

    def __init__(self, graph: DeviceGraph, device):
        self.graph, self.device = graph, device
        self.module = device.module(text(graph.wide), "components")
        n, xp = max(graph.local.size, 1), device.xp
        self.parent, self.lowest = xp.empty(n, np.uint32), xp.empty(n, np.int64)
        self.largest = xp.empty(1, np.uint32)
        out = graph.out
        arrays = (out.offsets, out.neighbours, graph.original, self.parent, self.lowest, self.largest)
        self.environment = np.array([*map(device.address, arrays), graph.local.size], np.int64)

    def solve(self) -> None:
        """Start the kernels; ``labels`` has the answer."""
        self.module.set_environment(self.environment)
        self.module.owner = self
        self._launch("singletons")
        for which in range(SAMPLED):
            self._launch("hook_one", which)
        self._launch("jump")
        self.module.launch("elect", 1)
        self._launch("hook_rest")
        self._launch("jump")
        self._launch("name_trees")

    def labels(self):
        """The smallest original id of each vertex's component, by lid: int64, on the device."""
        labels = self.lowest[self.parent[: self.graph.local.size]]
        return labels if self.graph.place is None else labels[self.graph.place]

    def _launch(self, kernel: str, argument: int = 0) -> None:
        self.module.launch(kernel, self.device.blocks * self.module.resident(kernel), argument)
