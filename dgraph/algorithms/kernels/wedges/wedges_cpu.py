"""Triangles on CPU threads: wedges of oriented rows are looked up in the row of their middle corner.

Where all rows of one rank are short (roads, grids) they are not oriented: the ends of two adjacent
vertices' rows are merged in place.

[Chiba & Nishizeki 1985; Latapy 2008] Each edge leads from its lower to its higher end in the order of numbers, so each
triangle u → v → w, u → w is found once. For every v its row is marked; then the rest of the row behind v of each u is
looked up. A wedge costs one read of a mark; marks of hubs, whose numbers are the highest, lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.edge_triangles.triangle_counts import CANCELLED, triangles_at
from dgraph.algorithms.kernels.wedges.corner_counts import HostCounts
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.halo import DegreeRows
from partitioning.arrays.lazy_numba import compiles

CHUNK = 32
"""Vertices that a thread takes at a time, hubs first."""

SMALL = 1 << 14
"""Edges up to which one thread counts."""

SHORT, MANY = 16, 1024
"""Longest row of graphs whose rows are merged as they are; vertices of those that a thread takes at a time."""

MERGED = 1 << 24
"""Arcs of such rows between two boundaries, where a run may end."""


class Wedges(HostSolver):
    """Counters of triangles on a team of threads."""

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of oriented rows and of what is counted on them.

        An arc takes 8 as listed, and its half of the oriented ones up to 60 while they are sorted, sent and transposed.
        A vertex takes 100: its degree, place, owner, gid, offsets and counts, a mark of each thread, and the order by
        degree; a master 16 more in the two columns of the answer.
        """
        return 100 * size.vertices + 40 * size.arcs + 16 * size.masters

    def solve(self, ctx: Context) -> HostCounts:
        """Count; ranks move their rows by messages."""
        if ctx.comm.size == 1 and ctx.local.largest_degree <= SHORT and compiles(ctx.local.arcs):
            with ctx.record("compute"):
                return HostCounts(ctx, *self._merged(ctx))
        return HostCounts(ctx, *triangles_at(ctx, partial(Counter, self.team), self.team.size))

    def _merged(self, ctx: Context) -> tuple[np.ndarray, np.ndarray]:
        """Return the triangles at each vertex and its distinct neighbours, of the rows as they are."""
        rows, count = ctx.local.out, ctx.local.size
        triangles, distinct = np.zeros((2, count), np.int64)
        bounds = np.linspace(0, count, len(rows.neighbours) // MERGED + 2).astype(np.int64)
        for number, (begin, end) in enumerate(pairwise(bounds.tolist()), 1):
            taken = np.array([begin])
            self.team.run(_merge, self.team.size, rows.offsets, rows.neighbours, triangles, distinct, taken, end)
            boundary(ctx, CANCELLED, number, end - begin)
        return triangles, distinct


class Counter:
    """Counter of triangles of one set of rows of u, which are oriented.

    Attributes:
        counts: triangles so far, by vertex; each corner of a triangle gets 1. int64 (vertices,).
    """

    def __init__(self, team: Team, rows: DegreeRows):
        self.team, self._rows = team, rows
        self.counts = np.zeros(rows.slots, np.int64)

    def count(self, offsets: np.ndarray, targets: np.ndarray, parts: int) -> Iterator[int]:
        """Add the triangles whose middle corner v has one of these rows; yield the middle corners of each part."""
        rows, (starts, sources) = self._rows, self._rows.entering
        threads = self.team.size if len(sources) > SMALL else 1
        longest = int(np.diff(offsets).max(initial=0))
        place, closed = np.zeros((threads, len(self.counts)), np.uint32), np.zeros((threads, longest + 1), np.int64)
        entering = starts[-1] - starts[::-1]
        bounds = np.searchsorted(entering, entering[-1] * np.arange(1, parts) // parts) // CHUNK * CHUNK
        for begin, end in pairwise([0, *bounds.tolist(), len(self.counts)]):
            self.team.run(
                _count, threads, rows.offsets, rows.targets, sources, starts, offsets, targets, place, closed,
                self.counts, np.array([begin]), end,
            )  # fmt: skip
            yield end - begin


@plain_first
@njit(**OPTIONS)
def _merge(t, threads, offsets, neighbours, triangles, distinct, taken, end):
    """Count triangles u < v < w at each v; loops and further parallel arcs, which are adjacent, are skipped."""
    while True:
        begin = fetch_add(taken, 0, MANY)
        if begin >= end:
            return
        for v in range(begin, min(begin + MANY, end)):
            first, stop, here, before = offsets[v], offsets[v + 1], 0, np.int64(-1)
            for arc in range(first, stop):
                u = np.int64(neighbours[arc])
                if u in (v, before):
                    continue
                before = u
                distinct[v] += 1
                if u > v:
                    continue
                both, i, j, counted = 0, offsets[u + 1] - 1, stop - 1, np.int64(v)
                while neighbours[i] > v and neighbours[j] > v:
                    w, other = np.int64(neighbours[i]), np.int64(neighbours[j])
                    if w == other and w != counted:
                        fetch_add(triangles, w, 1)
                        both += 1
                        counted = w
                    i -= w >= other
                    j -= other >= w
                if both:
                    fetch_add(triangles, u, both)
                    here += both
            if here:
                fetch_add(triangles, v, here)


@plain_first
@njit(**OPTIONS)
def _count(t, threads, offsets, targets, sources, starts, row_offsets, row_targets, places, founds, counts, taken, end):
    place, closed, last = places[t], founds[t], len(counts) - 1
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= end:
            return
        for v in range(last - begin, max(last - begin - CHUNK, -1), -1):
            first, stop = row_offsets[v], row_offsets[v + 1]
            if first == stop or starts[v] == starts[v + 1]:
                continue
            for i in range(first, stop):
                place[row_targets[i]] = i - first + 1
            here = 0
            for arc in range(starts[v], starts[v + 1]):
                u = np.int64(sources[arc])
                both, i = 0, offsets[u + 1] - 1
                while targets[i] > v:
                    found_at = place[targets[i]]
                    closed[found_at] += 1  # without a branch: 0 counts the others
                    both += found_at > 0
                    i -= 1
                if both:
                    fetch_add(counts, u, both)
                    here += both
            for i in range(first, stop):
                if closed[i - first + 1]:
                    fetch_add(counts, np.int64(row_targets[i]), closed[i - first + 1])
                    closed[i - first + 1] = 0
                place[row_targets[i]] = 0
            if here:
                fetch_add(counts, v, here)
