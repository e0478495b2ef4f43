"""K-core peeling on CPUs: each rank follows its removals to the end of the level before it exchanges.

The machine replaces the rounds of a program whose ``kernel`` is "cores". The program has a field ``core`` (remaining
degrees, finally core numbers), a field ``lost`` that sums the neighbours removed, and parameters ``first``, the first
level, and ``single``, which stops after it. The kernels are in ``kcore_peel_cpu.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.algorithms.kernels import kcore_peel_cpu as kernel
from dgraph.backend.cpu.round.state import RING
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.interface import SharedMachine
from dgraph.backend.snapshot import Snapshot, between_rounds
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced


class KcorePeelMachine(SharedMachine):
    """CPU machine that peels a graph level by level.

    Attributes:
        state: core and lost → (masters + mirrors,).
    """

    direction, dirties, done, compiled = "push", False, False, False
    round = total_active = total_edges = 0

    def __init__(self, traced: Traced, local: LocalGraph, team: Team):
        self.traced, self.local, self.team = traced, local, team
        size, masters, threads = local.size, local.masters, self._threads
        self.state = {name: np.zeros(size, field.dtype) for name, field in traced.fields.items()}
        self.core, self.lost = self.state["core"], self.state["lost"]
        self.compiled = (kernel.peel, self.core.dtype) in _ready
        self.active = self.edges = 0
        self._sends_removals = any(side.rows < side.count for side in local.peer_mirrors.values())
        self._single, self._first = (traced.program.parameters[name] for name in ("single", "first"))
        self._all_dropped = 0
        queue, live, candidates, fallen = (np.empty(n, np.uint32) for n in (size, masters, masters, masters))
        mirrors, front = np.empty(local.mirrors, np.uint32), np.empty(masters, np.uint32)
        live[:] = np.arange(masters, dtype=np.uint32)
        self._lists = (queue, live, candidates, fallen, mirrors, front)
        shares = [masters * (t + 1) // threads - masters * t // threads for t in range(threads)]
        self._counts = np.zeros((threads, 8), np.int64)
        self._counts[:, 0] = shares
        self._buffers = np.empty((threads, 4, kernel.BUFFER), np.uint32)
        self._shared, self._gate = np.zeros(kernel.SHARED, np.int64), np.zeros(16, np.int64)
        self._shared[[kernel.LEVEL, kernel.LAST]] = self._first, -1
        self._ring, self._fresh = np.zeros(3 * RING, np.int64), True

    # called by the engine

    def compile(self) -> None:
        """Compile, or load from the cache folder, everything that the rounds will call."""
        empty = np.empty(0, np.uint32)
        kernel.peel(
            0, 1, (np.zeros(1, np.int64), empty), 0, self.core[:0], self.lost[:0], np.empty(0, np.int64), (empty,) * 6,
            0 * self._counts, self._buffers, self._shared.copy(), self._gate.copy(), True, 1, self._ring,
        )  # fmt: skip
        kernel.lowest(0, self.core[:0], (empty,) * 6, self._counts[:0], self._shared)
        kernel.forget(empty, self.lost[:0])
        kernel.lose(empty, empty, self.lost[:0], self.core[:0], (empty,) * 6, self._shared.copy())
        _ready.add((kernel.peel, self.core.dtype))

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Set remaining degrees to the out-degrees."""
        masters, self.mirrors_current = self.local.masters, True
        self.core[:] = self.local.out_degree
        self.active, self.edges = masters, int(self.local.out_degree[:masters].sum())

    def edge(self) -> None:
        """Process the queue, or the vertices of a new level, and all removals that follow on this rank."""
        self._shared[[kernel.MIRRORS, kernel.FRONT, kernel.EDGES]] = 0
        self._peel(0)
        self._fresh = False

    def vertex(self) -> None:
        """Count this round's frontier.

        Removed masters count if other ranks have edges that leave them; then masters that the exchange queued.
        """
        shared = self._shared
        self.active = int(shared[kernel.FRONT] * self._sends_removals + shared[kernel.TAIL] - shared[kernel.HEAD])
        self.edges = int(shared[kernel.EDGES])

    def fused(self, limit: int) -> int:
        """Run up to ``limit`` levels of a graph without mirrors; return their number."""
        levels = self._peel(1 if self._single or not self._fresh else min(limit, RING))
        self.round += levels
        self._last, self._fresh = levels, True
        self._all_dropped = int(self._shared[kernel.DROPPED])
        self.done = bool(self._single) or self._all_dropped >= self.local.masters
        self.total_active, self.total_edges = self._all_dropped, 0
        return levels

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return integers [active, edges, removed so far]; no floats."""
        return np.array([self.active, self.edges, self._shared[kernel.DROPPED]], np.int64), np.empty(0)

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Apply the totals of all ranks."""
        self.total_active, self.total_edges = int(integers[0]), int(integers[1])
        if starting:
            return
        self.round += 1
        self._all_dropped, quiet = int(integers[2]), self.total_active == 0
        self.done = bool(integers[2] >= self.local.n or (self._single and quiet))

    @property
    def waiting(self) -> int:
        """Vertices that no level has removed yet.

        A level ends when no rank removes any; the next level is the lowest that removes a vertex.
        """
        return 0 if self._single else self.local.masters - int(self._shared[kernel.DROPPED])

    def lowest_bucket(self) -> int:
        """Return the lowest level that removes one of this rank's vertices."""
        return kernel.lowest(self._shared[kernel.LEVEL], self.core, self._lists, self._counts, self._shared)

    def open_bucket(self, bucket: int) -> None:
        """Begin this level."""
        self._shared[kernel.LEVEL], self._fresh = bucket, True

    def globals(self) -> dict[str, int | float]:
        """Return the level."""
        return {"k": int(self._shared[kernel.LEVEL])}

    def figures(self, first: int) -> np.ndarray:
        """Return vertices removed, their edges, and 0 for each level of the last call; int64 (levels, 3)."""
        return self._ring.reshape(RING, 3)[: self._last]

    def fields(self) -> dict[str, np.ndarray]:
        """Return the fields of masters."""
        return {name: values[: self.local.masters] for name, values in self.state.items()}

    def snapshot(self) -> Snapshot | None:
        """Return a snapshot between levels; None inside a level, whose queue only this rank knows."""
        if not self._fresh:
            return None
        masters, level = self.local.masters, int(self._shared[kernel.LEVEL])
        inactive = np.zeros(masters, np.uint8)
        values = {"k": level - self._first, "fresh": 1, "dropped": self._all_dropped}
        shared = between_rounds(self.traced, self.round, 0, 0, self.local.arcs, values)
        return Snapshot({"core": self.core[:masters]}, inactive, inactive, shared)

    def restore(self, kept: Snapshot) -> None:
        """Resume before a level, or inside one from a snapshot of the program's own rounds.

        Inside a level, the vertices that the last round removed are queued.
        """
        masters, shared, self.mirrors_current = self.local.masters, self._shared, False
        values = dict(zip(self.traced.globals, kept.shared["integers"], strict=False))
        level = self._first + values["k"]
        self.core[:masters] = kept.fields["core"]
        self.round, self._all_dropped = kept.shared["round"], values["dropped"]
        self.done, self._fresh = bool(kept.shared["done"]), bool(kept.shared["whole"])
        shared[[kernel.LEVEL, kernel.LAST]] = level, level - self._fresh
        waiting = np.flatnonzero(kept.active).astype(np.uint32)
        self._queue(waiting)
        live, threads = self._lists[1], len(self._counts)
        for t in range(threads):
            begin, end = masters * t // threads, masters * (t + 1) // threads
            remaining = begin + np.flatnonzero(self.core[begin:end] >= level + (not self._fresh))
            live[begin : begin + remaining.size] = remaining
            self._counts[t, 0] = remaining.size
        shared[kernel.DROPPED] = masters - self._counts[:, 0].sum() - waiting.size

    # called by the synchronisation

    def frontier(self) -> np.ndarray:
        """Return the lids of masters that this round removed (uint32)."""
        return self._lists[5][: self._shared[kernel.FRONT]]

    dirty = frontier

    def take_mirrors(self) -> np.ndarray:
        """Return the lids of mirrors that lost neighbours in this round."""
        return self._lists[4][: self._shared[kernel.MIRRORS]]

    def reset(self, lids: np.ndarray | slice) -> None:
        """Reset losses that were sent."""
        if isinstance(lids, slice):
            self.lost[lids] = 0
        else:
            kernel.forget(lids, self.lost)

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Subtract mirrors' losses from masters ``lids[positions]``; queue those that reach the level."""
        kernel.lose(lids, positions, values[0], self.core, self._lists, self._shared)

    def join(self, lids: np.ndarray) -> None:
        """Queue mirrors whose masters were removed: their local edges go too."""
        self.core[lids] = self._shared[kernel.LEVEL]
        self._queue(lids)

    # internals

    @property
    def _threads(self) -> int:
        return self.team.size if len(self.local.out.neighbours) > kernel.BUFFER else 1

    def _queue(self, lids: np.ndarray) -> None:
        """Queue vertices for the next round."""
        end = int(self._shared[kernel.TAIL])
        self._lists[0][end : end + len(lids)] = lids
        self._shared[kernel.TAIL] = end + len(lids)

    def _peel(self, limit: int) -> int:
        local, masters = self.local, self.local.masters
        graph = (local.out.offsets, local.out.neighbours.view(np.uint32))
        return self.team.run(
            kernel.peel, self._threads, graph, masters, self.core, self.lost, local.out_degree, self._lists,
            self._counts, self._buffers, self._shared, self._gate, self._fresh, limit, self._ring,
        )  # fmt: skip


_ready: set = set()
"""Kernels and dtypes that are compiled in this process."""
