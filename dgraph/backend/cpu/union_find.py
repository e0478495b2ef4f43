"""A machine that finds connected components: union-find inside a rank, smallest labels between ranks.

It stands for the rounds of any program whose ``kernel`` is "components": edges hand the smallest label on. The first
round joins all local arcs; a later one only carries labels that fell from a component's few vertices which other
ranks know to the others of them. So there are as many rounds as components lie in a row across ranks, and not as
many as the graph's diameter; on one rank there is one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.backend.base import SharedMachine
from dgraph.backend.cpu import components as kernel
from dgraph.backend.cpu.threads import Team
from dgraph.backend.portable import Portable, between_rounds
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced


class UnionFind(SharedMachine):
    """What the engine and the synchronisation ask of a ``Machine``, for one program with one MIN field of ids.

    Attributes:
        state: the field → int64 (masters + mirrors,).
    """

    direction, dirties, done, compiled = "push", False, False, False
    round = total_active = total_edges = 0

    def __init__(self, traced: Traced, local: LocalGraph, team: Team):
        self.traced, self.local, self.team = traced, local, team
        (self.field,) = traced.proposes
        self.state = {self.field: np.empty(local.size, np.int64)}
        self.compiled = kernel.components in _ready
        self.edges = 0
        self._parent = np.empty(local.size, np.uint32)
        self._joined, self._named, self._ascending = False, local.original, local.ascending
        self._known, self._entering = local.known, local.entering
        own, away = len(self._known) - local.mirrors, local.mirrors
        self._lowest = np.empty(0 if self._alone else local.size, np.int64)
        self._marks = np.zeros(0 if self._alone else local.size, np.uint8)
        self._lists: tuple[np.ndarray, np.ndarray] | None = None
        self._fell, self._touched = np.empty(own, np.uint32), np.empty(own, np.uint32)
        self._mirrors, self._heard = np.empty(away, np.uint32), np.empty(away, np.uint32)
        self._fallen = self._touching = self._fallen_mirrors = self._hearing = 0

    @property
    def _label(self) -> np.ndarray:
        return self.state[self.field]

    @property
    def _alone(self) -> bool:
        return self._known.size == 0

    # what the engine asks for

    def compile(self) -> None:
        """Compile, or load from the cache folder, everything that the rounds will call."""
        one, nothing, ids, marks = np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.int64), self._marks[:0]
        self._join(1, one, nothing, nothing, ids, 0, nothing, ids, nothing)
        kernel.labelled(0, 1, nothing, ids, ids, 0)
        kernel.known_labels(nothing, nothing, ids, ids, ids, 0, marks, nothing, nothing)
        kernel.lists(nothing, nothing, nothing, nothing)
        kernel.lowered(nothing, nothing, ids, ids, marks, nothing, 0, nothing, 0)
        kernel.spread_widely(nothing, nothing, ids, nothing, ids, 0, marks, nothing, 0, nothing, 0)
        kernel.spread(nothing, ids, nothing, ids, nothing, nothing, 0, marks, nothing, 0, nothing, 0)
        _ready.add(kernel.components)

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Every vertex is its own component."""
        self._label[:] = self.local.original
        self.active, self.edges = self.local.masters, int(self.local.out_degree[: self.local.masters].sum())

    def edge(self) -> None:
        """The components of the local arcs; later what mirrors heard, inside their components."""
        self._marks[self._fell[: self._fallen]] &= ~kernel.LISTED
        self._fallen = 0
        if not self._joined:
            self._first()
            self._joined = True
        else:
            self._spread(self._heard[: self._hearing])
            self._hearing = 0

    def vertex(self) -> None:
        """What masters heard, inside their components; masters whose label fell in this round are the frontier."""
        self._spread(self._touched[: self._touching])
        self._touching = 0
        self.active, self.edges = self._fallen + self._fallen_mirrors, 0

    def fused(self, limit: int) -> int:
        """The one round that a graph without mirrors takes."""
        self.edge()
        self.vertex()
        self.agreed(np.zeros(2, np.int64), np.empty(0), False)
        return 1

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """This rank's vertices and edges that make another round necessary; there are no sums."""
        return np.array([self.active, self.edges], np.int64), np.empty(0)

    def agreed(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Take in the totals of all ranks."""
        self.round += not starting
        self._ring = np.array([[self.total_active, self.total_edges, 0]])
        self.total_active, self.total_edges = (int(x) for x in integers)
        self.done = not starting and self.total_active == 0

    def globals(self) -> dict[str, int | float]:
        """None."""
        return {}

    def figures(self, first: int) -> np.ndarray:
        """Of the one fused round; int64 (1, 3)."""
        return self._ring

    def fields(self) -> dict[str, np.ndarray]:
        """Masters' labels; also before the end, where a limit came first."""
        masters = self.local.masters
        if not self._alone and self._joined:
            self.team.run(kernel.labelled, self._threads, self._parent, self._lowest, self._label, masters)
        return {self.field: self._label[:masters]}

    def portable(self) -> Portable:
        """Labels. Who is active is not said: the forest that knew is not kept, so everybody tells what it knows."""
        masters, arcs = self.local.masters, self.local.arcs
        shared = between_rounds(self.traced, self.round, self.local.n, arcs, arcs)
        return Portable(self.fields(), np.ones(masters, np.uint8), np.zeros(masters, np.uint8), shared)

    def restore(self, kept: Portable) -> None:
        """Join the local arcs anew, from the labels that are known; alone, the one round begins again."""
        self.round = kept.shared["round"]
        if not self._alone:
            masters = self.local.masters
            self._label[:masters] = kept.fields[self.field]
            self._named, self._ascending = self.local.original.copy(), 0
            self._named[:masters] = self._label[:masters]

    # what the synchronisation asks for

    def frontier(self) -> np.ndarray:
        """lids of masters whose label fell (uint32)."""
        return self._fell[: self._fallen]

    dirty = frontier

    def take_mirrors(self) -> np.ndarray:
        """lids of mirrors whose label fell."""
        lids, self._fallen_mirrors = self._mirrors[: self._fallen_mirrors], 0
        self._marks[lids] &= ~kernel.LISTED
        return lids

    def reset(self, lids: np.ndarray | slice) -> None:
        """Nothing: combining a label twice does no harm."""

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Mirrors' labels into masters ``lids[positions]``."""
        self._touching, self._fallen = kernel.lowered(
            lids, positions, values[0], self._label, self._marks,
            self._touched, self._touching, self._fell, self._fallen,
        )  # fmt: skip

    def join(self, lids: np.ndarray) -> None:
        """Mirrors heard a new label."""
        self._heard[self._hearing : self._hearing + len(lids)] = lids
        self._hearing += len(lids)

    # inside

    @property
    def _threads(self) -> int:
        return self.team.size if len(self.local.out.neighbours) > kernel.CHUNK else 1

    def _join(self, threads, offsets, neighbours, entering, original, ascending, parent, lowest, left) -> None:
        shared, gate = np.zeros(kernel.LARGEST + 8, np.int64), np.zeros(16, np.int64)
        self.team.run(
            kernel.components, threads, offsets, neighbours, entering, original, ascending, parent, lowest, left,
            shared, gate,
        )  # fmt: skip

    def _first(self) -> None:
        local, label = self.local, self._label
        lowest = label if self._alone else self._lowest
        neighbours = local.out.neighbours.view(np.uint32)
        self._join(
            self._threads, local.out.offsets, neighbours, self._entering, self._named, self._ascending,
            self._parent, lowest, np.empty_like(self._entering),
        )  # fmt: skip
        if self._alone:
            self.team.run(kernel.labelled, self._threads, self._parent, label, label, local.size)
            return
        self._fallen, self._fallen_mirrors = kernel.known_labels(
            self._known, self._parent, lowest, label, local.original, local.masters,
            self._marks, self._fell, self._mirrors,
        )  # fmt: skip

    def _spread(self, lids: np.ndarray) -> None:
        """From vertices whose label fell to all of their components that other ranks know."""
        if not len(lids):
            return
        if kernel.MANY * len(lids) > len(self._known):
            self._fallen, self._fallen_mirrors = kernel.spread_widely(
                lids, self._known, self._label, self._parent, self._lowest, self.local.masters, self._marks,
                self._fell, self._fallen, self._mirrors, self._fallen_mirrors,
            )  # fmt: skip
            return
        if self._lists is None:
            self._lists = np.empty(self.local.size, np.uint32), np.empty(self.local.size, np.uint32)
            kernel.lists(self._known, self._parent, *self._lists)
        self._fallen, self._fallen_mirrors = kernel.spread(
            lids, self._label, self._parent, self._lowest, *self._lists, self.local.masters, self._marks,
            self._fell, self._fallen, self._mirrors, self._fallen_mirrors,
        )  # fmt: skip


_ready: set = set()
"""Kernels whose machine code this process has."""
