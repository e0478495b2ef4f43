"""The contract of a backend, and of the machine that it gives a program on one rank's graph.

What is not abstract is optional: its default says that there is nothing of the kind.
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
"""A number past every bucket."""


class Machine(ABC):
    """One program's rounds on one rank, as many a call as it likes: all that a graph on a single rank asks for.

    Attributes:
        state: field → values by lid, masters before mirrors; NumPy arrays, or what can be indexed and assigned so.
        minima: how many of the last integers of :meth:`totals` are the least over ranks, and no sums.
    """

    traced: Traced
    state: Mapping[str, Any]
    minima = 0

    @property
    def compiling(self) -> float:
        """Seconds that machine code took by now: a GPU's of a schedule is made when a round takes it first."""
        return 0.0

    @property
    @abstractmethod
    def direction(self) -> str:
        """Of the next round: push or pull."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the program's own end was reached."""

    @property
    @abstractmethod
    def round(self) -> int:
        """Rounds finished."""

    @property
    @abstractmethod
    def total_active(self) -> int:
        """Masters in the next frontier, on all ranks."""

    @property
    @abstractmethod
    def total_edges(self) -> int:
        """Edges that leave them, in the whole graph."""

    @property
    def bucket(self) -> int:
        """The lowest bucket that was opened last."""
        return 0

    @property
    @abstractmethod
    def compiled(self) -> bool:
        """Whether :meth:`compile`, which is called before the start, finds the program's machine code."""

    @abstractmethod
    def compile(self) -> None:
        """Compile, or load from the cache folder, everything that the rounds will call."""

    @abstractmethod
    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """``init`` on masters; mirrors get identities. ``given``: initial masters' values of fields declared so."""

    def begin(self) -> None:  # noqa: B027 - most machines have nothing to do
        """Before the first round of a sparse program, when mirrors hold what edges read."""

    @abstractmethod
    def fused(self, limit: int) -> int:
        """Up to ``limit`` whole rounds of a graph without mirrors, no more than :meth:`figures` remembers; how many."""

    @abstractmethod
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """This rank's part of the round's totals: integers [active, edges, sums …, minima …], float sums."""

    @abstractmethod
    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Take in the totals of all ranks: ``step``, the end, the next direction."""

    @abstractmethod
    def figures(self, first: int) -> np.ndarray:
        """Of fused rounds from ``first`` on, the last ones if many: frontier vertices, frontier edges, whether it
        pulled; int64 (rounds, 3)."""

    @abstractmethod
    def fields(self) -> Mapping[str, np.ndarray]:
        """Masters' values of every field, on the host once they are asked for."""

    @abstractmethod
    def globals(self) -> dict[str, int | float]:
        """The globals' values, the same on every rank."""

    @abstractmethod
    def restore(self, kept: Snapshot) -> None:
        """Stand where ``kept`` says. Call it after :meth:`start`, before a round."""

    def portable(self) -> Snapshot | None:
        """Where the rounds stand, between two of them; None where they cannot be stopped here, on all ranks alike."""
        return None

    @property
    def waiting(self) -> int:
        """Vertices in the far bucket; some may be stale. Only programs with ``priority`` have one."""
        return 0

    def lowest_bucket(self) -> int:
        """The lowest bucket that a vertex waits in; :data:`NO_BUCKET` if none does."""
        return NO_BUCKET

    def open_bucket(self, bucket: int) -> None:  # noqa: B027, without buckets there is nothing to do
        """Vertices that wait in it join the frontier."""

    def exchange(self, comm: Comm, plans: Mapping[str, Any], record: Any) -> Any:
        """A courier of this backend's own, that carries fields in place of ``dgraph/engine/sync``; None: there is none.

        Collective. ``plans``: direction → what is exchanged.
        """
        return None

    def notes(self) -> list[RoundStats]:
        """What is told of all rounds since the last call, beside their figures; most tell nothing."""
        return []

    def spent(self) -> list[Spent]:
        """Seconds by kernel so far, where they are measured."""
        return []

    def tasks(self) -> dict[str, float]:
        """What a schedule's queues came to, where that is recorded."""
        return {}


class SharedMachine(Machine):
    """A machine that also runs single phases, between which ranks tell each other of vertices that they share.

    Attributes:
        dirties: whether mirrors must hear of masters that are not active.
        mirrors_current: True if mirrors hold their masters' values when rounds begin.
    """

    dirties: bool
    mirrors_current = False

    @abstractmethod
    def edge(self) -> None:
        """One edge phase; touched mirrors wait in :meth:`take_mirrors`."""

    @abstractmethod
    def vertex(self) -> None:
        """One vertex phase; the new frontier of masters is :meth:`frontier`."""

    @abstractmethod
    def frontier(self) -> np.ndarray:
        """lids of active masters (uint32)."""

    @abstractmethod
    def dirty(self) -> np.ndarray:
        """lids of masters that mirrors must hear of: active, or with a field that edges read changed."""

    @abstractmethod
    def take_mirrors(self) -> np.ndarray:
        """lids of mirrors that got a proposal in this round; their marks are cleared."""

    @abstractmethod
    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Mirrors' proposals into masters ``lids[positions]``."""

    @abstractmethod
    def join(self, lids: np.ndarray) -> None:
        """Mirrors join the frontier."""

    @abstractmethod
    def reset(self, lids: np.ndarray | slice) -> None:
        """Accumulators whose values were sent go back to their identity, unless combining twice does no harm."""


class Backend(ABC):
    """What runs a program's rounds on one rank.

    Attributes:
        name: of ``dgraph.backend.BACKENDS``.
        threads: threads of this rank; ``reason``: why that many, or which GPU.
        why: why this backend.
        warning: for the user; "" where there is nothing to say.
        keeps: whether it has something of a graph that would save the next run time.
        compiles_in_parallel: True if one process compiles several programs at a time.
    """

    name: str
    threads: int
    reason: str
    warning: str
    keeps = compiles_in_parallel = False
    why = ""

    def prepare(self, local: LocalGraph, comm: Comm) -> None:
        """Agree on what all ranks must do alike with their parts of a graph; collective."""
        return

    @abstractmethod
    def machine(self, traced: Traced, local: LocalGraph, direction: str) -> Machine:
        """A machine for one program on this rank's graph, a :class:`SharedMachine` where ranks share vertices.

        Args:
            direction: auto, push, pull or flip.

        Raises:
            UsageError: the program, or its memory, is nothing for this backend.
        """

    def ahead(self, traced: Traced, local: LocalGraph, direction: str) -> Callable[[], None] | None:
        """What compiles a program for runs that follow, taking no memory for them; None where nothing does."""
        return None

    def build(self, spec: str, comm: Comm, policy: str, options: LoadOptions) -> Graph:
        """The graph of ``NAME:SIZE…``, drawn where the rounds will run, and placed there by a policy; collective.

        Raises:
            UsageError: this backend has no such build, or not of this graph.
        """
        raise UsageError("--build device is about GPUs, and this run has none; leave it out, or give --backend cuda")

    @property
    def local_rounds(self) -> bool:
        """Whether ranks run rounds of their own between exchanges, where a program's values only ever improve."""
        return False

    def affords(self, traced: Traced, local: LocalGraph, direction: str) -> bool:
        """Whether what a program's rounds want beside the graph, but can do without, pays on this rank, and fits."""
        return False

    @property
    def ranges(self) -> Any:
        """Where phases are named for a profiler (``push``, ``pop``); None where nobody looks."""
        return None

    def memory(self) -> dict[str, int | bool] | None:
        """What the run took of a device's memory, in bytes; None where there is none."""
        return None
