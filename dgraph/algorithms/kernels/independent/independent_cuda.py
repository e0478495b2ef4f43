"""Maximal independent set of a whole graph on one GPU (``independent.cuh``), in one round of the engine.

GPUs with replicas of the graph share out the first look at all vertices, which decides most of them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from dgraph.algorithms.kernels.single_machine import SingleMachine, single_text
from dgraph.backend.cuda.codegen import control_block
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.program import Traced

SHORT = 32
"""Largest degree of a graph whose rows are always read to their ends."""

PIECE = 4096
"""Successive vertices of a share."""

CODES = 16
"""Vertices of a packed word."""

text = cache(single_text)


class IndependentSingle(SingleMachine):
    """Machine for the program ``Independent`` on one rank."""

    direction = "push"

    def __init__(self, traced: Traced, graph: DeviceGraph, device: Any, options: GpuPlan):
        super().__init__(traced, graph, device, options)
        kind = graph.wide, graph.degree.dtype.name, graph.original.dtype.name
        n, xp, replicas = max(graph.local.size, 1), device.xp, graph.replicas
        names = ("independent",) if replicas is None else ("independent", "independent_shares")
        self.module = device.module(text(names, *kind, f"#define PIECE {PIECE // 4}"), names[-1])
        self.status, self.inside = xp.empty((n + 3) // 4 * 4, np.uint8), xp.empty(n, np.int32)
        self.words, self.packed = 0, None
        if replicas is not None:
            self.words = -(-n // (PIECE * replicas.count)) * PIECE // CODES
            self.packed = xp.empty(self.words * replicas.count, np.uint32)

    def solve(self) -> None:
        """Decide all vertices."""
        graph, replicas = self.graph, self.graph.replicas
        arrays = graph.out.offsets, graph.out.neighbours, graph.degree, graph.original, self.status, self.inside
        least_to = graph.degree_bounds[1] if graph.largest > SHORT else None
        numbers = graph.local.size, self.traced.program.parameters["random_state"], control_block.DEGREES_BITS
        share = (0, 1) if replicas is None else (replicas.number, replicas.count)
        self.set_environment(*arrays, least_to, self.packed, *numbers, *share, self.words)
        self.launch("begin_set")
        if replicas is not None:
            self.launch("decide_share")
            self.launch("pack_share")
            replicas.spread(self.packed)
            self.launch("unpack_shares")
        self.launch("decide", together=True)
        self.launch("write_set")

    def arrays(self) -> dict[str, Any]:
        """Return the members."""
        return {"inside": self.inside}
