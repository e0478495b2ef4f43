"""Machine of one program on one rank's GPU: its arrays, its kernels, and the round loop's contract.

:class:`GpuMachine` launches kernels through ``launcher.py``; messages between GPUs are an exchange's (``exchange/``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dgraph.backend.compile_flags import TOP
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.codegen import exchange_state
from dgraph.backend.cuda.device_graph import field_stats
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.graph_size import GraphSize
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gpu_options import ROUNDS_AHEAD, GpuPlan
from dgraph.backend.cuda.memory.memory_plan import may_pull
from dgraph.backend.cuda.memory.work_arrays import READ_ROUNDS, GpuWorkArrays
from dgraph.backend.cuda.round_kernels.edge_phase import EdgePhase
from dgraph.backend.cuda.round_kernels.gpu_snapshot import GpuSnapshot
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet, Name
from dgraph.backend.cuda.round_kernels.renewal import Renewal
from dgraph.backend.cuda.round_kernels.round_log import RoundLog
from dgraph.backend.interface import DeviceRounds, Exchanges
from dgraph.backend.round_stats import RoundStats
from dgraph.backend.snapshot import Snapshot
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.program import Traced
from dgraph.program.analysis import one_round

COUNTED = 16
"""Rounds of a call while edges are counted by thread: counts stay on the host until the call ends."""


class DeviceExchange(Protocol):
    """Part of the exchange between GPUs (``exchange/exchange.py``) that a machine calls."""

    comm: Comm
    direct: bool
    sizes: dict[int, int]
    first_words: np.ndarray

    @property
    def ends_only(self) -> bool:
        """True if mirrors are only targets of edges."""

    def begin(self, record: Any) -> None:
        """Serve another run."""

    def abort_peers(self) -> None:
        """Notify the peers of an error on this rank."""

    def check(self) -> None:
        """Raise if a peer has failed."""


class GpuMachine(EdgePhase, RoundLog, Renewal, GpuSnapshot):
    """State and kernels of one program; it has the same contract as the CPU's machine.

    Attributes:
        state: field → :class:`FieldView`, by lid.
        dirties: True if broadcasts include inactive masters whose fields changed.
        device_exchange: exchange between GPUs; None: fields pass through host memory (``dgraph/engine/sync``).
        walks_by_schedule: True if its rounds walk edges by schedules.
        uses_union_find: True if rounds spread labels over trees.
        filters_edges: True if it has the kernels that copy edges into rows of their own.
        make_exchange: function that makes ``device_exchange``; the backend sets it.
        make_rounds: function that makes the driver of rounds without the host; the backend sets it.
        repeats: True if this run starts before ranks agree that all have their machines and mailboxes.
        rounds_ahead: rounds that may be launched before the host reads the control block.
    """

    walks_by_schedule, uses_union_find, filters_edges, renewable = True, False, False, True
    first_rounds, first_arcs = READ_ROUNDS, 1 << 33
    _unread = False
    make_exchange: Callable[[GpuMachine, Comm, Mapping[str, Any], Any], DeviceExchange] | None = None
    make_rounds: Callable[[GpuMachine, Exchanges], DeviceRounds | None] | None = None

    @classmethod
    def serves(cls, traced: Traced, extent: GraphSize, options: GpuPlan, pulls: bool) -> bool:
        """Return True if this kind of machine is the one for a program on a graph of this size."""
        return True

    def __init__(self, traced: Traced, graph: DeviceGraph, device, forced: str, options: GpuPlan):
        if len(traced.integer_sums) > control.MOST_SUMS or len(traced.float_sums) > control.MOST_SUMS:
            raise UsageError(
                f"{len(traced.sums)} summed globals in one program; the limit is {control.MOST_SUMS}; declare fewer"
            )
        self.traced, self.graph, self.device, self.options = traced, graph, device, options
        self.local = graph.local
        self.dirties, self.minima = bool(traced.dirty), len(traced.minima)
        self.pulls = may_pull(traced, forced)
        self.arrays = GpuWorkArrays(traced, graph, device, self.pulls, options)
        self.renewable = self.renewable and not self.arrays.awaits_heads
        kind = (self.walks_by_schedule, self.uses_union_find, self.filters_edges)
        self.sources = ModuleSet(traced, graph, device, options, self.pulls, *kind)
        if traced.program.end_figure:
            self.sources.further.append(field_stats.named(*(array.dtype for array in self._figure_arrays())))
        self.kernels = Launcher(self.sources, self.arrays)
        self.device_exchange: DeviceExchange | None = None
        self._begin_log()
        self._begin_fields(forced)
        self._buckets_at_start = traced.sorts_applied and self.sources.whole
        self.rounds_ahead = ROUNDS_AHEAD if traced.all and not one_round(traced) else 1

    def exchange(self, comm: Comm, plans: Mapping[str, Any], record) -> DeviceExchange | None:
        """Make the exchange from GPU to GPU if the backend has transports; collective.

        Args:
            comm: communicator of the ranks.
            plans: synchronisation plan by direction.
            record: record of the exchange's times and bytes.

        Returns:
            The exchange; None where fields pass through host memory.
        """
        if self.repeats and self._last_exchange.post is self.graph.post:
            self.device_exchange = self._last_exchange
            self.device_exchange.begin(record)
        elif self.graph.links is not None:
            assert self.make_exchange is not None
            self.device_exchange = self.make_exchange(self, comm, plans, record)
        return self.device_exchange

    def device_rounds(self, sync: Exchanges) -> DeviceRounds | None:
        """Return the driver of rounds that GPUs run without the host; None where the host drives all."""
        return self.make_rounds(self, sync) if self.make_rounds is not None else None

    def launch(self, *calls: tuple) -> None:
        """Start kernels of rounds with mirrors, in order."""
        for call in calls:
            self.kernels.launch(*call, fused=self._buckets_at_start)

    def launch_summary(self) -> None:
        """Launch the kernel of the program's summary, which does nothing until GPUs have ended the program."""
        arrays, (kernel, _) = self.arrays, self.traced.program.end_figure or ("", "")
        words, ended = arrays.post[exchange_state.POST_SUMMARY :], arrays.words[control.PROGRAM_ENDS :]
        field_stats.launch(self.device, *self._figure_arrays(), words, kernel, gate=self.device.address(ended))

    def _figure_arrays(self) -> tuple[Any, Any]:
        """Return the masters' values of which the program's summary is, and the array beside them."""
        kernel, name = self.traced.program.end_figure or ("", "")
        beside = self.graph.degree if kernel == "reached" else self.graph.original
        return self.arrays.fields[name][: self.local.masters], beside

    def read(self) -> None:
        """Copy the control block to the host; waits for all launched kernels."""
        self.all_words = self.device.read(self.arrays.read)
        self.words = self.all_words[: control.CONTROLS]
        self._unread = False

    # interface of the engine

    @property
    def loaded(self) -> bool:
        """True if its modules are loaded."""
        return self.kernels.loaded

    @property
    def compiled(self) -> bool:
        """True if the program's machine code is loaded or in the cache folder."""
        return self.kernels.loaded or self.sources.compiled(self._names)

    @property
    def exchanges_on_host(self) -> bool:
        """True if messages are packed by the host."""
        return self.graph.links is None

    @property
    def large_compiled(self) -> bool:
        """True if the large modules, which a first run does without, are compiled or not needed."""
        return not self.sources.postponed or all(self.device.ready(*text) for text in self.sources.large)

    @property
    def settled(self) -> bool:
        """True if a machine at rest needs no compilation, and the graph's mailboxes take its messages."""
        post, links, last = self.graph.post, self.graph.links, self._last_exchange
        fits = post is not None and links is not None and last is not None and post.serves(links, last.sizes)
        return fits and self.loaded and self.large_compiled and not self.sources.postponed

    def use_large(self, compiled: bool) -> bool:
        """Launch large modules if they are compiled on all ranks; else leave them to the process in the background."""
        if not self.device.postpones:
            return True
        self.sources.postponed = not compiled
        if not compiled:
            self.device.postpone(self.sources.large)
        return compiled or not self.sources.large

    def compile(self) -> None:
        """Compile the modules that the rounds need, or load them from the cache folder."""
        if not self.kernels.loaded:
            self.kernels.ready(self._names)

    @property
    def runs_multi_gpu(self) -> bool:
        """True if all GPUs run small rounds of this program in one launch."""
        return self.sources.runs_multi_gpu

    @property
    def runs_persistent_bfs(self) -> bool:
        """True if GPUs run the whole program in one kernel."""
        return self.sources.runs_persistent_bfs

    @property
    def _names(self) -> Sequence[Name]:
        """Modules that every run launches."""
        return self.sources.names

    def start(self, initial: Mapping[str, np.ndarray]) -> None:
        """Run ``init`` on masters and set mirrors to identities.

        Args:
            initial: masters' initial values of fields declared ``given``.
        """
        if self.graph.links is not None:
            self.kernels.set_environments(self._names)
        self._write_board()
        if not self.repeats:
            self._wake()
        self._fill_given(initial)
        self.kernels.edges_emitted, self.kernels.prepared = False, ""
        self.started = self.sources.whole and not self._buckets_at_start
        self.kernels.launch("round_kernels", "start", int(self.started), fused=self.sources.whole)
        if self.started:
            self._unread = not self.options.record  # every launch of a recorded run belongs to a round
        elif not self.starts_together:
            self.launch(("round_kernels", "end_phase", control.STARTED))
        if not (self._unread or self.starts_together):
            self.read()

    def start_together(self) -> bool:
        """Launch what reduces the totals and begins the first round.

        Where the program chooses the first round's kernels, they are launched before the host reads the totals; those
        of a search return at once if the round is a pull, which may need a broadcast first.
        """
        assert self.device_exchange is not None
        ahead = control.NEXT_LARGE if self.runs_persistent_bfs else control.NEXT_ANY
        try:
            if self.repeats:
                self._wake()
            asked = control.STARTED << control.END_PHASE_BIT | ahead << control.END_NEXT_BIT
            self.launch(("round_kernels", "end_round", asked))
            if self.uses_union_find or ahead:
                return True
            self.read()
        except Exception:
            self.device_exchange.abort_peers()
            raise
        self.device_exchange.check()
        return not self.words[control.RETURN_STATE]

    def _wake(self) -> None:
        """Wake the links to peers, whose mailboxes are known to be there."""
        if self.device_exchange is not None and self.device_exchange.direct:
            self.launch(("round_kernels", "wake"))

    def _reset_mirrors(self, name: str, identity: int | float) -> None:
        """Leave mirrors to the kernel ``start``."""

    def prepare(self) -> None:
        """Prepare a round; GPUs may exchange messages. Called before every round."""

    def edge(self) -> None:
        """Run one edge phase; :meth:`take_mirrors` then lists the mirrors that got proposals."""
        name, calls = self.edge_launches()
        if self.device_exchange is None:
            self._phase(control.EDGES_VISITED, *calls)
        else:
            self.launch(*calls)
        self._notes.append(RoundStats(name, self._walked()))

    def vertex(self) -> None:
        """Run one vertex phase; the new frontier of masters is :meth:`frontier`."""
        self._phase(control.APPLIED, *self.vertex_launches())
        if self.device_exchange is not None:
            self.device_exchange.check()

    def fused(self, limit: int) -> int:
        """Run rounds of a graph without mirrors.

        Args:
            limit: most rounds; a call runs no more than :meth:`figures` holds.

        Returns:
            The number of rounds.
        """
        first, counted = self.round, self.options.record
        end = first + min(limit, COUNTED if counted else control.RING)
        if self._unread_from is None:
            self._unread_from = first
        if self._unread and self.traced.all:
            self.words[control.MODE] = control.PULL if self._pulls_all else control.PUSH
            self.words[control.QUEUED], self.words[control.LOCAL_EDGES] = self.local.masters, self.local.arcs
        while self._unread or (self.round < end and not self.done):
            rounds = self.round
            until = rounds + 1 if counted else end
            ahead = min(ROUNDS_AHEAD if self._supported and rounds else self.rounds_ahead, until - rounds)
            if self.device.ranged:
                self.device.push(f"from round {rounds + 1}")
            for _ in range(ahead):
                walked_by = self._large_round()
                self.kernels.launch(
                    "persistent_rounds", "rounds", until + (walked_by << control.SCHEDULE_BIT), fused=True
                )
            self.read()
            if self.device.ranged:
                self.device.pop()
            if counted:
                self._loads.append(self._walked())
        return self.round - first

    def _phase(self, phase: int, *calls: tuple) -> None:
        """Launch kernels, end a phase, and read the control block."""
        self.launch(*calls, ("round_kernels", "end_phase", phase))
        self.read()

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's part of the round's totals.

        Returns:
            Integers [active, edges, sums …, minima …], and float sums.
        """
        if self._unread:
            self.read()
        words, integers, floats = self.all_words, len(self.traced.integer_sums), len(self.traced.float_sums)
        totals = np.array([self.active, self.edges, *words[control.SUMS : control.SUMS + integers].tolist()], np.int64)
        if self.minima:
            totals[-self.minima :] ^= TOP
        return totals, words[control.CONTROLS : control.CONTROLS + floats].view(np.float64).copy()

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Apply the totals of all ranks: ``step``, the end, the next direction."""
        arrays, words = self.arrays, self.words
        if starting and self.repeats:
            self._wake()
        if self.started and starting:
            return
        if words[control.PROGRAM_ENDS] and not starting:
            words[control.TOTAL_ACTIVE], words[control.TOTAL_EDGES] = integers[:2]
            words[control.ROUND] += 1
            words[control.DONE] = 1
            return
        mine, my_floats = self.totals()
        own = np.array_equal(mine, integers) and np.array_equal(my_floats, floats)
        if not own:
            message = np.zeros(arrays.totals.size, np.int64)
            message[: integers.size] = integers
            message[integers.size - self.minima : integers.size] ^= TOP
            self.device.write(arrays.totals, message)
            if floats.size:
                self.device.write(arrays.words[control.CONTROLS : control.CONTROLS + floats.size], floats)
        self.kernels.launch("round_kernels", "apply_totals", int(starting) + 2 * own, fused=self._buckets_at_start)
        self.read()

    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        words = self.all_words
        return words[self.arrays.integers_at :], words.view(np.float64)[self.arrays.floats_at :]

    def fields(self) -> LazyFields:
        """Return masters' values of every field, copied to the host when first read."""
        masters, place = self.local.masters, self.graph.place
        columns = {name: FieldView(self.device, field, place, 0, masters) for name, field in self.arrays.fields.items()}
        return LazyFields(self.device, columns, self.graph.degree, self.graph.original)

    def lowest_bucket(self) -> int:
        """Return the lowest bucket of waiting vertices; a number past every bucket if there are none."""
        self._phase(control.LOWEST_FOUND, ("round_kernels", "lowest_bucket"))
        return int(self.words[control.LOWEST_BUCKET])

    def restore(self, kept: Snapshot) -> None:
        """Resume from a snapshot, in a direction that this run allows."""
        self.read()
        super().restore(kept)
        self._supported = False

    def open_bucket(self, bucket: int) -> None:
        """Move vertices of a bucket to the frontier."""
        self.device.write(self.arrays.words[control.LOWEST_BUCKET :][:1], np.array([bucket]))
        self._phase(control.OPENED, ("round_kernels", "open_bucket"))

    def run_device_rounds(self, limit: int) -> None:
        """Run rounds of all ranks' GPUs, up to the allreduce after the last one or before round ``limit``."""
        first = self.round
        self.prepare()
        self.kernels.launch("multi_gpu_rounds", "multi_gpu_rounds", min(limit, first + control.RING), fused=False)
        self.read()
        self.note("persistent", self.round - first + 1)
