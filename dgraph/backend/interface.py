"""Interfaces of a backend's machines.

A backend (``backend_base.py``) creates one :class:`Machine` per program and rank, which holds the program's state and
runs its rounds. A :class:`SharedMachine` also runs single phases, between which ranks exchange values of mirrors.
Methods that are not abstract are optional, and their defaults stand for "none".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dgraph.backend.queue_record import QueueRecord
from dgraph.backend.round_stats import RoundStats, Spent
from dgraph.backend.snapshot import Snapshot
from dgraph.comm import Comm
from dgraph.program import Traced

if TYPE_CHECKING:
    pass

NO_BUCKET = np.iinfo(np.int64).max
"""Bucket number above all others: no vertex waits."""


class Machine(ABC):
    """State and rounds of one program on one rank; sufficient for a graph on a single rank.

    Attributes:
        traced: the program.
        state: field → values by lid, masters before mirrors; NumPy arrays, or objects that are indexed and assigned
            like them.
        minima: number of integers at the end of :meth:`totals` that ranks reduce by minimum instead of sum.
        remark: for the report, why its rounds are not compiled, or "".
        started: True once :meth:`start` has applied the totals, because they are those of all ranks.
        starts_together: True if GPUs reduce the totals of ``init``; :meth:`start` then leaves them to
            :meth:`start_together`.
        renewable: True if the machine can serve several runs: it has ``rest``, ``renew`` and ``bytes``.
        kept_as: key under which the backend keeps it between runs; None: it does not.
        planned: bytes of the memory plan that it was made under, on a GPU.
    """

    traced: Traced
    started = starts_together = renewable = False
    kept_as: Hashable = None
    planned = 0
    state: Mapping[str, Any]
    minima, remark = 0, ""
    first_rounds, first_arcs = 16, 1 << 24
    """Rounds before the first check for signals and cancellation, and arcs that they may visit: a tenth of a second."""

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
    def loaded(self) -> bool:
        """True if :meth:`compile` has nothing left to do."""
        return False

    @property
    @abstractmethod
    def compiled(self) -> bool:
        """True if the machine code is available, so that :meth:`compile` only loads it."""

    @abstractmethod
    def compile(self) -> None:
        """Compile everything that the rounds call, or load it from the cache folder; called before :meth:`start`."""

    def in_machine_code(self) -> Machine:
        """Return a machine of the same program whose rounds are compiled: this one, unless it has a ``remark``."""
        return self

    @property
    def exchanges_on_host(self) -> bool:
        """True if messages of a run on several ranks are packed by the host, whose loops have to be compiled."""
        return True

    @property
    def large_compiled(self) -> bool:
        """True if machine code that a first run does without is there, or never needed."""
        return True

    def use_large(self, compiled: bool) -> bool:
        """Use code that a first run does without if all ranks have it; return False if this run does without.

        Args:
            compiled: :attr:`large_compiled` on all ranks.
        """
        return True

    @abstractmethod
    def start(self, initial: Mapping[str, np.ndarray]) -> None:
        """Run ``init`` on masters and set mirrors to identities.

        Args:
            initial: initial values of the masters for fields declared with ``given=True``.
        """

    def begin(self) -> None:  # noqa: B027 - most machines have nothing to do
        """Prepare the first round of a sparse program; mirrors already hold the values that edges read."""

    @abstractmethod
    def fused(self, limit: int) -> int:
        """Run whole rounds of a graph without mirrors; return their number.

        Args:
            limit: most rounds to run; no more are run than :meth:`figures` keeps.
        """

    def start_together(self) -> bool:
        """Reduce the totals of ``init`` on the GPUs, once ranks agree that all have started; collective.

        Returns:
            False on all ranks if vertices wait in buckets and none is active: the totals remain to be applied.
        """
        raise NotImplementedError

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

    def notes(self) -> list[RoundStats] | Callable[[], list[RoundStats]]:
        """Return statistics of the rounds since the last call, or a function that does; empty if there are none."""
        return []

    def spent(self) -> list[Spent]:
        """Return the time of each kernel so far; empty unless it is measured."""
        return []

    def schedule_counts(self) -> dict[str, int]:
        """Return counts of what a schedule made of the graph or of its lists, by name; empty if it makes nothing."""
        return {}

    def tasks(self) -> QueueRecord:
        """Return the record of a schedule's task queues so far; empty unless they are recorded."""
        return QueueRecord()


class Exchanges(Protocol):
    """Reduce and broadcast of the next round, with fields and peers already bound by the plan."""

    def reduce(self) -> None:
        """Send mirrors' proposals to their masters."""

    def broadcast(self) -> None:
        """Send masters' values to their mirrors."""


class DeviceRounds(Protocol):
    """Driver of rounds that GPUs run without the host."""

    def run(self, limit: int) -> bool:
        """Run rounds until the last is complete but for the hosts' agreement, or ``limit`` is next; collective.

        Returns:
            False where the host has to drive the next round; the same on every rank.
        """

    @property
    def summary(self) -> np.ndarray:
        """This rank's part of the program's summary, int64 (4,); empty if the program has none.

        1 if GPUs ended the program, else 0; then vertices, the sum of their out-degrees, and the largest distance, of
        floats its bits.
        """


class SharedMachine(Machine):
    """Machine that also runs single phases, between which ranks exchange the values of shared vertices.

    Attributes:
        dirties: True if values of inactive masters may need a broadcast.
        mirrors_current: True if mirrors hold their masters' values when rounds begin.
    """

    dirties: bool
    mirrors_current = False

    def device_rounds(self, sync: Exchanges) -> DeviceRounds | None:
        """Return the driver of rounds that GPUs run without the host; None where the host drives all."""
        return None

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
