"""Connected components between GPUs: union-find inside a rank, label exchange between ranks.

Local arcs join each rank's vertices into trees once, before the first round (``components_multi.cuh``). In a round
every vertex takes the smallest label of its tree (``cc_multi.cuh``), and shared vertices exchange labels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.algorithms.kernels.components import components_cuda
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.snapshot import Snapshot
from dgraph.program import Traced


class ComponentsMulti(GpuMachine):
    """Machine for a program whose ``kernel`` is "components", where ranks share vertices.

    The edge phase gives every vertex the smallest label of its tree; the exchange is the program's. A mirror proposes
    but receives no label, so each arc has to carry its source's label to its target. If ranks find that their largest
    trees belong to one component, they exchange which masters are in it. Arcs between such vertices are then skipped,
    and those vertices get their label without a message.
    """

    walks_by_schedule, uses_union_find = False, True

    def __init__(self, traced: Traced, graph: DeviceGraph, device, options: GpuPlan):
        super().__init__(traced, graph, device, "push", options)
        text = components_cuda.text(graph.wide, graph.original.dtype.name, several=True)
        self.sources.further.append((text, "components"))
        self._since: int | None = None
        self._words: dict[bool, np.ndarray] = {}

    @property
    def _exchanges_members(self) -> bool:
        """True if ranks exchange the members of their largest trees."""
        return bool(
            self.device_exchange
            and self.device_exchange.direct
            and self.device_exchange.ends_only
            and not self.local.directed
        )

    def renew(self, traced: Traced) -> None:
        """Prepare for another run, which joins the arcs anew."""
        super().renew(traced)
        self._since = None

    def start(self, fields: Mapping[str, np.ndarray]) -> None:
        """Start as every machine, and pass the forest's arrays to its kernels."""
        arrays, ends_only = self.arrays, self._exchanges_members
        if ends_only not in self._words:
            marks, forest = (*arrays.bits, arrays.dirty), (arrays.parent, arrays.lowest, arrays.forest)
            self._words[ends_only] = components_cuda.environment(self.graph, *forest, marks, True, ends_only)
        self._forest = self.device.module(*self.sources.further[-1])
        self._forest.set_environment(self._words[ends_only])
        super().start(fields)
        self.mirrors_current = True

    def restore(self, kept: Snapshot) -> None:
        """Resume from a snapshot; mirrors are not current."""
        super().restore(kept)
        self.mirrors_current = False

    def edge_launches(self) -> tuple[str, list[tuple]]:
        """Return the launches of the edge phase: vertices take their tree's smallest label."""
        self.prepare()
        if self.round == self._since:
            return "trees", [("round_kernels", "gather_trees"), ("round_kernels", "spread_trees", False)]
        self.device.clear(self.arrays.bits[1])
        return "trees", [("round_kernels", "gather_active"), ("round_kernels", "spread_trees", True)]

    def prepare(self) -> None:
        """Join the local arcs into trees; once."""
        if self._since is not None:
            return
        self._since = self.round
        if self.round:
            self.arrays.forest[control_block.FOREST_SINCE] = self.round
        launches = components_cuda.MEMBERS if self.graph.order is None else components_cuda.MEMBERS_LAZILY
        self._launch_forest(*(launches if self._exchanges_members else components_cuda.NO_MEMBERS))
        if self.device_exchange and self._exchanges_members:
            self.launch(("round_kernels", "send_inside", self.device_exchange.comm.rank))
            self._launch_forest(("hook_to_members",), ("hook_remaining",))
            self.launch(("round_kernels", "label_inside"))
        else:
            self._launch_forest(("hook_remaining",))

    def _launch_forest(self, *launches: tuple) -> None:
        """Launch kernels of the forest, unless the rank has no vertices."""
        if self.local.size:
            components_cuda.launch_all(self.device, self._forest, *launches)
