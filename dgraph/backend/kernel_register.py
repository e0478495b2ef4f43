"""Register of hand-written kernels, by the name that ``Program.kernel`` gives.

``dgraph.algorithms.kernels`` enters its machines, arrays and ``.cuh`` files here, and backends look them up: they never
import an algorithm. Machines are loaded when they are first needed, since they load compilers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class Arrays(Protocol):
    """Arrays that a kernel needs on a GPU beside a machine's own."""

    def constants(self) -> str:
        """C++ constants of its files."""

    def members(self, traced: Any) -> list[tuple[str, str]]:
        """Members of ``env``: (C++ type, name)."""

    def wanted(self, traced: Any, extent: Any) -> dict[str, tuple[int, Any]]:
        """Arrays: name → length and dtype."""


@dataclass(frozen=True)
class Kernel:
    """Hand-written rounds of one kind of program. Each loader returns a class, None: there is none.

    Attributes:
        cpu: the machine on a CPU.
        cuda: the machine on one GPU.
        cuda_ranks: the machine on GPUs of several ranks.
        arrays: more arrays on a GPU.
    """

    cpu: Callable[[], Any] | None = None
    cuda: Callable[[], Any] | None = None
    cuda_ranks: Callable[[], Any] | None = None
    arrays: Callable[[], Arrays] | None = None


KERNELS: dict[str, Kernel] = {}
"""By the name that ``Program.kernel`` gives."""

FOLDERS: list[Path] = []
"""Folders of CUDA C++ files outside the GPU backend."""


def kernel_of(name: str | None) -> Kernel:
    """Return the kernel of this name; a kernel without machines where none is registered."""
    return KERNELS.get(name or "", Kernel())
