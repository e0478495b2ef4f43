"""Greedy colouring on CPUs: a vertex folds its row once, when all neighbours of higher priority are coloured.

The program's rounds find the same colours, but fold a row again each time that a neighbour is coloured. A rank that
holds the whole graph colours in the order of priority [Welsh & Powell 1967], in one round. Otherwise each master counts
the neighbours that it waits for. In a round a rank colours all masters that wait for none, and those that this sets
free, before colours are sent. A chain of dependent vertices takes a round for each change of ranks. Each rank uses one
thread.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.kernels.one_round import OneRound
from dgraph.backend.cpu.threads.atomics import INLINE, OPTIONS, mixed
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.interface import SharedMachine
from dgraph.backend.snapshot import Snapshot, between_rounds
from dgraph.graph.local import LocalGraph
from dgraph.program import Traced


class GreedyOnce(OneRound, SharedMachine):
    """CPU machine of ``Greedy``.

    Attributes:
        state: field → array, shape (masters + mirrors,).
    """

    direction, dirties, mirrors_current = "pull", False, True

    def __init__(self, traced: Traced, local: LocalGraph, team: Team):
        self.traced, self.local, size = traced, local, local.size
        self.state = {
            "color": np.empty(size, np.int32),
            "free": np.zeros(size, np.int64),
            "key": np.empty(size, np.int64),
        }
        self._alone = local.masters == local.n
        self._order = np.empty(local.masters if self._alone else 0, np.int64)
        self._starts = np.zeros(local.largest_degree + 2 if self._alone else size - local.masters + 1, np.int64)
        self._seen = np.zeros(local.largest_degree + 2, np.int64)
        self._waiting = np.zeros(0 if self._alone else local.masters, np.int64)
        self._ready = np.empty(0 if self._alone else local.masters, np.uint32)
        self._dependents: np.ndarray | None = None
        self._count = self.active = self.edges = 0

    @property
    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        return self.local.out.offsets, self.local.out.neighbours.view(np.uint32)

    # called by the engine

    @property
    def compiled(self) -> bool:
        """True if this process has the machine code."""
        return self._alone in _compiled

    def compile(self) -> None:
        """Compile, or load from the cache folder, what the rounds call."""
        local, none, lids, two = self.local, np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(2, np.int64)
        color, degree = np.zeros(0, np.int32), local.out_degree[:0]
        draw_keys(local.original[:0], 0, none)
        if self._alone:
            order_by_degree(none, degree, two, none)
            color_in_order(none, *self._rows, color, two)
        else:
            count_waiting(*self._rows, degree, none, color, none, two[:1])
            list_dependents(*self._rows, degree, none, color, 0, two[:1], lids)
            color_ready(lids, 0, *self._rows, color, none, two)
            set_free(lids, 0, two[:1], lids, none, lids, 0)
        _compiled.add(self._alone)

    def start(self, fields: Mapping[str, np.ndarray]) -> None:
        """Draw the keys; no vertex has a colour."""
        self.state["color"][:] = -1
        draw_keys(self.local.original, self.traced.program.parameters["random_state"], self.state["key"])
        self.active, self.edges = self.local.masters, int(self.local.out_degree[: self.local.masters].sum())
        self.done = not self.local.n

    def edge(self) -> None:
        """Do nothing: a vertex reads its neighbours' colours when it is coloured."""

    def vertex(self) -> None:
        """Colour all masters that wait for no mirror; they are the frontier."""
        color = self.state["color"]
        if self._alone:
            self._color_in_order()
            self.active = self.edges = 0
            return
        if self._dependents is None:
            self._count_waiting()
        self._colored = color_ready(self._ready, self._count, *self._rows, color, self._waiting, self._seen)
        self._count, self.active = 0, self._colored
        self.edges = int(self.local.out_degree[self.frontier()].sum())

    def solve(self) -> None:
        """Colour a graph without mirrors."""
        self.vertex()

    def apply_totals(self, integers: np.ndarray, floats: np.ndarray, starting: bool) -> None:
        """Apply the totals of all ranks; a graph without vertices takes no round."""
        super().apply_totals(integers, floats, starting)
        self.done = self.total_active == 0

    def fields(self) -> dict[str, np.ndarray]:
        """Return the masters' values of every field, as views."""
        return {name: values[: self.local.masters] for name, values in self.state.items()}

    def snapshot(self) -> Snapshot:
        """Return a snapshot in which all vertices are active, so that each uncoloured one folds its row."""
        local, masters = self.local, self.local.masters
        shared = between_rounds(self.traced, self.round, local.n, local.m, local.m) | {"pull": 1}
        return Snapshot(self.fields(), np.ones(masters, np.uint8), np.zeros(masters, np.uint8), shared)

    def restore(self, kept: Snapshot) -> None:
        """Resume from colours; what masters wait for is counted anew."""
        self.round, self.mirrors_current, self._dependents = kept.shared["round"], False, None
        self.state["color"][: self.local.masters] = kept.fields["color"]

    # called by the synchronisation

    def frontier(self) -> np.ndarray:
        """Return the lids of the masters that the last round coloured, uint32."""
        return self._ready[: self._colored]

    dirty = frontier
    _colored = 0

    def take_mirrors(self) -> np.ndarray:
        """Return no mirrors: none gets a proposal."""
        return np.empty(0, np.uint32)

    def reset(self, lids: np.ndarray | slice) -> None:
        """Do nothing: mirrors get no proposals."""

    def combine(self, lids: np.ndarray, positions: np.ndarray, values: tuple[np.ndarray, ...]) -> None:
        """Do nothing: mirrors get no proposals."""

    def join(self, lids: np.ndarray) -> None:
        """Set free the masters that wait for these mirrors, which now have colours."""
        if self._dependents is not None:
            self._count = set_free(
                lids, self.local.masters, self._starts, self._dependents, self._waiting, self._ready, self._count
            )

    # internals

    def _color_in_order(self) -> None:
        """Colour all vertices that have no colour yet."""
        self._starts[:] = 0
        order_by_degree(np.argsort(self.state["key"]), self.local.out_degree, self._starts, self._order)
        color_in_order(self._order, *self._rows, self.state["color"], self._seen)

    def _count_waiting(self) -> None:
        """Count what masters wait for, list the dependents of mirrors, and start with masters that wait for nothing."""
        local, color, key, degree = self.local, self.state["color"], self.state["key"], self.local.out_degree
        self._starts[:] = 0
        count_waiting(*self._rows, degree, key, color, self._waiting, self._starts)
        np.cumsum(self._starts, out=self._starts)
        self._dependents = np.empty(self._starts[-1], np.uint32)
        cursor = self._starts[:-1].copy()
        list_dependents(*self._rows, degree, key, color, local.masters, cursor, self._dependents)
        free = np.flatnonzero((self._waiting == 0) & (color[: local.masters] < 0))
        self._ready[: free.size], self._count = free, free.size


_compiled: set[bool] = set()
"""True: the kernels of a whole graph are compiled in this process; False: those of a part."""


# Rows: offsets (vertices + 1,), neighbours uint32. All coloured neighbours of an uncoloured vertex are ahead of it.


@plain_first
@njit(**OPTIONS)
def draw_keys(ids, seed, keys):
    """Hash ``ids`` into ``keys``."""
    for v in range(len(keys)):
        keys[v] = mixed(ids[v], seed)


@plain_first
@njit(**OPTIONS)
def order_by_degree(by_key, degree, starts, order):
    """Sort vertices by degree, then by key, the largest first.

    Args:
        by_key: vertices by ascending key.
        degree: their degrees.
        starts: zeros, longer by 2 than the largest degree.
        order: receives the vertices.
    """
    most = len(starts) - 2
    for v in range(len(order)):
        starts[most - degree[v] + 1] += 1
    for d in range(1, len(starts)):
        starts[d] += starts[d - 1]
    for i in range(len(order) - 1, -1, -1):
        v = by_key[i]
        place = most - degree[v]
        order[starts[place]] = v
        starts[place] += 1


@njit(**INLINE)
def smallest_free(v, offsets, neighbours, color, seen):
    """Return the smallest colour that no neighbour has; ``seen[c] == v + 1`` marks the colours of neighbours."""
    first, last = offsets[v], offsets[v + 1]
    for e in range(first, last):
        taken = color[neighbours[e]]
        if 0 <= taken <= last - first:
            seen[taken] = v + 1
    free = 0
    while seen[free] == v + 1:
        free += 1
    return free


@plain_first
@njit(**OPTIONS)
def color_in_order(order, offsets, neighbours, color, seen):
    """Give each uncoloured vertex of ``order`` its smallest free colour; ``seen``: zeros, longest row + 2."""
    for i in range(len(order)):
        v = order[i]
        if color[v] < 0:
            color[v] = smallest_free(v, offsets, neighbours, color, seen)


@njit(**INLINE)
def is_ahead(u, v, degree, key):
    """Return True if u is coloured before v."""
    return degree[u] > degree[v] or (degree[u] == degree[v] and key[u] > key[v])


@plain_first
@njit(**OPTIONS)
def count_waiting(offsets, neighbours, degree, key, color, waiting, starts):
    """Count the uncoloured neighbours ahead of each uncoloured master, and the masters that wait for each mirror.

    ``waiting`` receives the counts of masters; ``starts``, zeros, those of mirrors from 1 on.
    """
    masters = len(waiting)
    for v in range(masters):
        ahead = 0
        if color[v] < 0:
            for e in range(offsets[v], offsets[v + 1]):
                u = np.int64(neighbours[e])
                if color[u] < 0 and is_ahead(u, v, degree, key):
                    ahead += 1
                    if u >= masters:
                        starts[u - masters + 1] += 1
        waiting[v] = ahead


@plain_first
@njit(**OPTIONS)
def list_dependents(offsets, neighbours, degree, key, color, masters, cursor, dependents):
    """List for each mirror the masters that wait for it, from ``cursor[mirror - masters]`` on."""
    for v in range(masters):
        if color[v] < 0:
            for e in range(offsets[v], offsets[v + 1]):
                u = np.int64(neighbours[e])
                if u >= masters and color[u] < 0 and is_ahead(u, v, degree, key):
                    dependents[cursor[u - masters]] = v
                    cursor[u - masters] += 1


@plain_first
@njit(**OPTIONS)
def color_ready(ready, count, offsets, neighbours, color, waiting, seen):
    """Colour ``ready[:count]``, and all masters that this sets free, which are appended; return how many there are."""
    masters, done = len(waiting), 0
    while done < count:
        v = np.int64(ready[done])
        done += 1
        color[v] = smallest_free(v, offsets, neighbours, color, seen)
        for e in range(offsets[v], offsets[v + 1]):
            u = np.int64(neighbours[e])
            if u < masters and color[u] < 0:
                waiting[u] -= 1
                if waiting[u] == 0:
                    ready[count] = u
                    count += 1
    return count


@plain_first
@njit(**OPTIONS)
def set_free(lids, masters, starts, dependents, waiting, ready, count):
    """Let masters wait no longer for the mirrors ``lids``; append those that wait for nothing; return the new count."""
    for i in range(len(lids)):
        mirror = np.int64(lids[i]) - masters
        for e in range(starts[mirror], starts[mirror + 1]):
            v = dependents[e]
            waiting[v] -= 1
            if waiting[v] == 0:
                ready[count] = v
                count += 1
    return count
