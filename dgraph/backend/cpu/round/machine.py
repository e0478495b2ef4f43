"""Machine: the arrays of one program on one rank, and the calls into its compiled rounds.

The compiled code is in the generated module (``codegen/``), made of ``phases.py``, ``push.py`` and ``rounds.py``. The
number of threads of each call is chosen here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import ModuleType

import numpy as np

from dgraph.backend.compile_flags import TOP
from dgraph.backend.cpu.codegen.expressions import NUMPY
from dgraph.backend.cpu.codegen.generated_module import module_for
from dgraph.backend.cpu.round import state as at
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.cpu.threads.tuner import LARGE, SMALL, ThreadTuner
from dgraph.backend.program_machine import ProgramMachine
from dgraph.errors import UsageError
from dgraph.graph.local import Csr, LocalGraph
from dgraph.program import Traced

COMPILED = "compiled_here"
"""Attribute set in a generated module once this process has its machine code."""


def may_pull(traced: Traced, forced: str) -> bool:
    """Return True if the program may pull; ``direction`` in ``rounds.py`` makes the decision of each round."""
    program = traced.program
    if "pull" not in program.directions or forced == "push":
        return False
    return traced.all or program.gathers or traced.priority is None or forced != "auto"


class Machine(ProgramMachine):
    """State and compiled rounds of one program on one rank.

    Attributes:
        state: field → array, shape (masters + mirrors,); bool fields as uint8.
        dirties: True if values of inactive masters may need a broadcast.
        words: control block; see ``state.py``.
    """

    layout = at

    def __init__(self, traced: Traced, local: LocalGraph, team: Team, forced: str):
        self.traced, self.local, self.team = traced, local, team
        self.module, self.minima = self._module(traced), len(traced.minima)
        self._tuner = ThreadTuner()
        by_id = int(traced.smallest and local.by_id)  # first: it needs memory that the arrays below take later
        size, blocks = local.size, local.masters // at.BLOCK + 1
        fields = traced.fields
        self.state = {k: np.empty(size, NUMPY.get(f.dtype, f.dtype)) for k, f in fields.items()}
        self.integers = np.array([int(g.init) if g.dtype == "int64" else 0 for g in traced.globals.values()] or [0])
        self.floats = np.array([float(g.init) for g in traced.globals.values()] or [0.0])
        self.sums = np.zeros(8 * max(len(traced.sums), 1), np.int64)
        self.float_sums = np.zeros(max(len(traced.sums), 1))
        self.ring = np.zeros(3 * at.RING, np.int64)
        if len(traced.sums) > at.MOST_SUMS:
            raise UsageError(
                f"{len(traced.sums)} summed globals in one program; the limit is {at.MOST_SUMS}; declare fewer"
            )

        def lids(wanted: bool = True) -> np.ndarray:
            return np.empty(size if wanted else 0, np.uint32)

        self.pulls = may_pull(traced, forced)
        words = (size + 63) // 64 if self.pulls else 0
        self.dirties = bool(self.module.DIRTY)
        bucketed, dirty = traced.priority is not None, self.dirties
        self._work = (
            lids(), lids(), lids(), lids(dirty),
            np.zeros(size, np.uint8), np.zeros(words, np.uint64), np.zeros(words, np.uint64),
            np.zeros(size if bucketed else 0, np.uint8), lids(bucketed), lids(bucketed),
            lids(traced.live is not None), np.zeros(blocks, np.int64),
            np.zeros(blocks * max(self.module.FLOAT_SUMS, 1)),
            np.zeros(4 * at.SLOT, np.int64), np.zeros(16, np.int64),
            np.empty((team.size, 2, at.BUFFER), np.uint32), np.zeros(4 * 8 * team.size, np.int64),
        )  # fmt: skip
        self.words = np.zeros(at.CONTROLS, np.int64)
        self.words[[at.MASTERS, at.ROWS, at.N, at.M, at.ARCS]] = (
            local.masters, size, local.n, local.m, local.arcs,
        )  # fmt: skip
        self.words[at.UNEXPLORED] = local.arcs
        self.words[at.FORCED] = {"auto": at.AUTO, "push": at.FORCE_PUSH, "pull": at.FORCE_PULL, "flip": at.FLIP}[forced]
        self.words[at.WHOLE] = int("whole" in (traced.step or {}))
        self.words[at.WHOLE_ROWS] = int(local.whole_rows)
        self.words[at.BY_ID] = by_id
        self.words[at.WIDTH] = int(traced.program.widens)
        self._push = self._graph(local.out)
        self._pull = self._graph(local.incoming if self.pulls and local.directed else local.out)

    def _module(self, traced: Traced) -> ModuleType:
        return module_for(traced)

    def _graph(self, csr: Csr) -> tuple:
        weights = csr.weights if self.traced.weighted else np.empty(0, np.int32)
        return csr.offsets, csr.neighbours.view(np.uint32), weights

    @property
    def _fields(self) -> tuple:
        return (*self.state.values(), self.local.original, self.local.out_degree)

    @property
    def _parameters(self) -> tuple:
        return tuple(
            bool(x) if isinstance(x, (bool, np.bool_)) else int(x) if isinstance(x, (int, np.integer)) else float(x)
            for x in self.traced.program.parameters.values()
        ) or (0,)

    def _call(self, phases: int, limit: int = 1, threads: int | None = None, small: int = 0) -> int:
        """Run ``work`` of ``rounds.py`` on the team; return the number of whole rounds."""
        return self.team.run(
            self.module.work, threads or self._threads(phases), phases, limit, small, self._push, self._pull,
            self._fields, self._parameters, self.integers, self.floats, self.sums, self.float_sums, self.ring,
            self._work, self.words,
        )  # fmt: skip

    def _threads(self, phases: int) -> int:
        """Return the number of threads for a call: one for small frontiers, else the whole team."""
        c = self.words
        if self.traced.all or phases == at.START or c[at.WHOLE] or c[at.MODE] == at.PULL:
            return self.team.size if self.local.arcs > at.BUFFER else 1
        return self.team.size if self._work_ahead > SMALL else 1

    @property
    def _work_ahead(self) -> int:
        """Vertices and edges of the next frontier."""
        return int(self.words[at.QUEUED] + self.words[at.EDGES])

    # interface of the engine

    @property
    def compiled(self) -> bool:
        """True if this process has the program's machine code."""
        return getattr(self.module, COMPILED, False)

    def compile(self) -> None:
        """Compile everything that the rounds call, or load it from the cache folder."""
        if self.compiled:
            return
        self._call(0, threads=1)
        scratch = (self.integers.copy(), self.floats.copy(), self.words.copy())
        self.module.apply_totals(self._parameters, *scratch, self.sums, self.float_sums, 0, 0, True)
        nothing = np.empty(0, np.uint32)
        values = tuple(self.state[name][:0] for name in self.traced.proposes)
        self.combine(nothing, nothing, values)
        setattr(self.module, COMPILED, True)

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Run ``init`` on masters and set mirrors to identities; ``given``: values of fields with ``given=True``."""
        self._fill_given(given)
        self._call(at.START)

    def edge(self) -> None:
        """Run one edge phase; :meth:`take_mirrors` then returns the mirrors with proposals."""
        self._call(at.EDGE)

    def vertex(self) -> None:
        """Run one vertex phase; :meth:`frontier` then returns the active masters."""
        self._call(at.VERTEX)

    def fused(self, limit: int) -> int:
        """Run up to ``limit`` whole rounds of a graph without mirrors, at most RING of them; return their number."""
        run, limit = 0, min(limit, at.RING)
        while run < limit and not self.done:
            threads = self._threads(at.FUSED)
            if self.team.size == 1 or self.traced.all:
                run += self._call(at.FUSED, limit - run, threads)
            elif threads == 1:
                run += self._call(at.FUSED, limit - run, 1, 2 * SMALL)
            elif self.words[at.MODE] == at.PULL or self._work_ahead > LARGE:
                run += self._call(at.FUSED, limit - run, threads, -LARGE // 2)
            else:
                run += self._tuned_rounds(limit - run)
        return run

    def _tuned_rounds(self, limit: int) -> int:
        """Run rounds of medium size with the number of threads that the tuner chooses; return their number."""
        size, first = self._work_ahead, self.round
        team, rounds = self._tuner.choose(size)
        began = time.perf_counter()
        run = self._call(at.FUSED, min(limit, rounds), *((self.team.size, -SMALL // 2) if team else (1, 2 * LARGE)))
        seconds = time.perf_counter() - began
        self._tuner.record(team, size, seconds, int(self.figures(first)[:, :2].sum()))
        return run

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return this rank's part of the round's totals: int64 [active, edges, sums …, minima …], and float64 sums."""
        sums = self.sums[::8][: self.module.SUMS]
        totals = np.array([self.active, self.edges, *sums], np.int64)
        totals[totals.size - self.minima :] ^= TOP
        return totals, self.float_sums[: self.module.FLOAT_SUMS].copy()

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Run ``step`` on the reduced totals of all ranks; sets globals, the end and the next direction."""
        self.sums[::8][: self.module.SUMS] = integers[2:]
        self.sums[::8][self.module.SUMS - self.minima : self.module.SUMS] ^= TOP
        self.float_sums[: self.module.FLOAT_SUMS] = floats
        self.module.apply_totals(
            self._parameters, self.integers, self.floats, self.words, self.sums, self.float_sums,
            int(integers[0]), int(integers[1]), starting,
        )  # fmt: skip

    def _globals(self) -> tuple[np.ndarray, np.ndarray]:
        return self.integers, self.floats

    def fields(self) -> dict[str, np.ndarray]:
        """Return the masters' values of every field, as views."""
        return {name: values[: self.local.masters] for name, values in self.state.items()}

    def figures(self, first: int) -> np.ndarray:
        """Return frontier vertices, frontier edges and pulled (0 or 1) of the fused rounds from ``first`` on.

        Returns:
            int64 (rounds, 3); only the last RING rounds are kept.
        """
        rounds = np.arange(max(first, self.round - at.RING), self.round) % at.RING
        return self.ring.reshape(at.RING, 3)[rounds]

    def lowest_bucket(self) -> int:
        """Return the lowest bucket in which a vertex waits; ``FAR_BASE``, above all buckets, if none does."""
        self._call(at.LOWEST)
        return int(self.words[at.LOWEST_BUCKET])

    def open_bucket(self, bucket: int) -> None:
        """Move the vertices that wait in ``bucket`` to the frontier; while rounds are small, those of the next, too."""
        self.words[at.LOWEST_BUCKET] = bucket
        self._call(at.OPEN)

    def _active(self) -> np.ndarray:
        c = self.words
        if not c[at.BITS]:
            return self.frontier()
        bits = self._work[6] if c[at.BITS_SWAPPED] & 1 else self._work[5]
        return np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")[: self.local.masters])

    def _waiting(self) -> np.ndarray:
        return np.flatnonzero(self._work[7][: self.local.masters])

    def _set_state(self, words: dict[int, int], integers: np.ndarray, floats: np.ndarray, waiting: np.ndarray) -> None:
        c = self.words
        for word, value in words.items():
            c[word] = value
        self.integers[:], self.floats[:] = integers, floats
        if self.traced.priority is not None:
            self._work[7][:] = 0
            self._work[7][waiting] = 1
            self._work[9 if c[at.FAR_SWAPPED] & 1 else 8][: waiting.size] = waiting
            c[at.FAR] = waiting.size

    def _set_frontier(self, lids: np.ndarray) -> None:
        c = self.words
        self._queue()[: lids.size] = lids
        c[at.ACTIVE] = c[at.QUEUED] = lids.size
        c[at.EDGES], c[at.BITS] = self.local.out_degree[lids].sum(), 0

    # interface of the synchronisation

    def _touched(self) -> np.ndarray:
        """Return the list of changed masters; it and the queue swap roles after each round."""
        return self._work[0] if self.words[at.SWAPPED] & 1 else self._work[1]

    def _queue(self) -> np.ndarray:
        """Return the queue of the frontier."""
        return self._work[1] if self.words[at.SWAPPED] & 1 else self._work[0]

    def frontier(self) -> np.ndarray:
        """Return the lids of active masters, uint32, a view."""
        return self._queue()[: self.words[at.ACTIVE]]

    def dirty(self) -> np.ndarray:
        """Return the lids of masters to broadcast: active, or with a changed field that edges read."""
        return self._work[3][: self.words[at.DIRTIED]] if self.dirties else self.frontier()

    def take_mirrors(self) -> np.ndarray:
        """Return the lids of mirrors that got a proposal in this round, and clear their flags."""
        lids = self._work[2][: self.words[at.MIRRORS_TOUCHED]]
        if self.traced.flagged:
            self._work[4][lids] = 0
        return lids

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Combine proposals of mirrors into the masters ``lids[positions]``."""
        self.module.combine(
            lids, positions, len(positions), values, self._fields, self._touched(), self._work, self.words
        )

    def join(self, lids: np.ndarray) -> None:
        """Append mirrors to the queue of the frontier."""
        end = int(self.words[at.QUEUED])
        self._queue()[end : end + len(lids)] = lids
        self.words[at.QUEUED] = end + len(lids)
