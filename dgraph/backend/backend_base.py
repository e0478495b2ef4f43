"""Interface of a backend: it creates one machine (``interface.py``) per program and rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.graph_replica import GraphReplica
from dgraph.backend.interface import Machine
from dgraph.backend.row_solver import RowSolver
from dgraph.comm import Comm
from dgraph.errors import UsageError, option
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph
from dgraph.graph.reversed_graph import in_degrees, reversed_graph
from dgraph.program import Traced

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph


class Backend(ABC):
    """Execution of programs on one rank: CPU threads or a GPU.

    Attributes:
        name: key in ``dgraph.backend.BACKENDS``.
        threads: threads of this rank.
        host_threads: threads that copy and write results.
        reason: why that many threads, or which GPU.
        why: why this backend was chosen.
        warning: message for the user, or "".
        keeps: True if it holds data of a graph that saves time in the next run.
        repeats: True if a kept machine may start before the ranks have agreed that all have theirs.
        few_rounds: True if few rounds over many edges cost less than many over few.
        compiles_in_parallel: True if one process compiles several programs at a time.
        transport, share: as of :class:`~dgraph.Cuda`, for a backend that is the device of a graph.
        schedule: schedule that the user named, or "auto".
    """

    name: str
    threads: int
    host_threads = 1
    reason: str
    warning: str
    keeps = repeats = compiles_in_parallel = few_rounds = False
    transport, share = "auto", False
    schedule = "auto"
    why = ""

    @property
    def remark(self) -> str:
        """For the report, why kernels of a run are not optimised, or ""."""
        return ""

    def optimise(self) -> None:
        """Begin to optimise, for later runs, what this run took quickly compiled; called at its end."""
        return

    def prepare(self, local: LocalGraph, comm: Comm) -> None:
        """Make the decisions about a graph that must be equal on all ranks; collective."""
        return

    def upload(self, local: LocalGraph) -> None:
        """Copy a graph to this rank's GPU, if it is not there, as the next run of a program would.

        Raises:
            OutOfMemory: it does not fit.
        """
        return

    def reversed(self, local: LocalGraph, comm: Comm) -> LocalGraph:
        """Return the partition of the reversed graph, made at first use; collective."""
        return reversed_graph(local, comm)

    def in_degrees(self, local: LocalGraph, comm: Comm) -> np.ndarray:
        """Return the in-degrees of masters and mirrors, in the whole graph; collective."""
        on_device = hasattr(local.out, "built")
        return self.reversed(local, comm).out_degree if on_device else in_degrees(local, comm)

    @abstractmethod
    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Machine:
        """Return a machine for one program on this rank's graph, a :class:`SharedMachine` if ranks share vertices.

        Args:
            traced: the program.
            local: this rank's part of the graph.
            direction: "auto", "push", "pull" or "flip".

        Raises:
            UsageError: the backend cannot run the program, or has too little memory for it.
        """

    def repeated(self, traced: Traced, local: LocalGraph, direction: str) -> Machine | None:
        """Return the machine that an earlier run kept, if it may start at once on this rank; not collective."""
        return None

    def replica(self, local: LocalGraph, comm: Comm, kernel: str) -> GraphReplica | str:
        """Return the whole graph on this device for a registered kernel, or why it is not there, or ""; collective."""
        return ""

    @abstractmethod
    def solvers(self, name: str) -> Iterator[RowSolver]:
        """Yield the solvers of a registered name on this rank's device, the preferred one first."""

    opened: tuple | None = None
    """Device, options and ranks of the last run, its GPU, choices and warnings for the report, and this rank's index on
    its node: the next run may ask for the same."""

    def reopen(self) -> None:  # noqa: B027 - only backends that are kept between runs
        """Prepare a backend that is kept for the next run, which asks for the same."""

    def keep(self, machine: Machine, local: LocalGraph) -> None:  # noqa: B027 - a backend may keep none
        """Take back a machine whose run has ended, for the next run of its program on the same graph."""

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None] | None:
        """Return a call that compiles a later program without allocating its arrays, or None."""
        return None

    def build(self, spec: str, comm: Comm, policy: str, options: LoadOptions) -> Graph:
        """Generate the graph ``NAME:SIZE…`` on the devices and partition it there; collective.

        Raises:
            UsageError: the backend cannot build graphs, or not this one.
        """
        build, gpus = option("build", "device"), option("backend", "cuda")
        raise UsageError(f"{build} is about GPUs, and this run has none; leave it out, or give {gpus}")

    def evidence(self, graph: Graph, local: LocalGraph, algorithm: str) -> Any:
        """Return the input of certificates (``dgraph.validate``) for an algorithm that ran on ``local``."""
        return graph.evidence

    @property
    def put(self) -> Callable[[np.ndarray], Any] | None:
        """Function that copies an array to this rank's GPU; None if there is no GPU."""
        return None

    @property
    def local_rounds(self) -> bool | None:
        """True if ranks run several rounds between exchanges, where values only improve; None: on some graphs."""
        return None

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if the in-edges (CSC) that a program's pull would use are worth their cost and fit in memory."""
        return False

    def answers_at_once(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if a program would neither compile nor load machine code, because graph and runs are small."""
        return False

    @property
    def ranges(self) -> Any:
        """Named ranges for a profiler, with methods ``push`` and ``pop``; None if none is attached."""
        return None

    def release(self) -> None:
        """Give back the memory that graphs of earlier runs take on the device."""
        return

    def leave(self) -> None:
        """Undo what a run changed for the whole process."""
        return

    def memory(self) -> dict[str, int | bool] | None:
        """Return the device memory that the run used, in bytes by name; None without a device."""
        return None
