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

    direction, dtype = "push", np.int32

    def __init__(self, traced: Traced, graph: DeviceGraph, device: Any, options: GpuPlan):
        super().__init__(traced, graph, device, options)
        n, xp, replicas = max(graph.local.size, 1), device.xp, graph.replicas
        self.status = xp.empty((n + 3) // 4 * 4, np.uint8)
        self.words, self.packed, self.bytes = 0, None, self.status.nbytes
        if replicas is not None:
            self.words = -(-n // (PIECE * replicas.count)) * PIECE // CODES
            self.packed = xp.empty(self.words * replicas.count, np.uint32)
            self.bytes += self.packed.nbytes

    def kernels(self) -> tuple[str, str]:
        """Return the kernels, with those that share out the first look where there are replicas."""
        graph = self.graph
        names = ("independent",) if graph.replicas is None else ("independent", "independent_shares")
        kind = graph.wide, graph.degree.dtype.name, graph.original.dtype.name
        return text(names, *kind, f"#define PIECE {PIECE // 4}"), names[-1]

    def solve(self) -> None:
        """Decide all vertices."""
        graph, replicas = self.graph, self.graph.replicas
        arrays = graph.out.offsets, graph.out.neighbours, graph.degree, graph.original, self.status, self.column
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
        return {"inside": self.column}
