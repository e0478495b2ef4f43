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
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add, load, prefetch
from dgraph.backend.cpu.threads.host_solver import HostSolver
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team
from dgraph.backend.row_solver import RowSize
from dgraph.engine.rounds.context import Context
from dgraph.engine.rounds.passes import boundary
from dgraph.graph.build.memory_pages import mapped_memory
from dgraph.graph.halo import DegreeRows
from partitioning.arrays.lazy_numba import compiles

CHUNK = 32
"""Vertices that a thread takes at a time, hubs first."""

AHEAD, LINE = 8, 16
"""Arcs by which the ends of rows of u are prefetched, and targets in a cache line: most ends lie in two lines."""

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
                return self._merged(ctx)
        counts, degrees = triangles_at(ctx, partial(Counter, self.team), self.team.size)
        return HostCounts(ctx, counts, int(counts.sum()), lambda: degrees)

    def _merged(self, ctx: Context) -> HostCounts:
        """Count on the rows as they are."""
        rows, count = ctx.local.out, ctx.local.size
        # pages without triangles are not touched; NumPy's zeros below 32 MiB may be written by this thread
        triangles, shared = np.frombuffer(mapped_memory(8 * count), np.int64), np.zeros(2, np.int64)
        bounds = np.linspace(0, count, len(rows.neighbours) // MERGED + 2).astype(np.int64)
        for number, (first, last) in enumerate(pairwise(bounds.tolist()), 1):
            shared[0] = first
            self.team.run(_merge, self.team.size, rows.offsets, rows.neighbours, triangles, shared, last)
            boundary(ctx, CANCELLED, number, last - first)
        return HostCounts(ctx, triangles, int(shared[1]), lambda: np.diff(ctx.local.out.simple_rows[0]))


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
def _merge(t, threads, offsets, neighbours, triangles, shared, last):
    """Count triangles u < v < w at each corner; loops and further parallel arcs, which are adjacent, are skipped.

    Rows of u and v are merged from their ends down to v, so that a row of v without a higher neighbour costs one read.
    ``shared`` has the next vertex v, and the corners that all threads counted.
    """
    corners = 0
    while True:
        chunk = fetch_add(shared, 0, MANY)
        if chunk >= last:
            break
        for v in range(chunk, min(chunk + MANY, last)):
            first, stop = load(offsets, v), load(offsets, v + 1)
            highest = np.int64(load(neighbours, stop - 1)) if first < stop else v
            if highest <= v:
                continue
            here, before = 0, np.int64(-1)
            for arc in range(first, stop):
                u = np.int64(load(neighbours, arc))
                if u >= v:
                    break
                i = load(offsets, u + 1) - 1
                w = np.int64(load(neighbours, i))
                if w <= v or u == before:
                    continue
                both, j, other, counted = 0, stop - 1, highest, np.int64(-1)
                while w > v and other > v:
                    if w > other:
                        i -= 1
                        w = np.int64(load(neighbours, i))
                    elif w < other:
                        j -= 1
                        other = np.int64(load(neighbours, j))
                    else:
                        if w != counted:
                            fetch_add(triangles, w, 1)
                            both += 1
                            counted = w
                        i, j = i - 1, j - 1
                        w, other = np.int64(load(neighbours, i)), np.int64(load(neighbours, j))
                before = u
                if both:
                    fetch_add(triangles, u, both)
                    here += both
            if here:
                fetch_add(triangles, v, here)
                corners += 3 * here
    fetch_add(shared, 1, corners)


@plain_first
@njit(**OPTIONS)
def _count(t, threads, offsets, targets, sources, starts, row_offsets, row_targets, places, founds, counts, taken, end):
    place, closed, last = places[t], founds[t], len(counts) - 1
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= end:
            return
        for v in range(last - begin, max(last - begin - CHUNK, -1), -1):
            first, stop, least, arc = row_offsets[v], row_offsets[v + 1], starts[v], starts[v + 1]
            if first == stop or least == arc:
                continue
            for i in range(first, stop):
                place[row_targets[i]] = i - first + 1
            here = 0
            while arc > least:
                arc -= 1
                prefetch(offsets, np.int64(load(sources, max(arc - 2 * AHEAD, 0))) + 1)
                end_ahead = load(offsets, np.int64(load(sources, max(arc - AHEAD, 0))) + 1)
                prefetch(targets, end_ahead - 1)
                prefetch(targets, end_ahead - LINE)
                u = np.int64(load(sources, arc))
                both, i = 0, load(offsets, u + 1) - 1
                w = np.int64(load(targets, i))
                while w > v:
                    found_at = np.int64(load(place, w))
                    closed[found_at] += 1  # without a branch: 0 counts the others
                    both += found_at > 0
                    i -= 1
                    w = np.int64(load(targets, i))
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
