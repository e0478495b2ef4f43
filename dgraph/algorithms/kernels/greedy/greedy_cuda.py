"""Greedy colouring of a whole graph on one GPU (``greedy_single.cuh``), in one round of the engine."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.single_machine import SingleMachine, single_text
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph import row_marks

ALONE_EDGES = 32
"""Edges of a row that a thread colours; as in the kernels."""

text = cache(single_text)


class GreedySingle(SingleMachine):
    """Machine for the program ``Greedy`` on one rank."""

    direction, dtype = "pull", np.int32

    def kernels(self) -> tuple[str, str]:
        """Return the kernels."""
        graph = self.graph
        return text(("greedy_single",), graph.wide, graph.degree.dtype.name, graph.original.dtype.name), "greedy"

    def solve(self) -> None:
        """Colour all vertices."""
        graph, xp, n = self.graph, self.device.xp, self.graph.local.size
        seed = self.traced.program.parameters["random_state"]
        bounds = graph.degree_bounds[0] if graph.largest > ALONE_EDGES else None
        waits, taken, following = xp.empty(n, np.uint32), xp.empty(n, np.uint32), xp.zeros(1, np.uint32)
        waiting = xp.empty((n + 31) // 32 * 32, np.uint32)

        def pass_arrays(order: Any, keys: Any) -> None:
            self.set_environment(
                graph.out.offsets, graph.out.neighbours, graph.degree, graph.original, self.column, waits, taken,
                waiting, order, keys, following, bounds, n, seed, len(order), control_block.DEGREES_BITS,
            )  # fmt: skip

        order = self._long_rows()
        if len(order):
            keys = xp.empty(len(order), np.int64)
            pass_arrays(order, keys)
            self.launch("write_keys")
            order = order[xp.argsort(keys)]
            falling = xp.subtract(graph.largest, graph.degree[order].astype(np.int64))
            order = order[xp.argsort(falling, kind="stable")]
        pass_arrays(order, None)
        self.launch("begin_colors")
        if len(order):
            self.launch("color_long")
        self.launch("color_short", together=True)

    def _long_rows(self) -> Any:
        """Return the vertices of long rows: uint32."""
        if self.graph.largest <= ALONE_EDGES:
            return self.device.xp.empty(0, np.uint32)
        return row_marks.listed(self.device, self.graph.out.offsets, ALONE_EDGES + 1)

    def arrays(self) -> dict[str, Any]:
        """Return the colours."""
        return {"color": self.column}
