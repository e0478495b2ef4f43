"""Maximal independent set of a whole graph on one GPU (``independent.cuh``), in one round of the engine."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.single_machine import SingleMachine, single_text
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import Options
from dgraph.program import Traced

SHORT = 32
"""Largest degree of a graph whose rows are always read to their ends."""

text = cache(single_text)


class IndependentSingle(SingleMachine):
    """Machine for the program ``Independent`` on one rank."""

    direction = "push"

    def __init__(self, traced: Traced, graph: DeviceGraph, device: Any, options: Options):
        super().__init__(traced, graph, device, options)
        kind = graph.wide, graph.degree.dtype.name, graph.original.dtype.name
        self.module = device.module(text("independent", *kind), "independent")
        n, xp = max(graph.local.size, 1), device.xp
        self.status, self.inside = xp.empty((n + 3) // 4 * 4, np.uint8), xp.empty(n, np.int32)

    def solve(self) -> None:
        """Decide all vertices."""
        graph, seed = self.graph, self.traced.program.parameters["random_state"]
        arrays = graph.out.offsets, graph.out.neighbours, graph.degree, graph.original, self.status, self.inside
        least_to = graph.degree_bounds[1] if graph.largest > SHORT else None
        self.set_environment(*arrays, least_to, graph.local.size, seed, control_block.DEGREES_BITS)
        self.launch("begin_set")
        self.launch("decide", together=True)
        self.launch("write_set")

    def arrays(self) -> dict[str, Any]:
        """Return the members."""
        return {"inside": self.inside}
