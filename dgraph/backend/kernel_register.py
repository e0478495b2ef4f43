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
        peels: GPU rounds drop vertices while edges are visited (``kcore_peel.cuh``).
    """

    cpu: Callable[[], Any] | None = None
    cuda: Callable[[], Any] | None = None
    cuda_ranks: Callable[[], Any] | None = None
    arrays: Callable[[], Arrays] | None = None
    memory: VertexMemory | None = None
    row_heads: bool = False
    phase_files: tuple[str, ...] = ()
    peels: bool = False


KERNELS: dict[str, Kernel] = {}
"""Name in ``Program.kernel`` → kernel."""

FOLDERS: list[Path] = []
"""Folders of CUDA C++ files outside the GPU backend."""


def kernel_of(name: str | None) -> Kernel:
    """Return the kernel of this name, or one without machines if none is registered."""
    return KERNELS.get(name or "", Kernel())
