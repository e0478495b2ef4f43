"""Connected components between GPUs: edges join each rank's vertices into trees once, and labels spread by trees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.algorithms.kernels import components_cuda
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.round_kernels.machine import Machine
from dgraph.backend.snapshot import Snapshot
from dgraph.program import Traced


class ComponentsMulti(Machine):
    """Rounds of a program whose ``kernel`` is "components", where ranks share vertices: in place of walking edges every
    vertex takes the smallest label of its tree. What is exchanged is the program's.

    A mirror proposes, but is not told, so each arc has to bring its source's label to its target. Where ranks find that
    their largest trees are one, and say who is inside, arcs between such vertices are left out, and they have their
    label without a message. Where they do not, arcs between vertices that a few edges have joined are only looked at.
    """

    walks_by_schedule, by_trees = False, True

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: Options):
        super().__init__(traced, graph, device, "push", options)
        self._forest = device.module(components_cuda.text(graph.wide, graph.original.dtype.name), "components")
        self._since: int | None = None

    @property
    def _tells(self) -> bool:
        """Whether ranks say who is inside."""
        return bool(
            self.device_exchange
            and self.device_exchange.direct
            and self.device_exchange.ends_only
            and not self.local.directed
        )

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """As that of every machine; kernels of the forest learn where its arrays lie."""
        arrays = self.arrays
        marks = (*arrays.bits, arrays.dirty)
        self._forest.set_environment(
            components_cuda.environment(
                self.graph, arrays.parent, arrays.lowest, arrays.forest, marks, lists=True, ends_only=self._tells
            )
        )
        super().start(given)
        self.mirrors_current = True

    def _empty_mirrors(self, name: str, identity: int | float) -> None:
        """Mirrors begin with labels of their own, which are their masters'."""
        masters = self.local.masters
        self.arrays.fields[name][masters:] = self.graph.original[masters:]

    def restore(self, kept: Snapshot) -> None:
        """Go on; masters know more than mirrors."""
        super().restore(kept)
        self.mirrors_current = False

    def walks(self) -> tuple[str, list[tuple]]:
        """Labels fall to the smallest of their tree; touched mirrors wait in :meth:`take_mirrors`."""
        self.prepare()
        if self.round == self._since:
            return "trees", [("phases", "gather_trees"), ("phases", "spread_trees", False)]
        self.device.clear(self.arrays.bits[1])
        return "trees", [("phases", "gather_active"), ("phases", "spread_trees", True)]

    def prepare(self) -> None:
        """Edges of this rank join its vertices, once."""
        if self._since is not None:
            return
        self._since = self.round
        if self.round:
            self.arrays.forest[control_block.FOREST_SINCE] = self.round
        telling = components_cuda.TELLING if self.graph.order is None else components_cuda.TELLING_LAZILY
        self._hook(*(telling if self._tells else components_cuda.UNTOLD))
        if self.device_exchange and self._tells:
            self.launch(("phases", "send_inside", self.device_exchange.comm.rank))
            self._hook(("hook_told",), ("hook_left",))
            self.launch(("phases", "label_inside"))
        else:
            self._hook(("hook_left",))

    def _hook(self, *launches: tuple) -> None:
        """Start kernels of the forest, where there is one."""
        if self.local.size:
            components_cuda.hook(self.device, self._forest, *launches)
