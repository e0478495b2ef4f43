"""Connected components between GPUs: edges join each rank's vertices into trees once, and labels spread by trees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.backend.cuda import components
from dgraph.backend.cuda.graph import DeviceGraph
from dgraph.backend.cuda.machine import Machine
from dgraph.backend.cuda.options import Options
from dgraph.program import Traced

NONE = 2**32 - 1
"""No tree's root: of none may edges be left out, since a mirror has none of its own."""


class Trees(Machine):
    """Rounds of a program whose ``kernel`` is "components", where ranks share vertices: in place of walking edges every
    vertex takes the smallest label of its tree. What is exchanged is the program's."""

    walks_by_schedule = False

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: Options):
        super().__init__(traced, graph, device, "push", options)
        self._forest = device.module(components.text(graph.wide, graph.original.dtype.name), "components")
        arrays, self._largest = self.arrays, device.put(np.array([NONE], np.uint32))
        members = (graph.out.offsets, graph.out.neighbours, graph.original, arrays.parent, arrays.lowest, self._largest)
        self._members = np.array([*map(device.address, members), graph.local.size], np.int64)

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Join what edges of this rank join; then ``init``."""
        self._forest.set_environment(self._members)
        hooks = [("hook_one", which) for which in range(components.SAMPLED)]
        for kernel, argument in (("singletons", 0), *hooks, ("jump", 0), ("hook_rest", 0), ("jump", 0)):
            self._forest.launch(kernel, self.device.blocks * self._forest.resident(kernel), argument)
        super().start(given)

    def walks(self) -> tuple[str, list[tuple]]:
        """Labels fall to the smallest of their tree; touched mirrors wait in :meth:`take_mirrors`."""
        return "trees", [("phases", "gather_trees"), ("phases", "spread_trees")]
