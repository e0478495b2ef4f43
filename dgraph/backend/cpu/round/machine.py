"""Machine: the arrays of one program on one rank, and the calls into its compiled rounds.

The compiled code is in the generated module (``codegen/``), made of sources in this folder. The number of
threads of each call is chosen here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import ModuleType

import numpy as np

from dgraph.backend.compile_flags import TOP
from dgraph.backend.cpu.codegen.expressions import NUMPY
from dgraph.backend.cpu.codegen.generated_module import module_for
from dgraph.backend.cpu.round import state as slots
from dgraph.backend.cpu.round.work_arrays import Lists, clear, lists_of, results, work_arrays
from dgraph.backend.cpu.threads.field_figures import TeamFields
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.cpu.threads.tuner import LARGE, SMALL, tuner_of
from dgraph.backend.kernel_register import kernel_of
from dgraph.backend.program_machine import ProgramMachine
from dgraph.backend.snapshot import Snapshot
from dgraph.errors import UsageError
from dgraph.graph.local import Csr, LocalGraph
from dgraph.program import Traced

COMPILED = "compiled_here"
"""Attribute set in a generated module once this process has its machine code."""

PEELED_ALONE, MANY_LEVELS = 1 << 17, 8
"""Vertices times threads up to which one thread runs an edge kernel, and mean degree from which it does."""


def may_pull(traced: Traced, forced: str) -> bool:
    """Return True if the program may pull; ``direction`` in ``rounds.py`` makes the decision of each round."""
    program = traced.program
    if forced == "auto" and kernel_of(program.kernel).edges:
        return False
    if "pull" not in program.directions or (forced == "push" and "push" in program.directions):
        return False
    return (
        traced.all or program.gathers or "push" not in program.directions or traced.priority is None or forced != "auto"
    )


class CpuMachine(ProgramMachine):
    """State and compiled rounds of one program on one rank.

    Attributes:
        state: field → array, shape (masters + mirrors,); bool fields as uint8.
        arrays: work arrays of compiled rounds.
        results: globals, sums and figures of rounds.
        dirties: True if values of inactive masters may need a broadcast.
        words: control block; see ``state.py``.
        bytes: bytes of the arrays that it holds between runs.
    """

    layout, renewable = slots, True

    def __init__(self, traced: Traced, local: LocalGraph, team: Team, forced: str):
        self.traced, self.local, self.team = traced, local, team
        self.pulls = may_pull(traced, forced)
        self._pushes = forced in ("push", "flip")
        self._kernel = forced == "auto" and bool(kernel_of(traced.program.kernel).edges)
        self.module, self.minima = self._module(traced), len(traced.minima)
        self._tuner = tuner_of(self.module.__name__, team.size)
        # before the arrays below take the memory that it needs
        by_id = int(traced.finds_smallest and (traced.program.first_hit or local.by_id))
        size = local.size
        self.results = results(len(traced.globals), len(traced.sums))
        if (sums := len(traced.sums)) > slots.MOST_SUMS:
            raise UsageError(f"{sums} summed globals in one program; the limit is {slots.MOST_SUMS}; declare fewer")

        self.dirties = bool(self.module.DIRTY)
        outward = local.out
        self._push = self._graph(outward)
        backward = local.incoming if self.pulls and local.directed else outward
        self._pull = self._graph(backward)
        self.arrays = work_arrays(
            size, local.masters, team.size, pulls=self.pulls, dirty=self.dirties,
            buckets=traced.priority is not None, live=traced.live is not None, kernel=self._kernel,
            float_sums=self.module.FLOAT_SUMS, room=self._fold_room(),
            hints=backward.hints if self.pulls and self.module.HINTS else np.empty(0, np.uint32),
        )  # fmt: skip
        self.bytes = sum(array.nbytes for array in (*self.results, *self.arrays) if array.base is None)  # not of views
        self.words = np.zeros(slots.CONTROLS, np.int64)
        self.words[slots.MASTERS : slots.ARCS + 1] = local.masters, size, local.n, local.m, local.arcs
        self.words[slots.UNEXPLORED] = local.arcs
        self.words[slots.FORCED] = slots.FORCED_WORDS[forced]
        self.words[slots.WHOLE] = int("whole" in (traced.step or {}))
        self.words[slots.WHOLE_ROWS] = int(local.whole_rows)
        self.words[slots.BY_ID] = by_id
        self.words[slots.NUMBERED] = local.ascending == size and local.largest_id == size - 1
        self.words[slots.MIRRORED_ROWS] = not local.directed and local.masters == size
        self.words[slots.SENDS] = any(side.rows < side.count for side in local.peer_mirrors.values())
        self.words[slots.OWN : slots.OWN_TOO + 1] = -1
        self.words[slots.TEAM] = team.size
        self.words[slots.WIDTH] = int(traced.program.widens)
        self.words[slots.ROOM] = self.arrays.keys.shape[1]
        self._rounds_alone = slots.MOST_LOCAL if self.module.LOCAL_ROUNDS and not self.words[slots.SENDS] else 1
        self._first_words = self.words.copy()
        self._begin(traced, local)

    def _begin(self, traced: Traced, local: LocalGraph) -> None:
        """Prepare a run: its fields, which the result owns, its parameters and globals."""
        self.traced, self.local, self.started = traced, local, False
        if local.arcs > slots.BUFFER:
            self.team.rouse()
        size, places, numbers = local.size, self.results.integers, self.results.floats
        self.state = {k: np.empty(size, NUMPY.get(f.dtype, f.dtype)) for k, f in traced.fields.items()}
        for i, g in enumerate(traced.globals.values()):
            places[i], numbers[i] = int(g.init) if g.dtype == "int64" else 0, float(g.init)
        self._parameters = tuple(
            bool(x) if isinstance(x, (bool, np.bool_)) else int(x) if isinstance(x, (int, np.integer)) else float(x)
            for x in traced.program.parameters.values()
        ) or (0,)

    def rest(self) -> None:
        """Let go of the fields, which the result owns, and of the graph, which may end before the machine."""
        del self.local, self.state

    def renew(self, traced: Traced, local: LocalGraph) -> None:
        """Prepare a machine at rest for a run of the same program with other values of parameters."""
        clear(self.arrays, self.results)
        self.words[:] = self._first_words
        self._begin(traced, local)

    def _fold_room(self) -> int:
        """Return the length of a thread's scratch array for a row reducer: the longest row's keys and tables."""
        reducer = self.traced.row_reducer
        if not reducer:
            return 0
        csr = self.local.incoming if self.local.directed else self.local.out
        longest = int(np.diff(csr.offsets).max(initial=0))
        hashed, counted = 2 << (2 * longest).bit_length(), slots.COUNTED if reducer.name == "mode" else 0
        return longest * (1 + reducer.sums) + hashed + counted

    def _module(self, traced: Traced) -> ModuleType:
        return module_for(traced, self.pulls or may_pull(traced, "auto"), self._kernel, self._pushes)

    def _graph(self, csr: Csr) -> tuple:
        weights = csr.weights if self.traced.weighted else np.empty(0, np.int32)
        return csr.offsets, csr.neighbours.view(np.uint32), weights

    def _call(self, phases: int, limit: int = 1, threads: int | None = None, small: int = 0) -> int:
        """Run ``work`` of ``entry.py`` on the team; return the number of whole rounds."""
        fused = phases == slots.FUSED or (phases in (0, slots.START) and self.local.masters == self.local.n)
        work = self.module.work_fused if fused else self.module.work
        rounds = self.team.launch(
            work, threads or self._threads(phases), phases, limit, small, self._push, self._pull, self._fields,
            self._parameters, tuple(self.results), tuple(self.arrays), self.words,
        )  # fmt: skip
        if self.module.AT_ONCE and rounds & 1:
            one, other = self.traced.swaps
            self.state = {**self.state, one: self.state[other], other: self.state[one]}
        return rounds

    @property
    def _fields(self) -> tuple[np.ndarray, ...]:
        """Fields in the order of compiled code."""
        return (*self.state.values(), self.local.original, self.local.out_degree)

    def _threads(self, phases: int) -> int:
        """Return the number of threads for a call: one for small frontiers, else the whole team."""
        c = self.words
        if self.traced.all or phases == slots.START or c[slots.WHOLE] or c[slots.MODE] == slots.PULL:
            return self.team.size if self.local.arcs > slots.BUFFER else 1
        return self.team.size if self._work_ahead > SMALL else 1

    @property
    def _peeling(self) -> int:
        """Number of threads of an edge kernel: one where barriers of many levels take longer than the arcs."""
        n, arcs = self.local.n, self.local.arcs
        return 1 if n * self.team.size <= PEELED_ALONE and arcs >= MANY_LEVELS * n else self.team.size

    @property
    def _work_ahead(self) -> int:
        """Vertices and edges of the next frontier."""
        return int(self.words[slots.QUEUED] + self.words[slots.EDGES])

    # interface of the engine

    @property
    def compiled(self) -> bool:
        """True if this process has the program's machine code."""
        return getattr(self.module, COMPILED, False)

    @property
    def loaded(self) -> bool:
        """True if nothing is left to compile, as :attr:`compiled`."""
        return self.compiled

    def compile(self) -> None:
        """Compile everything that the rounds call, or load it from the cache folder."""
        if self.compiled:
            return
        self._call(0, threads=1)
        scratch = tuple(array.copy() for array in self.results)
        self.module.apply_totals(self._parameters, scratch, self.words.copy(), 0, 0, True)
        if self.local.masters < self.local.n:  # other ranks may propose
            nothing = np.empty(0, np.uint32)
            self.combine(nothing, nothing, tuple(self.state[name][:0] for name in self.traced.proposes))
        setattr(self.module, COMPILED, True)

    def start(self, initial: Mapping[str, np.ndarray]) -> None:
        """Run ``init`` on masters and set mirrors to identities; totals of the whole graph are applied at once.

        Args:
            initial: values of fields with ``given=True``.
        """
        self._fill_given(initial)
        self._call(slots.START)
        if self.local.masters == self.local.n and (self.active or not self.waiting):
            self.apply_totals(*self.totals(), True)
            self.started = True

    def edge(self) -> None:
        """Run one edge phase, or rounds of this rank alone up to the vertex phase of the last.

        :meth:`take_mirrors` then returns the mirrors with proposals.
        """
        threads = self._threads(slots.EDGE)
        small = LARGE if self.team.size == 1 else SMALL if threads == 1 else 0
        self._call(slots.EDGE, self._rounds_alone, threads, small)

    def vertex(self) -> None:
        """Run one vertex phase; :meth:`frontier` then returns the active masters."""
        self._call(slots.VERTEX)

    def fused(self, limit: int) -> int:
        """Run up to ``limit`` whole rounds of a graph without mirrors, at most RING of them; return their number."""
        run, limit = 0, min(limit, slots.RING)
        while run < limit and not self.done:
            kernel = self._kernel and self.local.arcs > slots.BUFFER  # its rounds remove more than their frontier
            threads = self._peeling if kernel else self._threads(slots.FUSED)
            if kernel or self.team.size == 1 or self.traced.all:
                run += self._call(slots.FUSED, limit - run, threads)
            elif threads == 1:
                run += self._call(slots.FUSED, limit - run, 1, 2 * SMALL)
            elif self.words[slots.MODE] == slots.PULL or self._work_ahead > LARGE:
                run += self._call(slots.FUSED, limit - run, threads, -LARGE // 2)
            else:
                run += self._tuned_rounds(limit - run)
        return run

    def _tuned_rounds(self, limit: int) -> int:
        """Run rounds of medium size with the number of threads that the tuner chooses; return their number."""
        size, first = self._work_ahead, self.round
        threads, rounds = self._tuner.choose(size)
        # a part of the team leaves large rounds to all
        began, small = time.perf_counter(), 2 * LARGE if threads < self.team.size else -SMALL // 2
        run = self._call(slots.FUSED, min(limit, rounds), threads, small)
        self._tuner.record(threads, size, time.perf_counter() - began, int(self.figures(first)[:, :2].sum()))
        return run

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's part of the round's totals: int64 [active, edges, sums …, minima …], and float64 sums."""
        sums = self.results.sums[: 8 * self.module.SUMS : 8].tolist()
        totals = np.array([self.active, self.edges, *sums], np.int64)
        if self.minima:
            totals[-self.minima :] ^= TOP
        return totals, self.results.float_sums[: self.module.FLOAT_SUMS].copy()

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Run ``step`` on the reduced totals of all ranks; sets globals, the end and the next direction."""
        if self.started and starting:
            return
        sums = self.results.sums[: 8 * self.module.SUMS : 8]
        sums[:] = integers[2:]
        if self.minima:
            sums[-self.minima :] ^= TOP
        self.results.float_sums[: self.module.FLOAT_SUMS] = floats
        self.module.apply_totals(
            self._parameters, tuple(self.results), self.words, int(integers[0]), int(integers[1]), starting
        )

    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.results.integers, self.results.floats

    @property
    def active(self) -> int:
        """Masters of this rank that others must know to be active: those of the next frontier, as a rule."""
        return super().active + (int(self.words[slots.DIRTIED]) if self._kernel else 0)

    def snapshot(self) -> Snapshot | None:
        """Return the state between two rounds; None inside a level, whose frontier no other machine can repeat."""
        return None if self._kernel and not self.words[slots.WHOLE] else super().snapshot()

    def fields(self) -> TeamFields:
        """Return the masters' values of every field, as views."""
        masters = self.local.masters
        views = {name: values[:masters] for name, values in self.state.items()}
        return TeamFields(views, self.local.out_degree[:masters], self.team, self._levels())

    def _levels(self) -> tuple[int, int, int] | None:
        """Return the figures of a search by levels on one rank; see :class:`TeamFields`."""
        traced, c = self.traced, self.words
        once = traced.levelled and traced.apply is None and traced.priority is None
        if not once or c[slots.VISITED] <= 0 or self.local.masters < self.local.n:
            return None
        depth = self.round - (c[slots.TOTAL_ACTIVE] == 0)
        return int(c[slots.VISITED]), int(depth), int(c[slots.VISITED_EDGES])

    def figures(self, first: int) -> np.ndarray:
        """Return frontier vertices, frontier edges and pulled (0 or 1) of the fused rounds from ``first`` on.

        Returns:
            int64 (rounds, 3); only the last RING rounds are kept.
        """
        ring, first = self.results.ring.reshape(slots.RING, 3), max(first, self.round - slots.RING)
        begin = first % slots.RING
        over = self.round - first + begin - slots.RING
        return ring[begin : slots.RING + over] if over <= 0 else np.concatenate([ring[begin:], ring[:over]])

    def lowest_bucket(self) -> int:
        """Return the lowest bucket in which a vertex waits; ``FAR_BASE``, above all buckets, if none does."""
        self._call(slots.LOWEST)
        return int(self.words[slots.LOWEST_BUCKET])

    def open_bucket(self, bucket: int) -> None:
        """Move the vertices that wait in ``bucket`` to the frontier; while rounds are small, those of the next, too."""
        self.words[slots.LOWEST_BUCKET] = bucket
        self._call(slots.OPEN)

    def _active(self) -> np.ndarray:
        c = self.words
        if not c[slots.BITS]:
            return self.frontier()
        return np.flatnonzero(np.unpackbits(self._lists.bits.view(np.uint8), bitorder="little")[: self.local.masters])

    def _waiting(self) -> np.ndarray:
        return np.flatnonzero(self.arrays.waiting[: self.local.masters])

    def _set_state(self, words: dict[int, int], integers: np.ndarray, floats: np.ndarray, waiting: np.ndarray) -> None:
        c = self.words
        for word, value in words.items():
            c[word] = value
        c[slots.VISITED] = -(1 << 62)
        self.results.integers[:], self.results.floats[:] = integers, floats
        if self.traced.priority is not None:
            self.arrays.waiting[:] = 0
            self.arrays.waiting[waiting] = 1
            self._lists.far[: waiting.size] = waiting
            c[slots.FAR] = waiting.size

    def _set_frontier(self, lids: np.ndarray) -> None:
        c = self.words
        self._lists.queue[: lids.size] = lids
        c[slots.ACTIVE] = c[slots.QUEUED] = lids.size
        c[slots.EDGES], c[slots.BITS] = self.local.out_degree[lids].sum(), 0

    # interface of the synchronisation

    @property
    def _lists(self) -> Lists:
        return lists_of(self.arrays, self.words)

    def frontier(self) -> np.ndarray:
        """Return the lids of active masters, uint32; of an edge kernel, also of those that it followed at once."""
        queued = self._lists.queue[: self.words[slots.ACTIVE]]
        followed = self.arrays.dirty[: self.words[slots.DIRTIED] if self._kernel else 0]
        return np.concatenate([followed, queued]) if followed.size else queued

    def dirty(self) -> np.ndarray:
        """Return the lids of masters to broadcast: active, or with a changed field that edges read."""
        return self.arrays.dirty[: self.words[slots.DIRTIED]] if self.dirties else self.frontier()

    def take_mirrors(self) -> np.ndarray:
        """Return the lids of mirrors that got a proposal in this round, and clear their flags."""
        lids = self.arrays.mirrors[: self.words[slots.MIRRORS_TOUCHED]]
        if self.traced.flagged:
            self.arrays.flags[lids] = 0
        return lids

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Combine proposals of mirrors into the masters ``lids[positions]``."""
        self.module.combine(
            lids, positions, len(positions), values, self._fields, self._parameters, tuple(self.results),
            tuple(self.arrays), self.words,
        )  # fmt: skip

    def join(self, lids: np.ndarray) -> None:
        """Append mirrors to the queue of the frontier."""
        end = int(self.words[slots.QUEUED])
        self._lists.queue[end : end + len(lids)] = lids
        self.words[slots.QUEUED] = end + len(lids)
