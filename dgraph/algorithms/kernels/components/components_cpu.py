"""Connected components on CPUs: union-find inside a rank, label exchange between ranks.

The machine replaces the rounds of any program whose ``kernel`` is "components" and whose edges pass the smallest label
on. The first round joins all local arcs. Later rounds only carry labels from shared vertices to the root of their local
tree, and from there to its other shared vertices. There are therefore as many rounds as local trees lie in a row along
a component, however large the diameter of the graph is; one rank needs one round.

Between exchanges only roots have current labels. Mirrors get theirs just before a reduce, masters just before a
broadcast, so a broadcast that overwrites a mirror with an older label does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dgraph._support.first_runs import first_run, ran_plain
from dgraph.algorithms.kernels.components import union_find as kernel
from dgraph.algorithms.kernels.one_round import OneRound
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.interface import SharedMachine
from dgraph.backend.snapshot import Snapshot, between_rounds
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced
from partitioning.arrays.lazy_numba import FEW, ready

FEW_AT_FIRST = 1 << 23
"""Arcs up to which NumPy joins them until machine code pays, which takes 3 s."""

FIRST, WIDE = 2, 6
"""Thresholds on scans of all shared vertices.

FIRST: the first scans of mirrors and of masters, which always run. WIDE: scans before lists by root are built, which
takes about as long as those.
"""

MANY = 8
"""Fraction (1/MANY) of the shared vertices after which a walk along lists is abandoned for a full scan."""


class UnionFind(OneRound, SharedMachine):
    """CPU machine for one program with one MIN field of ids.

    Attributes:
        state: the field → int64 (masters + mirrors,).
        roots: trees of the forest.
    """

    direction, dirties, compiled, loaded = "push", False, False, False

    def __init__(self, traced: Traced, local: LocalGraph, team: Team):
        self.traced, self.local, self.team = traced, local, team
        (self.field,) = traced.proposes
        self.state = {self.field: np.empty(local.size, np.int64)}
        self._run = first_run("components", max(self._rows[1].size, local.size), FEW, FEW_AT_FIRST)
        self.compiled = self._run.uncompiled or kernel.components in _ready
        self._parent, self.edges, self.roots = np.empty(local.size, np.uint32), 0, local.size
        self._joined, self._initial_labels, self._ascending = False, local.original, local.ascending
        self._alone = not (local.own_mirrors or local.peer_mirrors)
        self.loaded = self.compiled and self._alone
        self._masters_read, self._mirrors = local.masters_read, np.arange(local.masters, local.size, dtype=np.uint32)
        vertices = 0 if self._alone else local.size
        self._lowest, self._marks = np.empty(vertices, np.int64), np.zeros(vertices, np.uint8)
        self._masters_lowered, self._mirrors_lowered = np.empty_like(self._masters_read), np.empty_like(self._mirrors)
        self._lowered = self._lowered_mirrors = 0
        self._roots = np.empty(2 * vertices, np.uint32)
        self._before = self._since = self._scans = 0
        self._lists: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def _label(self) -> np.ndarray:
        return self.state[self.field]

    # called by the engine

    def compile(self) -> None:
        """Compile, or load from the cache folder, everything that the rounds will call."""
        rows, ids, nothing, marks = self._rows, self._lowest[:0], self._mirrors[:0], self._marks[:0]
        if not self._run.uncompiled:
            shared = np.zeros(1, np.int64)
            forest = nothing, ids, nothing, nothing, nothing, shared, shared
            words = self._lowest[:0]
            ready(kernel.components, 0, words, 1, *rows, self.local.entering, self._label, 0, *forest)
            ready(kernel.copy_labels, 0, 1, nothing, ids, ids, 0)
            ready(kernel.mark_roots, nothing, nothing, marks)
            if not self._alone:
                ready(kernel.update_labels, nothing, nothing, ids, ids, nothing, 0)
                ready(kernel.lists, nothing, nothing, nothing, nothing)
                ready(kernel.update_below_roots, nothing, nothing, nothing, 0, 0, 0, ids, ids, nothing)
                ready(kernel.lower_masters, nothing, nothing, ids, nothing, ids, marks, nothing)
                ready(kernel.lower_from_mirrors, nothing, ids, nothing, ids, marks, nothing)
                ready(kernel.clear_lowered, nothing, marks)
            _ready.add(kernel.components)

    def start(self, fields: Mapping[str, np.ndarray]) -> None:
        """Make every vertex its own component."""
        local, self.mirrors_current = self.local, True
        if not self._alone:
            self._label[:] = self._lowest[:] = local.original
        edges = local.arcs if self._alone else int(local.out_degree[: local.masters].sum())
        self.active, self.edges = local.masters, edges

    def edge(self) -> None:
        """Join the local arcs in the first round; then give mirrors their roots' labels for the reduce."""
        if not self._joined:
            self._first()
        self._lowered_mirrors = self._update_labels(self._mirrors, self._mirrors_lowered)
        self._advance_roots()

    def vertex(self) -> None:
        """Give masters that other ranks read their roots' labels; those lowered are the frontier."""
        self._lowered = self._update_labels(self._masters_read, self._masters_lowered)
        self.active, self.edges = self._lowered + self._advance_roots(), 0

    def solve(self) -> None:
        """Join all arcs of a graph without mirrors."""
        self.edge()
        self.vertex()

    def fields(self) -> Mapping[str, np.ndarray]:
        """Return the masters' labels; valid before the end too, if a round limit came first."""
        if self._alone and self._joined:
            copied = self.team, self._threads, self._parent, self._lowest
            return ForestLabels(self.field, self.roots, *copied)
        if self._alone:
            return {self.field: self.local.original.copy()}
        masters = self.local.masters
        if self._joined:
            self.team.run(kernel.copy_labels, self._threads, self._parent, self._lowest, self._label, masters)
        return {self.field: self._label[:masters]}

    def snapshot(self) -> Snapshot:
        """Return a snapshot of labels.

        The forest is not stored, so every master is active after a restart.
        """
        masters, arcs = self.local.masters, self.local.arcs
        shared = between_rounds(self.traced, self.round, self.local.n, arcs, arcs)
        return Snapshot(dict(self.fields()), np.ones(masters, np.uint8), np.zeros(masters, np.uint8), shared)

    def restore(self, kept: Snapshot) -> None:
        """Resume from labels; the local arcs are joined again. On one rank the one round is repeated."""
        self.round, self.mirrors_current = kept.shared["round"], False
        if not self._alone:
            self._label[: self.local.masters] = kept.fields[self.field]
            self._initial_labels, self._ascending = self._label, 0

    # called by the synchronisation

    def frontier(self) -> np.ndarray:
        """Return the lids of masters whose label was lowered (uint32)."""
        return self._masters_lowered[: self._lowered]

    dirty = frontier

    def take_mirrors(self) -> np.ndarray:
        """Return the lids of mirrors whose label was lowered."""
        return self._mirrors_lowered[: self._lowered_mirrors]

    def reset(self, lids: np.ndarray | slice) -> None:
        """Do nothing: combining a label twice is harmless."""

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Lower the labels of the roots of masters ``lids[positions]`` to their mirrors' labels."""
        room = self._roots[self._before + self._since :]
        self._since += kernel.lower_masters(lids, positions, values[0], self._parent, self._lowest, self._marks, room)

    def join(self, lids: np.ndarray) -> None:
        """Lower the roots' labels to those that mirrors received."""
        if self._joined:
            room = self._roots[self._before + self._since :]
            self._since += kernel.lower_from_mirrors(lids, self._label, self._parent, self._lowest, self._marks, room)

    # internals

    @property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        csr = self.local.out
        return csr.offsets, csr.neighbours.view(np.uint32)

    @property
    def _threads(self) -> int:
        return 1 if self._run.uncompiled else self.team.size

    def _join(self, threads, offsets, neighbours, entering, original, ascending, parent, lowest) -> int:
        shared, gate = np.zeros(kernel.LARGEST + 8, np.int64), np.zeros(16, np.int64)
        unseen, later, probes = (np.empty(n, np.uint32) for n in (len(entering), 2 * len(parent), kernel.PROBES))
        forest = entering, original, ascending, parent, lowest, unseen, later, probes, shared, gate
        with self._run as uncompiled:
            if uncompiled:
                ran_plain("components")
                kernel.few_components(0, None, threads, offsets, neighbours, *forest)
            else:
                self.team.launch(kernel.components, threads, offsets, neighbours, *forest)
        return int(shared[kernel.ROOTS])

    def _first(self) -> None:
        local = self.local
        if self._alone:
            self._lowest = local.original if local.ascending == local.size else local.original.copy()
        elif self._initial_labels is self._label:
            self._lowest[:] = self._label
        self.roots = self._join(
            self._threads, *self._rows, local.entering, self._initial_labels, self._ascending, self._parent,
            self._lowest,
        )  # fmt: skip
        kernel.mark_roots(self._mirrors, self._parent, self._marks)
        self._joined = True

    def _update_labels(self, vertices: np.ndarray, changed: np.ndarray) -> int:
        """Give ``vertices`` their roots' labels; list the lowered ones in ``changed`` and return their number."""
        roots, count, complete = self._roots[: self._before + self._since], 0, False
        if self._alone or (self._scans >= FIRST and not len(roots)):
            return 0
        if self._scans >= WIDE:
            if self._lists is None:
                self._lists = np.full(self.local.size, kernel.NO_VERTEX), np.empty(self.local.size, np.uint32)
                kernel.lists(self._masters_read, self._parent, *self._lists)
                kernel.lists(self._mirrors, self._parent, *self._lists)
            least, beyond = (
                (0, self.local.masters) if vertices is self._masters_read else (self.local.masters, self.local.size)
            )
            count, complete = kernel.update_below_roots(
                roots, *self._lists, least, beyond, len(vertices) // MANY, self._lowest, self._label, changed
            )
        if not complete:
            count = kernel.update_labels(vertices, self._parent, self._lowest, self._label, changed, count)
            self._scans += 1
        return count

    def _advance_roots(self) -> int:
        """Forget the roots of the second last scan; return how many lowered roots have mirrors.

        Scans alternate between mirrors and masters, so each sees what was lowered since the last but one.
        """
        if self._alone:
            return 0
        lowered = self._roots[self._before : self._before + self._since]
        with_mirrors = kernel.clear_lowered(lowered, self._marks)
        self._roots[: self._since] = lowered
        self._before, self._since = self._since, 0
        return with_mirrors


class ForestLabels(Mapping[str, np.ndarray]):
    """Labels of a graph without mirrors; they are made at first use, since many callers only read their number.

    Args:
        field: name of the labels.
        roots: number of trees.
        team, threads: team that makes the labels, and how many of its threads.
        parent, lowest: forest, and the smallest id of the tree at each root.
    """

    def __init__(
        self, field: str, roots: int, team: Team, threads: int, parent: np.ndarray, lowest: np.ndarray
    ):  # fmt: skip
        self._names, self._roots = [field], roots
        self._forest: tuple | None = (team, threads, parent, lowest)
        self._labels = np.empty(0, np.int64)

    def __getitem__(self, name: str) -> np.ndarray:
        if self._forest is not None:
            team, threads, parent, lowest = self._forest
            labels = np.empty_like(lowest)
            team.run(kernel.copy_labels, threads, parent, lowest, labels, labels.size)
            self._labels, self._forest = labels, None
        return {self._names[0]: self._labels}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return 1

    def own(self, name: str) -> int:
        """Return the number of vertices whose label is their own id: one in each tree."""
        return self._roots


_ready: set = set()
"""Kernels that are compiled in this process."""
