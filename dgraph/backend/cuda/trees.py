"""Connected components between GPUs: edges join each rank's vertices into trees once, and labels spread by trees."""

from __future__ import annotations

import numpy as np

from dgraph.backend.cuda import components
from dgraph.backend.cuda.graph import DeviceGraph
from dgraph.backend.cuda.machine import Machine
from dgraph.backend.cuda.options import Options
from dgraph.program import Traced


class Trees(Machine):
    """Rounds of a program whose ``kernel`` is "components", where ranks share vertices: in place of walking edges every
    vertex takes the smallest label of its tree. What is exchanged is the program's.

    No vertex's edges are left out, as they are on one GPU: a mirror proposes, but is not told, so that each arc has to
    bring its source's label to its target. Those between vertices that a few edges have joined are only looked at.
    """

    walks_by_schedule = False

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: Options):
        super().__init__(traced, graph, device, "push", options)
        self._forest = device.module(components.text(graph.wide, graph.original.dtype.name), "components")
        self._largest = device.xp.empty(1, np.uint32)
        self._joined = False

    def walks(self) -> tuple[str, list[tuple]]:
        """Labels fall to the smallest of their tree; touched mirrors wait in :meth:`take_mirrors`."""
        if not self._joined and self.local.size:
            self._join()
        return "trees", [("phases", "gather_trees"), ("phases", "spread_trees")]

    def _join(self) -> None:
        """Before the first round: what edges of this rank join."""
        forest, arrays = self._forest, self.arrays
        forest.set_environment(
            components.environment(self.graph, arrays.parent, arrays.lowest, self._largest, lists=True)
        )
        for kernel in ("singletons", "hook_one", "jump", "elect", "mark_largest", "hook_all", "jump", "unnamed"):
            forest.launch(kernel, 1 if kernel == "elect" else self.device.blocks * forest.resident(kernel))
        self._joined = True
