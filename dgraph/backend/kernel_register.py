"""Register of hand-written kernels, by the name that ``Program.kernel`` gives.

A package of kernels lists its rows as ``KERNELS`` in its ``__init__.py``, and :func:`enter` puts them here, where
backends look them up: no backend imports an algorithm or tests a kernel's name. A row names classes as
``"module:Class"``, relative to its package. They are imported when first needed: they load compilers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Protocol


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


@cache
def _loaded(package: str, place: str) -> Any:
    """Return a module of a package, or with ``:Class`` an attribute of it."""
    name, _, attribute = place.partition(":")
    module = import_module(f".{name}", package)
    return attrgetter(attribute)(module) if attribute else module


@dataclass(frozen=True)
class Row:
    """Row of the register.

    Attributes:
        name: its key.
        package: package that lists it; :func:`enter` sets it.
        PARTS: names of the attributes that name a class or a module; "": there is none.
    """

    PARTS: ClassVar[tuple[str, ...]]
    name: str
    package: str = ""

    def load(self, part: str) -> Any:
        """Return the class or module that a part names; None: there is none."""
        place = getattr(self, part)
        return _loaded(self.package, place) if place else None

    @property
    def folder(self) -> Path:
        """Folder of the package."""
        return Path(import_module(self.package).__path__[0])

    def folders(self) -> set[Path]:
        """Return the folders of the package and of the modules that the row names."""
        modules = (getattr(self, part).partition(":")[0] for part in self.PARTS)
        return {self.folder, *(self.folder.joinpath(*name.split(".")).parent for name in modules if name)}


@dataclass(frozen=True)
class Kernel(Row):
    """Hand-written rounds of one kind of program.

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
        edges: file of an edge kernel in Numba, which replaces the edge phase of a program on CPUs and leaves rounds,
            frontier, synchronisation and reports to the machine. The source follows the program's operators in its
            generated file (``backend/cpu/round/phases.py``). It defines ``push_phase``, as ``push.py`` does, and
            ``settle``, for a proposal that mirrors sent. Both update masters at once, list those that become active,
            and add to the summed globals; ``apply`` is not run. ``F_x``, ``P_x`` and ``G_x`` are the places of field,
            parameter and global ``x``.
        peels: the edge kernel of peeling on GPUs, ``kcore_peel.cuh``: rounds drop vertices while edges are visited.
    """

    PARTS = ("cpu", "cuda", "cuda_ranks", "arrays")
    cpu: str = ""
    cuda: str = ""
    cuda_ranks: str = ""
    arrays: str = ""
    memory: VertexMemory | None = None
    row_heads: bool = False
    phase_files: tuple[str, ...] = ()
    multi_gpu_files: tuple[str, ...] = ()
    multi_gpu_walk: str = "walking_rank"
    cooperative: tuple[str, ...] = ()
    edges: str = ""
    peels: bool = False

    @property
    def edge_source(self) -> Path:
        """File of the edge kernel."""
        return self.folder / self.edges


KERNELS: dict[str, Kernel] = {}
"""Name in ``Program.kernel`` → kernel."""


@dataclass(frozen=True)
class Solver(Row):
    """Classes of a :class:`~dgraph.backend.row_solver.RowSolver` by device.

    Attributes:
        cpu: on a rank's threads, with or without a GPU; "": programs take its place.
        gpu: on one GPU that holds the whole graph; "": ``cpu`` does.
        gpus: on several ranks with a GPU each; "": ``cpu`` does.
        beside_gpu: False: a rank with a GPU does not take ``cpu``.
    """

    PARTS = ("cpu", "gpu", "gpus")
    cpu: str = ""
    gpu: str = ""
    gpus: str = ""
    beside_gpu: bool = True


SOLVERS: dict[str, Solver] = {}
"""Name → solver of :meth:`~dgraph.engine.rounds.context.Context.solver`."""

FOLDERS: set[Path] = set()
"""Folders of CUDA C++ files outside the GPU backend: those of modules that rows name."""


def enter(package: ModuleType) -> None:
    """Enter the rows that a package lists as ``KERNELS``, if it does."""
    for listed in getattr(package, "KERNELS", ()):
        row = replace(listed, package=package.__name__)
        register: dict[str, Any] = KERNELS if isinstance(row, Kernel) else SOLVERS
        register[row.name] = row
        FOLDERS.update(row.folders())


NO_KERNEL = Kernel("")
"""The kernel of programs that name none."""


def kernel_of(name: str | None) -> Kernel:
    """Return the kernel of this name, or one without machines if none is registered."""
    return KERNELS.get(name or "", NO_KERNEL)
