"""GPU memory that a run needs on each rank, by the formulas with which the backend plans before it allocates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from dgraph.backend import wire
from dgraph.backend.cuda.device_graph.graph_size import WIDE, GraphSize
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build.build_kernels import gid_dtype
from dgraph.backend.cuda.graph_build.build_memory import building
from dgraph.backend.cuda.memory.memory_plan import for_graph, for_kernel, for_rounds
from dgraph.backend.kernel_register import Solver, kernel_of
from dgraph.backend.row_solver import RowSize
from dgraph.backend.schedule_options import parse_schedule
from dgraph.program import Traced, trace
from dgraph.tools.estimate.shape import Shape

CONTEXT = 800 << 20
"""Bytes of driver and machine code: 530 to 820 MiB on an H200, depending on the loaded kernels."""

MULTIPROCESSORS = 132
"""Multiprocessors of an H200; only the size of a run's load record depends on it."""


@dataclass(frozen=True)
class GpuBytes:
    """Maximum bytes on one rank's GPU, for the most demanding of several programs.

    Attributes:
        upload: while the graph is copied and vertices are renumbered by degree, or while it is built on the GPU.
        graph: rows that stay.
        incoming: derived copies of edges, or the memory to make them if that is more: in-edges of a directed graph
            that is pulled, light edges, first neighbours, or bins of propagation blocking.
        state: fields, frontiers and worklists of a program, and the result while it is reordered.
        messages: exchange buffers for peer access; without peer access they take twice as much.
    """

    upload: int
    graph: int
    incoming: int
    state: int
    messages: int

    @property
    def peak(self) -> int:
        """Maximum bytes of arrays at one time."""
        return max(self.upload, self.graph + self.incoming + self.state + self.messages)

    @property
    def whole(self) -> int:
        """Bytes that the GPU must have: arrays and driver."""
        return self.peak + CONTEXT

    def facts(self) -> dict[str, Any]:
        """Return the plan as JSON-able data."""
        return asdict(self) | {"peak": self.peak, "whole": self.whole}


def on_gpu(
    programs: Sequence[tuple[Traced, str]], shape: Shape, masters: int, mirrors: int, arcs: int, ranks: int,
    limit: int | None = None, drawn: bool = False, sifted: bool = True,
    rows: Sequence[Solver] = (), direction: str = "auto", schedule: str = "auto",
) -> GpuBytes:  # fmt: skip
    """Make the plan of one rank.

    Args:
        programs: programs of the algorithm, each with its direction.
        shape: the graph.
        masters: vertices of the rank.
        mirrors: mirrors of the rank.
        arcs: arcs of the rank.
        ranks: number of ranks.
        limit: bytes of the GPU; if renumbering by degree does not fit, vertices keep their order.
        drawn: the graph is built on the GPU (``--build device``).
        sifted: derived copies of edges are allowed; they are dropped if ``limit`` leaves no room.
        rows: solvers of rows that the algorithm asks for.
        direction: of the programs that these run.
        schedule: as of a run; arrays of its own are part of ``state``.

    Raises:
        UsageError: an unknown schedule or option.
    """
    chosen = GpuPlan(**parse_schedule(schedule))
    extent = GraphSize(
        masters + mirrors, arcs,
        weight=shape.weight,
        directed=shape.directed,
        masters=masters,
        peers=ranks - 1,
        chunks=(mirrors >> wire.GPU.chunk_bits) + ranks - 1,
        shared=mirrors,
        positions=mirrors,
        renumbered=shape.skewed if chosen.renumber is None else chosen.renumber,
        wide=arcs >= WIDE,
    )  # fmt: skip
    solvers = [solver.load("gpu" if ranks == 1 else "gpus") for solver in rows]
    rank = RowSize(shape.n, shape.arcs, extent.size, arcs, masters)
    plans = [replace(for_graph(extent), arrays=kind.bytes(rank) if kind else 0) for kind in solvers]
    weight = {0: None, 4: np.dtype(np.int32), 8: np.dtype(np.int64)}.get(shape.weight)
    own = [(trace(program, weight), direction) for kind in solvers if kind for program in kind.programs]
    programs = [*programs, *own]
    for traced, direction in programs:
        free = direction == "auto" and not shape.directed and chosen.schedule == "auto"
        kernel = kernel_of(traced.program.kernel)
        walks = not (free and (kernel.cuda if ranks == 1 else kernel.cuda_ranks))
        allocates = ranks == 1 and kernel.memory is not None and not walks
        options, traversal = chosen, traced.program.traversal
        options = options.under(traversal) if traversal else options
        options = options if sifted else options.without_edge_copies()
        plans.append(
            for_kernel(kernel, extent) if allocates else for_rounds(traced, extent, direction, options, MULTIPROCESSORS)
        )
    plans = plans or [for_graph(extent)]  # an algorithm that reads lengths of rows alone
    most = max(plans, key=lambda one: one.rounds)
    beside = most.rounds - most.graph - most.arrays - most.result
    upload = most.upload
    if drawn:
        upload = building(
            shape.n, extent.size, arcs, ranks,
            ids=gid_dtype(shape.n)[0].itemsize, weight=shape.weight, renumbered=extent.renumbered,
            group=max(masters, mirrors // max(ranks - 1, 1)),
        )  # fmt: skip
    graph, incoming = most.graph, max(beside, 0)
    if shape.directed and any(traced.program.reverse for traced, _ in programs):
        incoming = max(incoming, extent.rows)
        graph += 4 * extent.size if drawn else graph + incoming  # reversed: in-degrees, or a graph of its own
    plan = GpuBytes(
        upload=upload,
        graph=graph,
        incoming=incoming,
        state=most.arrays + most.result,
        messages=max(one.messages for one in plans),
    )
    if sifted and limit is not None and plan.whole > limit:
        other = on_gpu(
            programs, shape, masters, mirrors, arcs, ranks, limit, drawn, sifted=False, rows=rows, schedule=schedule
        )
        if other.whole < plan.whole:
            return other
    taken = max(upload, most.rounds, for_graph(extent).numbering if ranks > 1 and not drawn else 0)
    if extent.renumbered and limit is not None and taken + CONTEXT > limit:
        even = replace(shape, skewed=False)
        return on_gpu(programs, even, masters, mirrors, arcs, ranks, drawn=drawn, rows=rows, schedule=schedule)
    return plan
