"""A machine that finds connected components: union-find inside a rank, smallest labels between ranks.

It stands for the rounds of any program whose ``kernel`` is "components": edges hand the smallest label on. The first
round joins all local arcs; a later one only carries labels from a tree's vertices which other ranks know to its root,
and from there to the others of them. So there are as many rounds as components lie in a row across ranks, and not as
many as the graph's diameter; on one rank there is one.

Between exchanges only roots know a label. Mirrors get theirs just before they tell it, masters just before mirrors with
rows are told: so a broadcast that overwrites a mirror with an older label does no harm.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph.algorithms.kernels import union_find as kernel
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.interface import SharedMachine
from dgraph.backend.snapshot import Snapshot, between_rounds
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced

FIRST, WIDE = 2, 6
"""Looks at all vertices that other ranks know: the first at mirrors and at masters; those before lists are made, which
take about as long."""

MANY = 8
"""A walk along lists is given up after one in so many of those vertices: it takes longer than looking at all."""


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
        self._alone = not (local.mine or local.theirs)
        self._masters_read, self._mirrors = local.masters_read, np.arange(local.masters, local.size, dtype=np.uint32)
        known = 0 if self._alone else local.size
        self._lowest, self._marks = np.empty(known, np.int64), np.zeros(known, np.uint8)
        self._fell, self._fell_mirrors = np.empty_like(self._masters_read), np.empty_like(self._mirrors)
        self._lowered = self._lowered_mirrors = 0
        self._roots = np.empty(2 * known, np.uint32)
        self._before = self._since = self._looks = 0
        self._lists: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def _label(self) -> np.ndarray:
        return self.state[self.field]

    # what the engine asks for

    def compile(self) -> None:
        """Compile, or load from the cache folder, everything that the rounds will call."""
        one, nothing, ids, marks = np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.int64), self._marks[:0]
        self._join(1, one, nothing, nothing, ids, 0, nothing, ids)
        kernel.labelled(0, 1, nothing, ids, ids, 0)
        kernel.mark(nothing, nothing, marks)
        kernel.fallen(nothing, nothing, ids, ids, nothing, 0)
        kernel.lists(nothing, nothing, nothing, nothing)
        kernel.fallen_of(nothing, nothing, nothing, 0, 0, 0, ids, ids, nothing)
        kernel.lowered(nothing, nothing, ids, nothing, ids, marks, nothing)
        kernel.heard(nothing, ids, nothing, ids, marks, nothing)
        kernel.taken(nothing, marks)
        _ready.add(kernel.components)

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """Every vertex is its own component."""
        self._label[:], self.mirrors_current = self.local.original, True
        if not self._alone:
            self._lowest[:] = self.local.original
        self.active, self.edges = self.local.masters, int(self.local.out_degree[: self.local.masters].sum())

    def edge(self) -> None:
        """The components of the local arcs; then mirrors get their roots' labels, which their masters will hear."""
        if not self._joined:
            self._first()
        self._lowered_mirrors = self._look(self._mirrors, self._fell_mirrors)
        self._shift()

    def vertex(self) -> None:
        """Masters that are read elsewhere get their roots' labels: those that fell are the frontier."""
        self._lowered = self._look(self._masters_read, self._fell)
        self.active, self.edges = self._lowered + self._shift(), 0

    def fused(self, limit: int) -> int:
        """The one round that a graph without mirrors takes."""
        self.edge()
        self.vertex()
        self.apply_totals(np.zeros(2, np.int64), np.empty(0), False)
        return 1

    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """This rank's vertices and edges that make another round necessary; there are no sums."""
        return np.array([self.active, self.edges], np.int64), np.empty(0)

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
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

    def portable(self) -> Snapshot:
        """Labels. Who is active is not said: the forest that knew is not kept, so everybody tells what it knows."""
        masters, arcs = self.local.masters, self.local.arcs
        shared = between_rounds(self.traced, self.round, self.local.n, arcs, arcs)
        return Snapshot(self.fields(), np.ones(masters, np.uint8), np.zeros(masters, np.uint8), shared)

    def restore(self, kept: Snapshot) -> None:
        """Join the local arcs anew, from the labels that are known; alone, the one round begins again."""
        self.round, self.mirrors_current = kept.shared["round"], False
        if not self._alone:
            self._label[: self.local.masters] = kept.fields[self.field]
            self._named, self._ascending = self._label, 0

    # what the synchronisation asks for

    def frontier(self) -> np.ndarray:
        """lids of masters whose label fell (uint32)."""
        return self._fell[: self._lowered]

    dirty = frontier

    def take_mirrors(self) -> np.ndarray:
        """lids of mirrors whose label fell."""
        return self._fell_mirrors[: self._lowered_mirrors]

    def reset(self, lids: np.ndarray | slice) -> None:
        """Nothing: combining a label twice does no harm."""

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Mirrors' labels, to the roots of masters ``lids[positions]``."""
        room = self._roots[self._before + self._since :]
        self._since += kernel.lowered(lids, positions, values[0], self._parent, self._lowest, self._marks, room)

    def join(self, lids: np.ndarray) -> None:
        """Mirrors heard a label, which is for their roots."""
        if self._joined:
            room = self._roots[self._before + self._since :]
            self._since += kernel.heard(lids, self._label, self._parent, self._lowest, self._marks, room)

    # inside

    @property
    def _threads(self) -> int:
        return self.team.size if len(self.local.out.neighbours) > kernel.CHUNK else 1

    def _join(self, threads, offsets, neighbours, entering, original, ascending, parent, lowest) -> None:
        shared, gate = np.zeros(kernel.LARGEST + 8, np.int64), np.zeros(16, np.int64)
        left, later, probes = (np.empty(n, np.uint32) for n in (len(entering), 2 * len(parent), kernel.PROBES))
        self.team.run(
            kernel.components, threads, offsets, neighbours, entering, original, ascending, parent, lowest,
            left, later, probes, shared, gate,
        )  # fmt: skip

    def _first(self) -> None:
        local = self.local
        lowest = self._label if self._alone else self._lowest
        if self._named is self._label:
            lowest[:] = self._label
        neighbours = local.out.neighbours.view(np.uint32)
        self._join(
            self._threads, local.out.offsets, neighbours, local.entering, self._named, self._ascending,
            self._parent, lowest,
        )  # fmt: skip
        if self._alone:
            self.team.run(kernel.labelled, self._threads, self._parent, lowest, lowest, local.size)
        kernel.mark(self._mirrors, self._parent, self._marks)
        self._joined = True

    def _look(self, vertices: np.ndarray, out: np.ndarray) -> int:
        """Vertices below a root that fell since the last look at them get its label; how many, listed in ``out``."""
        roots, count, complete = self._roots[: self._before + self._since], 0, False
        if self._looks >= FIRST and not len(roots):
            return 0
        if self._looks >= WIDE:
            if self._lists is None:
                self._lists = np.full(self.local.size, kernel.NOBODY), np.empty(self.local.size, np.uint32)
                kernel.lists(self._masters_read, self._parent, *self._lists)
                kernel.lists(self._mirrors, self._parent, *self._lists)
            least, beyond = (
                (0, self.local.masters) if vertices is self._masters_read else (self.local.masters, self.local.size)
            )
            count, complete = kernel.fallen_of(
                roots, *self._lists, least, beyond, len(vertices) // MANY, self._lowest, self._label, out
            )
        if not complete:
            count = kernel.fallen(vertices, self._parent, self._lowest, self._label, out, count)
            self._looks += 1
        return count

    def _shift(self) -> int:
        """Between two looks, one at mirrors, one at masters: each sees what fell since the last but one."""
        fell = self._roots[self._before : self._before + self._since]
        tell = kernel.taken(fell, self._marks)
        self._roots[: self._since] = fell
        self._before, self._since = self._since, 0
        return tell


_ready: set = set()
"""Kernels whose machine code this process has."""
