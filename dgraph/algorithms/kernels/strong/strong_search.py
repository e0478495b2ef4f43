"""Strongly connected components by one depth-first search: of small graphs, and of what few vertices are left.

Rounds that split parts are as many as a path has vertices, where ids along it are in no order. So one thread solves
the rest [Slota, Rajamanickam & Madduri: BFS and coloring-based parallel algorithms for strongly connected components,
IPDPS 2014]: on one rank in the rows of the graph; of several each gathers the arcs inside parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.kernels.strong.hub_component import close_hub
from dgraph.algorithms.scc import LevelsBack, Reached, Reaching
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.row_solver import RowSize, RowSolver
from dgraph.engine.rounds.context import Context
from dgraph.graph.local import LocalGraph
from dgraph.graph.rows import edges_of

SMALL = 1 << 22
"""Arcs of graphs that are solved by the search alone."""

MOST = 1 << 22
"""Vertices that several ranks gather, at most, and a quarter of their arcs."""

FEW = 1 << 18
"""Vertices and arcs up to which one search takes less time than its compilation."""


class StrongSearch(RowSolver):
    """Finder of the components of undecided vertices."""

    programs = (Levels(), LevelsBack(), Reaching(), Reached())

    @staticmethod
    def bytes(size: RowSize) -> int:
        """Return the bytes of the search, and on several ranks of the arcs that they gather.

        A vertex takes 64: its part, label, times, cursor, parent and place on the stack. A gathered arc takes 24: its
        ends, in order and as they came; a vertex of the partition its position among the gathered ones, 8.
        """
        if size.masters == size.n:
            return 64 * size.n
        return 8 * size.vertices + 64 * min(size.n, MOST) + 24 * min(size.m, 4 * MOST)

    def fits(self, ctx: Context) -> bool:
        """Return False where the run asks for rounds of programs: a limit of rounds, checkpoints, a direction."""
        return ctx.direction == "auto" and ctx.max_rounds is None and ctx.checkpoints is None

    def alone(self, ctx: Context) -> bool:
        """Return True if the search takes less time for the whole graph than rounds over it may."""
        local = ctx.local
        serial = ctx.comm.size == 1 and (self.backend.host_threads == 1 or local.m < 2 * local.n)
        return serial or local.m <= SMALL

    def solve(self, ctx: Context, part: np.ndarray, undecided: int) -> tuple[np.ndarray, int, int] | None:
        """Return the part of each master, its component where it was undecided; None: ranks have too much; collective.

        Args:
            ctx: the run.
            part: int64 (masters,); negative: undecided, in the part of this number.
            undecided: number of undecided vertices of all ranks.

        Returns:
            Parts; and of the components that were found on all ranks the number, and the vertices of the largest.
        """
        local = ctx.local
        serial = ctx.comm.size == 1
        large = undecided == local.n and local.n + local.arcs > FEW
        back = rows_of(ctx.reversed) if serial and large else None
        with ctx.record("compute"):
            if serial:
                return search(*rows_of(local), part, local.original[: local.masters], back)
            return _gathered(ctx, part) if undecided <= MOST else None


def rows_of(local: LocalGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets, int64, and targets, uint32."""
    csr = local.out
    return csr.offsets, csr.neighbours.view(np.uint32)


def search(
    offsets: np.ndarray, targets: np.ndarray, part: np.ndarray, ids: np.ndarray, back: tuple | None = None
) -> tuple[np.ndarray, int, int]:
    """Return ``part`` with the smallest id of its component for each vertex with a negative one.

    The number of components that were found and the vertices of the largest one follow.

    Args:
        offsets: int64, of rows.
        targets: vertices, uint32; those in other parts are passed over.
        part: int64 (vertices,).
        ids: int64 (vertices,).
        back: offsets and targets of the reversed graph, if it is at hand and no vertex is decided.
    """
    count = len(part)
    split = back is None and bool(count) and part.min() != part.max()
    times, low, stack = np.zeros((3, count), np.uint32)
    columns = offsets, targets, part, ids, part.copy(), offsets[:count].copy(), times, low, np.empty(count, int), stack
    hub = 0 if back is None else close_hub(offsets, targets, *back, ids, columns[4], low, stack)
    components, largest = _search(split, *columns)
    return columns[4], components + (hub > 0), max(largest, hub)


@plain_first(most=FEW)
@njit(cache=True, nogil=True)
def _search(split, offsets, targets, part, ids, labels, cursor, times, low, parent, stack):
    """Set the labels of undecided vertices by Tarjan's search: a component is on the stack above its first vertex.

    As in Pearce's form [2016] an arc reads one number of its end: ``low``, 0 of a new vertex and the largest of a
    vertex whose component is complete. Without ``split`` all vertices are of one part, and parts are not compared.

    Returns the number of components and the vertices of the largest one.
    """
    clock, top, closed, components, largest = 0, 0, len(part) + 1, 0, 0
    for root in range(len(part)):
        if part[root] >= 0 or low[root]:
            continue
        v, parent[root] = root, -1
        while v >= 0:
            if not low[v]:
                clock += 1
                times[v] = low[v] = clock
                stack[top] = v
                top += 1
            step, least, e = -1, low[v], cursor[v]
            while e < offsets[v + 1]:
                w, e = targets[e], e + 1
                if split and part[w] != part[v]:
                    continue
                if not low[w]:
                    step = np.int64(w)
                    break
                least = min(least, low[w])
            cursor[v], low[v] = e, least
            if step >= 0:
                parent[step], v = v, step
                continue
            if least == times[v]:
                last, smallest = top, ids[v]
                while stack[top - 1] != v:
                    top -= 1
                    smallest = min(smallest, ids[stack[top]])
                top -= 1
                components, largest = components + 1, max(largest, last - top)
                for i in range(top, last):
                    labels[stack[i]] = smallest
                    low[stack[i]] = closed
            above = parent[v]
            if above >= 0:
                low[above] = min(low[above], low[v])
            v = above
    return components, largest


def _gathered(ctx: Context, part: np.ndarray) -> tuple[np.ndarray, int, int] | None:
    """Solve the rest on each rank alike; None: it has too many arcs; collective."""
    comm, local = ctx.comm, ctx.local
    open_here = np.flatnonzero(part < 0)
    columns = (local.gids[open_here], part[open_here], local.original[open_here])
    gids, parts, ids = (np.concatenate(comm.allgatherv(np.ascontiguousarray(column))) for column in columns)
    order = np.argsort(gids)
    gids, parts, ids = gids[order], parts[order], ids[order]
    arcs = _arcs(local, gids, parts)
    if ctx.total(len(arcs[0])) > 4 * MOST:
        return None
    sources, targets = (np.concatenate(comm.allgatherv(ends)) for ends in arcs)
    offsets = np.zeros(len(gids) + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=len(gids)), out=offsets[1:])
    labels, components, largest = search(offsets, targets[np.argsort(sources, kind="stable")], parts, ids)
    after = part.copy()
    after[open_here] = labels[np.searchsorted(gids, local.gids[open_here])]
    return after, components, largest


def _arcs(local: LocalGraph, gids: np.ndarray, parts: np.ndarray) -> tuple[Any, Any]:
    """Return both ends of this rank's arcs inside a part, positions in ``gids``, uint32."""
    place = np.minimum(np.searchsorted(gids, local.gids), max(len(gids) - 1, 0))
    place[(gids[place] != local.gids) if len(gids) else slice(None)] = -1
    csr = local.out
    offsets, neighbours = csr.offsets, csr.neighbours.view(np.uint32)
    rows = np.flatnonzero((place >= 0) & (np.diff(offsets) > 0))
    row, arcs = edges_of(offsets, rows)
    sources, targets = place[rows[row]], place[neighbours[arcs]]
    inside = (targets >= 0) & (parts[sources] == parts[targets])
    return sources[inside].astype(np.uint32), targets[inside].astype(np.uint32)
