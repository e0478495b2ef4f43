"""One program on one rank's graph: its arrays on the GPU, and the kernels that work on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dgraph.backend.compile_flags import TOP
from dgraph.backend.cuda.codegen import control_block as at
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gpu_options import ROUNDS_AHEAD, Options
from dgraph.backend.cuda.memory.memory_plan import may_pull
from dgraph.backend.cuda.memory.work_arrays import WorkArrays
from dgraph.backend.cuda.round_kernels.auto_schedule import schedule
from dgraph.backend.cuda.round_kernels.gpu_snapshot import GpuSnapshot
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet, Name
from dgraph.backend.cuda.round_kernels.round_log import RoundLog
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.round_stats import RoundStats
from dgraph.comm import Comm
from dgraph.errors import UsageError
from dgraph.program import Traced

COUNTED = 16
"""Rounds of a call while edges are counted: their counts are held on the host until the call ends."""


class DeviceExchange(Protocol):
    """The exchange between GPUs, as far as a machine knows it (``exchange/exchange.py``)."""

    comm: Comm
    direct: bool

    @property
    def ends_only(self) -> bool: ...

    def check(self) -> None: ...


class Machine(RoundLog, GpuSnapshot):
    """State and kernels of one program; the same contract as the CPU's.

    Attributes:
        state: field → :class:`FieldView`, by lid.
        dirties: whether mirrors must hear of masters that are not active.
        courier: the exchange between GPUs; None: fields pass through host memory (``dgraph/engine/sync``).
        walks_by_schedule: whether its rounds walk edges, so that others that do may take their place.
        by_trees: whether they spread labels by trees.
        filters_edges: whether it has the kernels that mark edges and copy them into rows of their own.
        make_exchange: makes ``courier``; the backend sets it.
    """

    walks_by_schedule, by_trees, filters_edges = True, False, False
    make_exchange: Callable[[Machine, Comm, Mapping[str, Any], Any], DeviceExchange] | None = None

    def __init__(self, traced: Traced, graph: DeviceGraph, device, forced: str, options: Options):
        if len(traced.integer_sums) > at.MOST_SUMS or len(traced.float_sums) > at.MOST_SUMS:
            raise UsageError(f"{len(traced.sums)} summed globals in one program; {at.MOST_SUMS} is the most")
        self.traced, self.graph, self.device, self.options = traced, graph, device, options
        self.local = graph.local
        self.dirties, self.minima = bool(traced.dirty), len(traced.minima)
        self.pulls = may_pull(traced, forced)
        self.arrays = WorkArrays(traced, graph, device, self.pulls, options)
        kind = (self.walks_by_schedule, self.by_trees, self.filters_edges)
        self.sources = ModuleSet(traced, graph, device, options, self.pulls, *kind)
        self.kernels = Launcher(self.sources, self.arrays)
        self.state = {k: FieldView(device, v, graph.place) for k, v in self.arrays.fields.items()}
        self.device_exchange: DeviceExchange | None = None
        self._begin_log()
        self._fill_controls(forced)

    def exchange(self, comm: Comm, plans: Mapping[str, Any], record) -> DeviceExchange | None:
        """Messages that go from GPU to GPU, where the backend has transports; ``plans``: by direction. Collective."""
        if self.graph.links is not None:
            assert self.make_exchange is not None
            self.device_exchange = self.make_exchange(self, comm, plans, record)
        return self.device_exchange

    def _fill_controls(self, forced: str) -> None:
        words = np.zeros(self.arrays.words.size, np.int64)
        words[at.UNEXPLORED], words[at.TOTAL_LIVE] = self.local.arcs, self.local.n
        words[at.FORCED] = {"auto": at.AUTO, "push": at.FORCE_PUSH, "pull": at.FORCE_PULL, "flip": at.FLIP}[forced]
        words[at.WHOLE] = int("whole" in (self.traced.step or {}))
        words[at.WIDTH] = int(self.traced.program.widens)
        chosen = self.options.schedule
        small = -1 if chosen in SCHEDULES else 2**62 if chosen == "persistent" else self.options.alone
        words[[at.SMALL_EDGES, at.SMALL_QUEUE]] = small
        for i, g in enumerate(self.traced.globals.values()):
            if g.dtype == "float64":
                words.view(np.float64)[self.arrays.floats_at + i] = g.init
            else:
                words[self.arrays.integers_at + i] = g.init
        self.device.write(self.arrays.words, words)
        self.words, self.all_words = words[: at.CONTROLS].copy(), words  # a start that fails leaves them

    def launch(self, *calls: tuple) -> None:
        """Start kernels of the reference loop, in order."""
        for call in calls:
            self.kernels.launch(*call, fused=False)

    def read(self) -> None:
        """What a call left; waits for it."""
        self.all_words = self.device.read(self.arrays.board)
        self.words = self.all_words[: at.CONTROLS]

    # what the engine asks for

    @property
    def compiled(self) -> bool:
        """Whether the program's machine code lies in the cache folder."""
        return self.kernels.loaded or self.sources.compiled(self._names)

    def compile(self) -> None:
        """Compile, or load from the cache folder, what the rounds will call."""
        if not self.kernels.loaded:
            self.kernels.ready(self._names)

    @property
    def compiling(self) -> float:
        return self.kernels.compiling

    @property
    def runs_across(self) -> bool:
        """Whether rounds of this program may run on all GPUs without the host."""
        return self.sources.runs_across

    @property
    def reaches(self) -> bool:
        """Whether GPUs may run it as a whole in one kernel."""
        return self.sources.reaches

    @property
    def _names(self) -> Sequence[Name]:
        """Modules that every run calls."""
        return self.sources.names

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """``init`` on masters; mirrors get identities. ``given``: initial masters' values of fields declared so."""
        self.kernels.set_environments(self._names)
        if self.device_exchange is not None and self.device_exchange.direct:
            self.launch(("phases", "wake"))
        self._fill(given)
        self.kernels.poured = False
        self._phase(at.STARTED, ("phases", "start"))

    def _empty_mirrors(self, name: str, identity: int | float) -> None:
        self.arrays.fields[name][self.local.masters :].fill(identity)  # they come last however vertices are numbered

    def prepare(self) -> None:
        """What the first round needs; GPUs may talk to each other. Called before every round."""

    def edge(self) -> None:
        """One edge phase; touched mirrors wait in :meth:`take_mirrors`."""
        name, calls = self.walks()
        if self.device_exchange is None:
            self._phase(at.EDGES_VISITED, *calls)
        else:
            self.launch(*calls)
        self._notes.append(RoundStats(name, self._walked()))

    def walks(self) -> tuple[str, list[tuple]]:
        """The schedule of the next round's edges, and its launches."""
        t, pulling = self.traced, self.direction == "pull"
        if (pulling or self.options.sweeps) and not t.all:
            self._bits()
        if pulling and self.options.schedule not in SCHEDULES:
            if t.all:
                return "pull", [*self.kernels.pulling(), *self.kernels.joining]
            return "pull", [("phases", self.kernels.puller), ("phases", "expand")]
        name = schedule(self.options, self.words, self.graph.wide, t.all)
        return name, self.kernels.edges(name, pulling, fused=False, words=self.words)

    def vertex(self) -> None:
        """One vertex phase; the new frontier of masters is :meth:`frontier`."""
        self._phase(at.APPLIED, *self.works())
        if self.device_exchange is not None:
            self.device_exchange.check()

    def works(self) -> list[tuple]:
        """The launches of a vertex phase."""
        return [("phases", "vertex_phase")] * (self.traced.apply is not None or self.traced.priority is not None)

    def fused(self, limit: int) -> int:
        """Up to ``limit`` whole rounds of a graph without mirrors, no more than ``figures`` remembers; how many."""
        first, counted = self.round, self.options.record
        end = first + min(limit, COUNTED if counted else at.RING)
        if self._untold is None:
            self._untold = first
        while self.round < end and not self.done:
            until = self.round + 1 if counted else end
            ahead = min(ROUNDS_AHEAD, until - self.round) if self.traced.all else 1
            if self.device.ranged:
                self.device.push(f"from round {self.round + 1}")
            for _ in range(ahead):
                taken_by = self._broad_round()
                self.kernels.launch("rounds", "rounds", until + (taken_by << at.TAKEN_BY), fused=True)
            self.read()
            if self.device.ranged:
                self.device.pop()
            if counted:
                self._loads.append(self._walked())
        return self.round - first

    def _broad_round(self) -> int:
        """Walk the next round's edges by kernels of their own, if it is no matter of the persistent kernel; the number
        of the schedule that did, 0 for none."""
        t, words = self.traced, self.words
        pulls, small = words[at.MODE] == at.PULL, words[at.SMALL_EDGES]
        broad = words[at.QUEUED] > words[at.SMALL_QUEUE] or words[at.LOCAL_EDGES] > small
        if not (t.all or pulls or (broad and words[at.QUEUED] > 0)):
            return 0
        if pulls and self.options.schedule not in SCHEDULES:
            number = at.PULLED
            calls = self.kernels.pulling()
            if t.all:
                calls += self.kernels.joining
            elif t.apply is not None or t.priority is not None:
                calls += [("phases", "expand")]
        else:
            name = schedule(self.options, words, self.graph.wide, t.all)
            number = 1 + [*SCHEDULES].index(name)
            calls = self.kernels.edges(name, bool(pulls), fused=True, words=words)
        if (pulls or self.options.sweeps) and not t.all:
            self._bits()
        if t.apply is not None:
            calls += [("phases", "vertex_phase")]
        for call in calls:
            self.kernels.launch(*call, fused=True)
        return number

    def _bits(self) -> None:
        """The frontier as bits, unless the last pull left them."""
        if self.words[at.BITS]:
            return
        self.device.clear(self.arrays.bits[int(self.words[at.BITS_SWAPPED])])
        self.kernels.launch("phases", "set_bits", fused=self.local.mirrors == 0)

    def _phase(self, phase: int, *calls: tuple) -> None:
        """Kernels of the reference loop, and what they left."""
        self.launch(*calls, ("phases", "settle", phase))
        self.read()

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """This rank's part of the round's totals: integers [active, edges, sums …, minima …], float sums."""
        words, integers, floats = self.all_words, len(self.traced.integer_sums), len(self.traced.float_sums)
        totals = np.array([self.active, self.edges, *words[at.SUMS_HERE : at.SUMS_HERE + integers].tolist()], np.int64)
        if self.minima:
            totals[-self.minima :] ^= TOP
        return totals, words[at.CONTROLS : at.CONTROLS + floats].view(np.float64).copy()

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Take in the totals of all ranks: ``step``, the end, the next direction."""
        arrays, words = self.arrays, self.words
        if words[at.ENDS] and not starting:
            words[at.TOTAL_ACTIVE], words[at.TOTAL_EDGES] = integers[:2]
            words[at.ROUND] += 1
            words[at.DONE] = 1
            return
        mine, my_floats = self.totals()
        own = np.array_equal(mine, integers) and np.array_equal(my_floats, floats)
        if not own:
            message = np.zeros(arrays.totals.size, np.int64)
            message[: integers.size] = integers
            message[integers.size - self.minima : integers.size] ^= TOP
            self.device.write(arrays.totals, message)
            if floats.size:
                self.device.write(arrays.words[at.CONTROLS : at.CONTROLS + floats.size], floats)
        self.kernels.launch("phases", "apply_totals", int(starting) + 2 * own, blocks=1, fused=False)
        self.read()

    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        words = self.all_words
        return words[self.arrays.integers_at :], words.view(np.float64)[self.arrays.floats_at :]

    def fields(self) -> LazyFields:
        """Masters' values of every field."""
        columns = {name: column[: self.local.masters] for name, column in self.state.items()}
        return LazyFields(self.device, columns, self.graph.degree, self.graph.original)

    def lowest_bucket(self) -> int:
        """The lowest bucket that a vertex waits in; a number past every bucket if none does."""
        self._phase(at.LOWEST_FOUND, ("phases", "lowest"))
        return int(self.words[at.LOWEST_BUCKET])

    def open_bucket(self, bucket: int) -> None:
        """Vertices that wait in it join the frontier."""
        self.arrays.words[at.LOWEST_BUCKET] = bucket
        self._phase(at.OPENED, ("phases", "open_bucket"))

    # what the synchronisation asks for

    def frontier(self) -> np.ndarray:
        """lids of active masters (uint32)."""
        return self._lids(self.device.get(self.arrays.queues[int(self.words[at.SWAPPED])][: self.words[at.ACTIVE]]))

    def dirty(self) -> np.ndarray:
        """lids of masters that mirrors must hear of: active, or with a field that edges read changed."""
        if not self.dirties:
            return self.frontier()
        return self._lids(self.device.get(self.arrays.dirty[: self.words[at.DIRTIED]]))

    def take_mirrors(self) -> np.ndarray:
        """lids of mirrors that got a proposal in this round."""
        return self._lids(self.device.get(self.arrays.mirrors[: self.words[at.MIRRORS_TOUCHED]]))

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Mirrors' proposals into masters ``lids[positions]``."""
        if len(positions):
            self.kernels.send(self._places(lids), positions, values)
            self.kernels.launch("phases", "combine", len(positions), fused=False)

    def join(self, lids: np.ndarray) -> None:
        """Mirrors join the frontier."""
        if len(lids):
            self.kernels.send(self._places(lids))
            self.kernels.launch("phases", "join", len(lids), fused=False)
            self._phase(at.JOINED)

    def across(self, limit: int) -> None:
        """Rounds of all ranks' GPUs, up to the agreement on the last one or before round ``limit``."""
        first = self.round
        self.prepare()
        self.kernels.launch("across", "across", min(limit, first + at.RING), fused=False)
        self.read()
        self.note("persistent", self.round - first + 1)

    def settle_joined(self) -> None:
        """Mirrors have joined the frontier. Only how a push is walked depends on what they bring."""
        self.launch(("phases", "settle", at.JOINED))
        if self.direction == "push":
            self.read()
