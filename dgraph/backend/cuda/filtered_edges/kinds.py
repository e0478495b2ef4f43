"""Register of the machines that walk edges: to add a fast path, write a class with ``serves`` and enter it here."""

from __future__ import annotations

from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.filtered_edges.edge_filter import FilteredMachine
from dgraph.backend.cuda.filtered_edges.light_edges import LightEdgesMachine
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.program import Traced

KINDS: tuple[type[GpuMachine], ...] = (LightEdgesMachine, FilteredMachine, GpuMachine)
"""Machines, the most special first."""


def kind_of(traced: Traced, extent: GraphSize, options: GpuPlan, pulls: bool) -> type[GpuMachine]:
    """Return the first machine that serves a program on a graph of this size."""
    return next(kind for kind in KINDS if kind.serves(traced, extent, options, pulls))
