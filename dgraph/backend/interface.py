"""Interfaces of a backend and of its machines.

A :class:`Backend` creates one :class:`Machine` per program and rank; the machine holds the program's state and runs its
rounds. A :class:`SharedMachine` also runs single phases, between which ranks exchange values of mirrors. Methods that
are not abstract are optional, and their defaults stand for "none".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph.backend.round_stats import RoundStats, Spent
from dgraph.backend.snapshot import Snapshot
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph

NO_BUCKET = np.iinfo(np.int64).max
"""Bucket number above all others: no vertex waits."""


class Machine(ABC):
    """State and rounds of one program on one rank; sufficient for a graph on a single rank.

    Attributes:
        traced: the program.
        state: field → values by lid, masters before mirrors; NumPy arrays, or objects that are indexed and assigned
            like them.
        minima: number of integers at the end of :meth:`totals` that ranks reduce by minimum instead of sum.
    """

    traced: Traced
    state: Mapping[str, Any]
    minima = 0
    first_arcs = 1 << 24
    """Arcs that fused rounds may visit before the first check for signals and cancellation: a tenth of a second."""

    @property
    def compiling(self) -> float:
        """Seconds spent on compilation so far; a GPU compiles a schedule when a round first uses it."""
        return 0.0

    @property
    @abstractmethod
    def direction(self) -> str:
        """Direction of the next round: "push" or "pull"."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """True if the program has ended."""

    @property
    @abstractmethod
    def round(self) -> int:
        """Number of finished rounds."""

    @property
    @abstractmethod
    def total_active(self) -> int:
        """Vertices in the next frontier, over all ranks."""

    @property
    @abstractmethod
    def total_edges(self) -> int:
        """Out-edges of the next frontier, over all ranks."""

    @property
    def bucket(self) -> int:
        """Bucket that the rounds are in; its number is the highest of those opened last."""
        return 0

    @property
    @abstractmethod
    def compiled(self) -> bool:
        """True if the machine code is available, so that :meth:`compile` only loads it."""

    @abstractmethod
    def compile(self) -> None:
        """Compile everything that the rounds call, or load it from the cache folder; called before :meth:`start`."""

    @abstractmethod
    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Run ``init`` on masters and set mirrors to identities.

        Args:
            given: initial values of the masters for fields declared with ``given=True``.
        """

    def begin(self) -> None:  # noqa: B027 - most machines have nothing to do
        """Prepare the first round of a sparse program; mirrors already hold the values that edges read."""

    @abstractmethod
    def fused(self, limit: int) -> int:
        """Run whole rounds of a graph without mirrors; return their number.

        Args:
            limit: most rounds to run; no more are run than :meth:`figures` keeps.
        """

    @abstractmethod
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's part of the round's totals: int64 [active, edges, sums …, minima …], and float64 sums."""

    @abstractmethod
    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Run ``step`` on the reduced totals of all ranks; sets globals, the end and the next direction.

        Args:
            integers: reduced integers of :meth:`totals`.
            floats: reduced float sums.
            starting: True after :meth:`start`, False after a round.
        """

    @abstractmethod
    def figures(self, first: int) -> np.ndarray:
        """Return figures of the fused rounds from ``first`` on, or of the last ones if there are too many.

        Returns:
            int64 (rounds, 3): frontier vertices, frontier edges, and 1 if the round pulled.
        """

    @abstractmethod
    def fields(self) -> Mapping[str, np.ndarray]:
        """Return the masters' values of every field by name; values on a GPU are copied when they are read."""

    @abstractmethod
    def globals(self) -> dict[str, int | float]:
        """Return the values of the globals by name, equal on every rank."""

    @abstractmethod
    def restore(self, kept: Snapshot) -> None:
        """Resume from a snapshot; call it after :meth:`start` and before the first round."""

    def snapshot(self) -> Snapshot | None:
        """Return the state between two rounds, or None, on all ranks alike, if the machine cannot stop here."""
        return None

    @property
    def waiting(self) -> int:
        """Vertices in the far bucket, stale entries included; 0 for programs without ``priority``."""
        return 0

    def lowest_bucket(self) -> int:
        """Return the lowest bucket in which a vertex waits; :data:`NO_BUCKET` if none does."""
        return NO_BUCKET

    def open_bucket(self, bucket: int) -> None:  # noqa: B027, without buckets there is nothing to do
        """Move the vertices that wait in ``bucket`` to the frontier."""

    def exchange(self, comm: Comm, plans: Mapping[str, Any], record: Any) -> Any:
        """Return an exchange of this backend that replaces ``dgraph/engine/sync``, or None; collective.

        Args:
            comm: communicator of the run.
            plans: direction → synchronisation plan.
            record: recorder of times and bytes.
        """
        return None

    def notes(self) -> list[RoundStats]:
        """Return statistics of the rounds since the last call; empty unless recording is on."""
        return []

    def spent(self) -> list[Spent]:
        """Return the time of each kernel so far; empty unless it is measured."""
        return []

    def tasks(self) -> dict[str, float]:
        """Return figures of a schedule's task queues by name; empty unless they are recorded."""
        return {}


class SharedMachine(Machine):
    """Machine that also runs single phases, between which ranks exchange the values of shared vertices.

    Attributes:
        dirties: True if values of inactive masters may need a broadcast.
        mirrors_current: True if mirrors hold their masters' values when rounds begin.
    """

    dirties: bool
    mirrors_current = False

    @abstractmethod
    def edge(self) -> None:
        """Run one edge phase; :meth:`take_mirrors` then returns the mirrors with proposals."""

    @abstractmethod
    def vertex(self) -> None:
        """Run one vertex phase; :meth:`frontier` then returns the active masters."""

    @abstractmethod
    def frontier(self) -> np.ndarray:
        """Return the lids of active masters, uint32."""

    @abstractmethod
    def dirty(self) -> np.ndarray:
        """Return the lids of masters to broadcast: active, or with a changed field that edges read."""

    @abstractmethod
    def take_mirrors(self) -> np.ndarray:
        """Return the lids of mirrors that got a proposal in this round, and clear their flags."""

    @abstractmethod
    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Combine proposals of mirrors into the masters ``lids[positions]``.

        Args:
            lids: lids of masters, in the order agreed with the sending rank.
            positions: positions in ``lids``, one per proposal.
            values: proposed values, one array per proposed field.
        """

    @abstractmethod
    def join(self, lids: np.ndarray) -> None:
        """Add mirrors to the frontier."""

    @abstractmethod
    def reset(self, lids: np.ndarray | slice) -> None:
        """Set sent accumulators back to their identity; those of idempotent monoids keep their values."""


class Backend(ABC):
    """Execution of programs on one rank: CPU threads or a GPU.

    Attributes:
        name: key in ``dgraph.backend.BACKENDS``.
        threads: threads of this rank.
        reason: why that many threads, or which GPU.
        why: why this backend was chosen.
        warning: message for the user, or "".
        keeps: True if it holds data of a graph that saves time in the next run.
        compiles_in_parallel: True if one process compiles several programs at a time.
        transport, share: as of :class:`~dgraph.Cuda`, for a backend that is the device of a graph.
    """

    name: str
    threads: int
    reason: str
    warning: str
    keeps = compiles_in_parallel = False
    transport, share = "auto", False
    why = ""

    def prepare(self, local: LocalGraph, comm: Comm) -> None:
        """Make the decisions about a graph that must be equal on all ranks; collective."""
        return

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

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None] | None:
        """Return a call that compiles a later program without allocating its arrays, or None."""
        return None

    def build(self, spec: str, comm: Comm, policy: str, options: LoadOptions) -> Graph:
        """Generate the graph ``NAME:SIZE…`` on the devices and partition it there; collective.

        Raises:
            UsageError: the backend cannot build graphs, or not this one.
        """
        raise UsageError("--build device is about GPUs, and this run has none; leave it out, or give --backend cuda")

    @property
    def put(self) -> Callable[[np.ndarray], Any] | None:
        """Function that copies an array to this rank's GPU; None if there is no GPU."""
        return None

    @property
    def local_rounds(self) -> bool:
        """True if ranks run several local rounds between exchanges, for programs whose values only improve."""
        return False

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Return True if the in-edges (CSC) that a program's pull would use are worth their cost and fit in memory."""
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
