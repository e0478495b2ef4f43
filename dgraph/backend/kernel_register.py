"""Register of hand-written kernels, by the name that ``Program.kernel`` gives.

``dgraph.algorithms.kernels`` enters machines, arrays, memory and ``.cuh`` files here, and backends look them up: no
backend imports an algorithm or tests a kernel's name. Machines are loaded when first needed: they load compilers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class Arrays(Protocol):
    """Arrays that a kernel needs on a GPU beside a machine's own."""

    def constants(self) -> str:
        """Return C++ constants for the kernel's files."""

    def members(self, traced: Any) -> list[tuple[str, str]]:
        """Return further members of ``env`` as (C++ type, name)."""

    def wanted(self, traced: Any, extent: Any) -> dict[str, tuple[int, Any]]:
        """Return arrays as name → (length, dtype); they replace a machine's arrays of the same names."""


@dataclass(frozen=True)
class VertexMemory:
    """GPU memory of a single-GPU kernel that allocates its own arrays in place of a program's.

    Attributes:
        arrays: bytes a vertex while the kernel runs.
        result: further bytes a vertex while the answer of a renumbered graph is put back into its order.
    """

    arrays: int
    result: int


@dataclass(frozen=True)
class Kernel:
    """Hand-written rounds of one kind of program. Each loader returns a class; None: there is none.

    Attributes:
        cpu: machine on a CPU.
        cuda: machine on one GPU.
        cuda_ranks: machine on GPUs of several ranks.
        arrays: further arrays on a GPU, for every run of the program there.
        memory: memory of ``cuda`` in place of the program's arrays; None: it takes the program's arrays.
        row_heads: its GPU machines read the first neighbour of each row from a separate array.
        phase_files: ``.cuh`` files, without suffix, that ``cuda_ranks`` needs in the module of round kernels.
        multi_gpu_files: ``.cuh`` files that ``cuda_ranks`` needs in the persistent multi-GPU kernel.
        multi_gpu_walk: ``.cuh`` file with the edge phase of that kernel.
        cooperative: kernels of its files with grid barriers, which need all blocks to be resident at once.
        edges: Numba source of an edge kernel, which replaces the edge phase of a program on CPUs and leaves rounds,
            frontier, synchronisation and reports to the machine. The source follows the program's operators in its
            generated file (``backend/cpu/round/phases.py``). It defines ``push_phase``, as ``push.py`` does, and
            ``settle``, for a proposal that mirrors sent. Both update masters at once, list those that become active,
            and add to the summed globals; ``apply`` is not run. ``F_x``, ``P_x`` and ``G_x`` are the places of field,
            parameter and global ``x``.
        peels: the edge kernel of peeling on GPUs, ``kcore_peel.cuh``: rounds drop vertices while edges are visited.
    """

    cpu: Callable[[], Any] | None = None
    cuda: Callable[[], Any] | None = None
    cuda_ranks: Callable[[], Any] | None = None
    arrays: Callable[[], Arrays] | None = None
    memory: VertexMemory | None = None
    row_heads: bool = False
    phase_files: tuple[str, ...] = ()
    multi_gpu_files: tuple[str, ...] = ()
    multi_gpu_walk: str = "walking_rank"
    cooperative: tuple[str, ...] = ()
    edges: Path | None = None
    peels: bool = False


KERNELS: dict[str, Kernel] = {}
"""Name in ``Program.kernel`` → kernel."""


@dataclass(frozen=True)
class RowMemory:
    """Bytes that a kernel of whole rows takes for each vertex and arc of a rank, and in any case.

    Attributes:
        pair: bytes for each pair of a rank's own vertex and a vertex of the graph.
        whole: bytes for each vertex of the graph.
    """

    vertex: int
    arc: int
    fixed: int = 0
    pair: int = 0
    whole: int = 0

    def of(self, vertices: int, arcs: int, masters: int, n: int) -> int:
        """Return the bytes for a rank of this size, with ``masters`` vertices of its own of the graph's ``n``."""
        return self.vertex * vertices + self.arc * arcs + (self.pair * masters + self.whole) * n + self.fixed


@dataclass(frozen=True)
class RowKernel:
    """Hand-written function of whole rows, which no program expresses. Each loader returns a class.

    Attributes:
        cpu: made with a team of threads.
        cuda: made with the GPU backend.
        host: most host memory of a rank, beside the graph.
        gpu: GPU memory of a single rank, beside the graph.
        planned: stands for it where ``estimate`` runs an algorithm on a graph without edges.
        gpu_ranks: True if each of several ranks takes it on its GPU, too.
        replicated: True if ``host`` counts the vertices and arcs of the whole graph, which every rank holds.
    """

    cpu: Callable[[], Any]
    cuda: Callable[[], Any]
    host: RowMemory
    gpu: RowMemory
    planned: Callable[[], Any]
    gpu_ranks: bool = False
    replicated: bool = False


ROW_KERNELS: dict[str, RowKernel] = {}
"""Name → kernel of :meth:`~dgraph.backend.interface.Backend.row_kernel`."""

FOLDERS: list[Path] = []
"""Folders of CUDA C++ files outside the GPU backend."""


def kernel_of(name: str | None) -> Kernel:
    """Return the kernel of this name, or one without machines if none is registered."""
    return KERNELS.get(name or "", Kernel())
