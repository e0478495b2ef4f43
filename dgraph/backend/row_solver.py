"""RowSolver: hand-written solution over rows, where no program expresses it or its rounds would be slower.

Algorithms ask ``ctx.solver(name)``. A register row (``kernel_register.py``) names the solvers of a device; the first
that fits the run is taken, and where none does, the caller runs programs.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Any

from dgraph.program import Program


@dataclass(frozen=True)
class RowSize:
    """Sizes that the memory of a solver depends on.

    Attributes:
        n: vertices of the whole graph.
        m: arcs of the whole graph.
        vertices: vertices of this rank's part, mirrors included.
        arcs: arcs of this rank's part.
        masters: vertices that this rank owns.
        threads: threads of this rank.
    """

    n: int
    m: int
    vertices: int
    arcs: int
    masters: int
    threads: int = 1

    @classmethod
    def whole(cls, n: int, arcs: int) -> RowSize:
        """Return the sizes of a graph that is whole on one rank."""
        return cls(n, arcs, n, arcs, n)


class RowSolver(ABC):  # noqa: B024 - solvers take different arguments
    """Base of solvers; ``solve(ctx, …)`` returns the answer, and is collective.

    Args:
        backend: of this rank. A solver on the host needs its threads alone, which a rank with a GPU has, too.
    """

    programs: tuple[Program, ...] = ()
    """Programs that it runs on GPUs, or that may run in its place; ``estimate`` plans them, and ``bytes`` does not."""

    vertex_bytes = 0
    """Bytes that it takes for each vertex of a rank's part, where this alone decides."""

    def __init__(self, backend: Any):
        self.backend = backend

    def fits(self, ctx: Any) -> bool:
        """Return True if the solver can serve this run; equal on all ranks, collective."""
        return True

    @classmethod
    def bytes(cls, size: RowSize) -> int:
        """Return the most bytes that it takes beside the graph, with the columns of its answer, on a rank's device.

        The run refuses by it what does not fit, and ``estimate`` plans with it.
        """
        return cls.vertex_bytes * size.vertices
