"""Connected components between GPUs: edges join each rank's vertices into trees once, and labels spread by trees."""

from __future__ import annotations

from dgraph.backend.cuda import components
from dgraph.backend.cuda.graph import DeviceGraph
from dgraph.backend.cuda.machine import Machine
from dgraph.backend.cuda.options import Options
from dgraph.program import Traced


class Trees(Machine):
    """Rounds of a program whose ``kernel`` is "components", where ranks share vertices: in place of walking edges every
    vertex takes the smallest label of its tree. What is exchanged is the program's.

    No edges are left out, as they are on one GPU: a mirror proposes, but is not told, so that each arc has to bring its
    source's label to its target.
    """

    walks_by_schedule = False

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: Options):
        super().__init__(traced, graph, device, "push", options)
        self._forest = device.module(components.text(graph.wide, graph.original.dtype.name), "components")
        self._joined = False

    def walks(self) -> tuple[str, list[tuple]]:
        """Labels fall to the smallest of their tree; touched mirrors wait in :meth:`take_mirrors`."""
        if not self._joined:
            self._join()
        return "trees", [("phases", "gather_trees"), ("phases", "spread_trees")]

    def _join(self) -> None:
        """Before the first round: what edges of this rank join."""
        self._forest.set_environment(components.environment(self.graph, self.arrays.parent, self.arrays.lowest))
        hooks = [("hook_one", which) for which in range(components.SAMPLED)]
        for kernel, argument in (("singletons", 0), *hooks, ("jump", 0), ("hook_all", 0), ("jump", 0)):
            self._forest.launch(kernel, self.device.blocks * self._forest.resident(kernel), argument)
        self._joined = True
