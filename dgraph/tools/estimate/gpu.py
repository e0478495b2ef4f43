"""What a run will need of a GPU's memory on each rank: the formulas by which the backend plans before it allocates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dgraph.backend.cuda.codegen.message_layout import CHUNK_BITS
from dgraph.backend.cuda.device_graph.graph_size import WIDE, GraphSize
from dgraph.backend.cuda.gpu_options import Options
from dgraph.backend.cuda.graph_build.build_kernels import gid_dtype
from dgraph.backend.cuda.graph_build.build_memory import building
from dgraph.backend.cuda.memory.memory_plan import for_components, for_rounds
from dgraph.program import Traced
from dgraph.tools.estimate.shape import Shape

CONTEXT = 800 << 20
"""Bytes that the driver and machine code take: 530 to 820 MiB on an H200, by the kernels that were loaded."""

MULTIPROCESSORS = 132
"""Of an H200; what is recorded of a run depends on it, and nothing else."""


@dataclass(frozen=True)
class GpuPlan:
    """Bytes on one rank's GPU, at most; of several programs those of the most demanding one.

    Attributes:
        upload: while the graph is brought there and vertices are numbered by degree; or while it is built there.
        graph: the rows that stay.
        incoming: edges by target, where a directed graph is pulled, edges in two parts, light ones, and rows' first
            neighbours, or all by tiles of targets; while they are made, if that is more.
        state: fields, frontiers and worklists of a program, and an answer that is put into order.
        messages: buffers of the exchange, where GPUs reach each other; else twice as much.
    """

    upload: int
    graph: int
    incoming: int
    state: int
    messages: int

    @property
    def peak(self) -> int:
        """The most that arrays take at once."""
        return max(self.upload, self.graph + self.incoming + self.state + self.messages)

    @property
    def whole(self) -> int:
        """What the GPU must have: arrays, and what the driver takes."""
        return self.peak + CONTEXT

    def facts(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"peak": self.peak, "whole": self.whole}


def on_gpu(
    programs: Sequence[tuple[Traced, str]], shape: Shape, masters: int, mirrors: int, arcs: int, ranks: int,
    limit: int | None = None, drawn: bool = False, entered: int = 0, sifted: bool = True,
) -> GpuPlan:  # fmt: skip
    """The plan of a rank with so many masters, mirrors and arcs.

    Args:
        programs: what the algorithm runs, each with its direction.
        limit: bytes of the GPU: where numbering vertices by degree does not fit, they keep their numbers.
        drawn: the graph is built there (``--build device``).
        entered: mirrors that edges lead into, where rounds may be pushed in two parts (``--overlap``).
        sifted: edges may be copied, some into rows of their own, or all by tiles; not where ``limit`` leaves no room.
    """
    extent = GraphSize(
        masters + mirrors, arcs,
        weight=shape.weight,
        directed=shape.directed,
        masters=masters,
        peers=ranks - 1,
        chunks=(mirrors >> CHUNK_BITS) + ranks - 1,
        shared=mirrors,
        positions=mirrors,
        entered=entered,
        renumbered=shape.skewed,
        wide=arcs >= WIDE,
    )  # fmt: skip
    plans = []
    for traced, direction in programs:
        free = direction == "auto" and not shape.directed
        hooks = traced.program.kernel == "components" and ranks == 1 and free
        walks = not (free and traced.program.kernel in ("components", "estimates"))
        options, traversal = Options(overlap=entered > 0 and walks), traced.program.traversal
        options = options.under(traversal) if traversal else options
        options = options if sifted else options.unsifted()
        plans.append(
            for_components(extent) if hooks else for_rounds(traced, extent, direction, options, MULTIPROCESSORS)
        )
    most = max(plans, key=lambda one: one.rounds)
    beside = most.rounds - most.graph - most.arrays - most.result
    upload = most.upload
    if drawn:
        upload = building(
            shape.n, extent.size, arcs, ranks,
            ids=gid_dtype(shape.n)[0].itemsize, weight=shape.weight, renumbered=extent.renumbered,
            group=max(masters, mirrors // max(ranks - 1, 1)),
        )  # fmt: skip
    found = GpuPlan(
        upload=upload,
        graph=most.graph,
        incoming=max(beside, 0),
        state=most.arrays + most.result,
        messages=max(one.messages for one in plans),
    )
    if sifted and limit is not None and found.whole > limit:
        other = on_gpu(programs, shape, masters, mirrors, arcs, ranks, limit, drawn, entered, sifted=False)
        if other.whole < found.whole:
            return other
    if extent.renumbered and limit is not None and max(upload, most.rounds if drawn else 0) + CONTEXT > limit:
        return on_gpu(
            programs, replace(shape, skewed=False), masters, mirrors, arcs, ranks, drawn=drawn, entered=entered
        )
    return found
