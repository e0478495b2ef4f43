"""Truss decomposition of a graph that is whole on this rank, on a team of threads [Kabir & Madduri, HPEC 2017: PKT].

Level by level, edges with no more triangles than the level leave in rounds. A leaving edge takes each of its triangles
from the two other edges; if two edges of a triangle leave in one round, the one with the smaller id takes it from the
third. PKT marks a row for every edge. Here the edges that leave are listed by their higher end, so that a row is marked
once a round, or searched if few entries are looked up in it; and rows lose their dead entries whenever half have died.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import (
    INNER,
    OPTIONS,
    add_into,
    barrier,
    fetch_add,
    load,
    load_acquire,
    store,
    swap,
)
from dgraph.backend.cpu.threads.plain_kernels import does_without
from dgraph.backend.cpu.threads.team import Team
from dgraph.graph.halo import DegreeRows

ALIVE, LEAVING, GONE = np.uint8(0), np.uint8(1), np.uint8(2)
CHUNK = 4
"""Higher ends that a thread takes at a time."""
WINDOW = 16
"""Levels whose edges one pass over all edges finds."""
MANY = 64
"""Listed vertices from which all threads run a round; one thread saves the barriers of smaller ones."""
NONE = np.iinfo(np.int32).max

LEFT, AT_LAST, TAKEN, FALLEN, FALLEN_FROM, LAST, COUNT = range(0, 56, 8)
"""Words of ``shared``, a cache line each: edges left; the same when rows were compacted; listed vertices that threads
took; edges that fell into the window, and the first that fell into this one; its last level; listed vertices (two)."""


class WholePeel:
    """Edges of a whole graph by id, and the rounds that peel them.

    Attributes:
        support: int32 (edges,): remaining triangles; of an edge that left, the level at which it did.
        ends: uint32 (2 * edges,): numbers of the higher and the lower end of each.
        state: uint8 (edges,): ALIVE, LEAVING or GONE.
    """

    def __init__(self, full: DegreeRows, support: np.ndarray, team: Team):
        lower = np.flatnonzero(full.lower)
        edges, n = lower.size, len(full.offsets) - 1
        self.team = team
        self.support, self.state = support[lower], np.zeros(edges, np.uint8)
        self.ends = np.stack([full.sources[lower], full.targets[lower]], axis=1).ravel()
        rows = full.offsets, full.offsets[1:].copy(), full.targets.copy(), np.empty(len(full.targets), np.uint32)
        _number(full.offsets, rows[2], rows[3], full.offsets[1:].copy())
        self._lists = (  # of listed edges: first by higher end and round, next by edge; higher ends; fallen edges
            np.full(2 * n, -1, np.int32), np.empty(edges, np.int32), np.empty(2 * n, np.uint32),
            np.empty(edges, np.uint32),
        )  # fmt: skip
        self._waiting = np.arange(edges, dtype=np.uint32), np.empty(edges, np.uint32)
        self._counts = np.array([edges, 0])  # waiting edges of later windows, and of this one
        self._shared, self._gate = np.zeros(64, np.int64), np.zeros(16, np.int64)
        self._shared[[LEFT, AT_LAST, LAST]] = edges, edges, -1
        self._places = np.zeros((team.size, n), np.uint32)
        self._graph = (*rows, self.ends, self.support, self.state)
        self._side, self._fresh = 0, True

    @property
    def left(self) -> int:
        """Edges that are left."""
        return int(self._shared[LEFT])

    def least(self, above: int) -> int:
        """Return the smallest number of triangles of an edge that is left when level ``above`` has ended."""
        return int(_lowest(above, self.support, *self._waiting, self._lists[3], self._counts, self._shared))

    def peel(self, level: int, rounds: int) -> tuple[int, bool]:
        """Peel edges with ``level`` triangles for up to that many rounds, or go on with a level that did not end.

        Returns:
            The rounds that were run, and True if the level has ended.
        """
        if self._fresh:
            _find(level, self._side, self._graph, self._waiting, self._lists, self._counts, self._shared)
        threads = self.team.size if self._shared[COUNT + self._side] >= MANY else 1
        used = self.team.run(
            _peel, threads, level, rounds, self.team.size, self._side, self._graph, self._lists, self._places,
            self._shared, self._gate,
        )  # fmt: skip
        self._side = (self._side + used) % 2
        self._fresh = self._shared[COUNT + self._side] == 0
        return used, self._fresh


def suits(arcs: int) -> bool:
    """Return True if these rounds pay: ids of edges have 31 bits, and first runs on few arcs do without."""
    return arcs < 2**32 and not does_without(_peel, arcs)


@njit(cache=True, nogil=True)
def _number(offsets, targets, ids, free):
    """Write the id of each entry's edge; edges are numbered in the order of the entries of their higher ends.

    ``free``: the end of each row; changed.
    """
    for v in range(len(free)):
        for i in range(offsets[v], offsets[v + 1]):
            if targets[i] > v:
                free[v] = i
                break
    count = 0
    for v in range(len(free)):
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if u > v:
                break
            ids[i] = ids[free[u]] = count
            free[u] += 1
            count += 1


@njit(cache=True, nogil=True)
def _lowest(above, support, live, candidates, fallen, counts, shared):
    """Return the smallest support above a level that has ended; NONE if no edge is left."""
    least = _fewest(above, support, candidates[: counts[1]], NONE)
    least = _fewest(above, support, fallen[shared[FALLEN_FROM] : shared[FALLEN]], least)
    return least if least < NONE else _fewest(above, support, live[: counts[0]], NONE)


@njit(cache=True, nogil=True)
def _fewest(above, support, edges, least):
    for e in edges:
        if above < support[e] < least:
            least = support[e]
    return least


@njit(**INNER)
def _push(e, ends, lists, side, shared):
    """List an edge by its higher end for a round."""
    first, following, vertices = lists[0], lists[1], lists[2]
    v, n = np.int64(load(ends, 2 * e)), len(vertices) // 2
    before = swap(first, side * n + v, np.int32(e))
    store(following, e, before)
    if before < 0:
        store(vertices, side * n + fetch_add(shared, COUNT + side, 1), np.uint32(v))


@njit(**INNER)
def _lose(e, level, last, ends, support, lists, side, shared, alone):
    """Take a triangle from an edge; list it if it has no more of them than the level now."""
    if load(support, e) <= level:
        return
    before = add_into(support, e, np.int32(-1), alone)
    if before == level + 1:
        _push(e, ends, lists, side, shared)
    elif before <= level:
        add_into(support, e, np.int32(1), alone)
    elif before == last + 1:
        store(lists[3], fetch_add(shared, FALLEN, 1), np.uint32(e))


@njit(**INNER)
def _destroy(e, i, j, level, last, graph, lists, side, shared, alone):
    """Take the triangle of the leaving edge ``e`` and the edges of entries i and j from those of the two that stay."""
    ids, ends, support, state = graph[3], graph[4], graph[5], graph[6]
    one, two = np.int64(load(ids, i)), np.int64(load(ids, j))
    first, second = load(state, one), load(state, two)
    if first == GONE or second == GONE:
        return
    if first == ALIVE and (second == ALIVE or e < two):
        _lose(one, level, last, ends, support, lists, side, shared, alone)
    if second == ALIVE and (first == ALIVE or e < one):
        _lose(two, level, last, ends, support, lists, side, shared, alone)


@njit(**INNER)
def _leave(v, level, last, place, graph, lists, side, shared, alone):
    """Let the listed edges of the higher end ``v`` leave: look the rows of their lower ends up in that of ``v``."""
    offsets, stops, targets, ends, following = graph[0], graph[1], graph[2], graph[4], lists[1]
    head = np.int64(load(lists[0], side * (len(lists[2]) // 2) + v))
    first, stop, work, e = load(offsets, v), load(stops, v), 0, head
    while e >= 0:
        u = np.int64(load(ends, 2 * e + 1))
        work += load(stops, u) - load(offsets, u)
        e = np.int64(load(following, e))
    steps, size = 1, stop - first
    while size > 1:
        size, steps = size >> 1, steps + 1
    marked = stop - first < work * steps
    if marked:
        for i in range(first, stop):
            store(place, np.int64(load(targets, i)), np.uint32(i - first + 1))
    e = head
    while e >= 0:
        u, low = np.int64(load(ends, 2 * e + 1)), first
        for j in range(load(offsets, u), load(stops, u)):
            w = load(targets, j)
            if marked:
                mark = np.int64(load(place, np.int64(w)))
                if mark:
                    _destroy(e, first + mark - 1, j, level, last, graph, lists, 1 - side, shared, alone)
                continue
            high = stop
            while low < high:
                middle = (low + high) >> 1
                if load(targets, middle) < w:
                    low = middle + 1
                else:
                    high = middle
            if low == stop:
                break
            if load(targets, low) == w:
                _destroy(e, low, j, level, last, graph, lists, 1 - side, shared, alone)
        e = np.int64(load(following, e))
    if marked:
        for i in range(first, stop):
            store(place, np.int64(load(targets, i)), np.uint32(0))


@njit(**INNER)
def _set(t, threads, count, value, graph, lists, side):
    """Set the state of all listed edges; return their number, of this thread. Edges that are gone leave the lists."""
    state = graph[6]
    first, following, vertices, edges = lists[0], lists[1], lists[2], 0
    n = len(vertices) // 2
    for k in range(t, count, threads):
        slot = side * n + np.int64(load(vertices, side * n + k))
        e = np.int64(load(first, slot))
        while e >= 0:
            store(state, e, value)
            edges += 1
            e = np.int64(load(following, e))
        if value == GONE:
            store(first, slot, np.int32(-1))
    return edges


@njit(cache=True, nogil=True)
def _compact(graph):
    """Drop the entries of edges that are gone from the rows."""
    offsets, stops, targets, ids, state = graph[0], graph[1], graph[2], graph[3], graph[6]
    for v in range(len(stops)):
        kept = offsets[v]
        for i in range(kept, stops[v]):
            if state[ids[i]] == ALIVE:
                targets[kept], ids[kept] = targets[i], ids[i]
                kept += 1
        stops[v] = kept


@njit(cache=True, nogil=True)
def _find(level, side, graph, waiting, lists, counts, shared):
    """List the edges with ``level`` triangles; the first pass of a window sorts out the edges of its levels."""
    live, candidates = waiting
    ends, support, fallen = graph[4], graph[5], lists[3]
    if 2 * shared[LEFT] < shared[AT_LAST]:
        _compact(graph)
        shared[AT_LAST] = shared[LEFT]
    if level > shared[LAST]:
        shared[LAST], shared[FALLEN_FROM] = level + WINDOW - 1, shared[FALLEN]
        kept = chosen = 0
        for i in range(counts[0]):
            e = live[i]
            if support[e] > shared[LAST]:
                live[kept] = e
                kept += 1
            elif support[e] >= level:
                candidates[chosen] = e
                chosen += 1
        counts[0], counts[1] = kept, chosen
    kept = 0
    for i in range(counts[1]):
        e = candidates[i]
        if support[e] == level:
            _push(np.int64(e), ends, lists, side, shared)
        elif support[e] > level:
            candidates[kept] = e
            kept += 1
    counts[1] = kept
    for i in range(shared[FALLEN_FROM], shared[FALLEN]):
        e = np.int64(fallen[i])
        if support[e] == level:
            _push(e, ends, lists, side, shared)


@njit(**OPTIONS)
def _peel(t, threads, level, rounds, most, side, graph, lists, places, shared, gate):
    """Run rounds of a level while as many vertices are listed as suit the threads, of which there are ``most``.

    Returns:
        The rounds that were run.
    """
    alone, used, last, n = threads == 1, 0, shared[LAST], len(lists[2]) // 2
    barrier(gate, threads)
    while True:
        count = load_acquire(shared, COUNT + side)
        if count == 0 or used == rounds or (used > 0 and most > 1 and alone == (count >= MANY)):
            break
        leaving = _set(t, threads, count, LEAVING, graph, lists, side)
        fetch_add(shared, LEFT, -leaving)
        barrier(gate, threads)
        while True:
            begin = fetch_add(shared, TAKEN, CHUNK)
            if begin >= count:
                break
            for k in range(begin, min(begin + CHUNK, count)):
                v = np.int64(load(lists[2], side * n + k))
                _leave(v, level, last, places[t], graph, lists, side, shared, alone)
        barrier(gate, threads)
        _set(t, threads, count, GONE, graph, lists, side)
        if t == 0:
            shared[TAKEN] = shared[COUNT + side] = 0
        side, used = 1 - side, used + 1
        barrier(gate, threads)
    return used
