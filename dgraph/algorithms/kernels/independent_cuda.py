"""Maximal independent set of a whole graph on one GPU (``independent.cuh``), in one round of the engine.

GPUs with replicas of the graph share out the first passes, which decide most vertices.
"""

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

PASSES = 2
"""Passes that GPUs share out; each decides what is left by itself then."""

SWEEPS = 4
"""Times that a GPU looks at its undecided vertices in a pass."""

PIECE = 4096
"""Successive vertices of a share; four times that of ``independent.cuh``."""

CODES = 16
"""Vertices of a packed word."""

text = cache(single_text)


class IndependentSingle(SingleMachine):
    """Machine for the program ``Independent`` on one rank."""

    direction = "push"

    def __init__(self, traced: Traced, graph: DeviceGraph, device: Any, options: Options):
        super().__init__(traced, graph, device, options)
        kind = graph.wide, graph.degree.dtype.name, graph.original.dtype.name
        self.module = device.module(text("independent", *kind), "independent")
        n, xp, replicas = max(graph.local.size, 1), device.xp, graph.local.replicas
        self.status, self.inside = xp.empty((n + 3) // 4 * 4, np.uint8), xp.empty(n, np.int32)
        self.words, self.packed = 0, None
        if replicas is not None:
            self.words = -(-n // (PIECE * replicas.count)) * PIECE // CODES
            self.packed = xp.empty(self.words * replicas.count, np.uint32)

    def solve(self) -> None:
        """Decide all vertices."""
        replicas = self.graph.local.replicas
        self._share(0, 1)
        self.launch("begin_set")
        if replicas is not None:
            self._share(replicas.number, replicas.count)
            for _ in range(PASSES):
                self.launch("decide", SWEEPS, together=True)
                self.launch("pack_share")
                replicas.spread(self.packed)
                self.launch("unpack_shares")
            self._share(0, 1)
        self.launch("decide", together=True)
        self.launch("write_set")

    def _share(self, number: int, count: int) -> None:
        """Pass arrays and numbers to the kernels, which decide one share of ``count``."""
        graph, seed = self.graph, self.traced.program.parameters["random_state"]
        arrays = graph.out.offsets, graph.out.neighbours, graph.degree, graph.original, self.status, self.inside
        least_to = graph.degree_bounds[1] if graph.largest > SHORT else None
        numbers = graph.local.size, seed, control_block.DEGREES_BITS, number, count, self.words
        self.set_environment(*arrays, least_to, self.packed, *numbers)

    def arrays(self) -> dict[str, Any]:
        """Return the members."""
        return {"inside": self.inside}
