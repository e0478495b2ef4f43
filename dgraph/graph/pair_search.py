"""Paths of fewest arcs between two vertices, by one thread that searches from both ends [Pohl 1971].

Each step expands a whole level of the end whose next level has fewer arcs, until a level meets the other end's last
one: their distance is known at the first such vertex. The path is that of a search from the source in which a vertex
keeps its smallest predecessor, so it does not depend on where the ends met. It is read from the target on, by rows of
in-neighbours, which ascend; a vertex that no shortest path passes is tried once. A search clears what it wrote, so the
next one on the same :class:`PairSearch` costs what it reads alone.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit


class PairSearch:
    """Searches between pairs of vertices of one graph; arrays of 16 bytes a vertex stay between them.

    Args:
        offsets: int64 (n + 1,), rows of out-neighbours.
        targets: uint32 (arcs,), out-neighbours, row after row.
        in_offsets: int64 (n + 1,), rows of in-neighbours; of an undirected graph ``offsets``.
        in_sources: uint32 (arcs,), in-neighbours; of an undirected graph ``targets``.
    """

    def __init__(self, offsets: np.ndarray, targets: np.ndarray, in_offsets: np.ndarray, in_sources: np.ndarray):
        n = len(offsets) - 1
        self.rows = offsets, targets, in_offsets, in_sources
        self._levels, self._queue = np.zeros(n, np.int32), np.empty(n, np.uint32)
        self._parents = np.empty(0, np.int64)

    def path(self, source: int, target: int) -> np.ndarray:
        """Return the rows on the path with the smallest predecessors, int64, both ends included; (0,) without a path.

        Args:
            source: row of the first vertex.
            target: row of the last vertex.
        """
        if source == target:
            return np.array([source])
        if not self._parents.size:
            self._parents = np.empty(len(self._levels), np.int64)
        return self._search(source, target, self._parents)[1]

    def hops(self, source: int, target: int) -> int:
        """Return the fewest arcs from ``source`` to ``target``, -1 without a path.

        Args:
            source: row of the first vertex.
            target: row of the last vertex.
        """
        return 0 if source == target else self._search(source, target, np.empty(0, np.int64))[0]

    def _search(self, source: int, target: int, parents: np.ndarray) -> tuple[int, np.ndarray]:
        return _search(*self.rows, source, target, self._levels, self._queue, parents)


@njit(cache=True, nogil=True)
def _search(offsets, targets, in_offsets, in_sources, source, target, levels, queue, parents):
    """Return the arcs of a shortest path, -1 if there is none, and its vertices, (0,) if ``parents`` is empty.

    Args:
        offsets: of out-neighbours, as all arrays those of :class:`PairSearch`.
        targets: out-neighbours.
        in_offsets: of in-neighbours.
        in_sources: in-neighbours.
        source: first vertex.
        target: last vertex.
        levels: int32 (n,), zeros, before and after; during the search k + 1 on level k from the source, -(k + 1) on
            level k from the target.
        queue: uint32 (n,): vertices reached from the source from its begin on, from the target from its end on.
        parents: int64 (n,): smallest predecessor; n on levels from the target until one is found. Of shape (0,) the
            distance alone is computed.
    """
    n = len(levels)
    ahead, front, behind, back = 0, 1, n, n - 1
    queue[0], queue[n - 1] = source, target
    arcs_ahead, arcs_behind = offsets[source + 1] - offsets[source], in_offsets[target + 1] - in_offsets[target]
    levels[source], levels[target] = 1, -1
    paths = len(parents) > 0
    if paths:
        parents[source], parents[target] = -1, n
    depth, height = 1, 1
    met = forward = False
    while ahead < front and back < behind:
        arcs, forward = 0, arcs_ahead <= arcs_behind
        rows, ends = (offsets, targets) if forward else (in_offsets, in_sources)
        low, high, level = (ahead, front, depth + 1) if forward else (back, behind, -(height + 1))
        for place in range(low, high):
            u = np.int64(queue[place])
            for arc in range(rows[u], rows[u + 1]):
                v = np.int64(ends[arc])
                if levels[v] * level < 0:  # of the other end, and on its last level: else the ends had met before
                    met = True
                    if not (paths and forward):
                        break
                    parents[v] = min(parents[v], u)
                elif met:
                    continue  # vertices that are first reached now are on no shortest path
                elif levels[v] == 0:
                    levels[v] = level
                    arcs += rows[v + 1] - rows[v]
                    front, back = (front + 1, back) if forward else (front, back - 1)
                    queue[front - 1 if forward else back] = v
                    if paths:
                        parents[v] = u if forward else n
                elif paths and forward and levels[v] == level:
                    parents[v] = min(parents[v], u)
            if met and not (paths and forward):
                break
        if met:
            break
        if forward:
            ahead, arcs_ahead, depth = high, arcs, depth + 1
        else:
            behind, arcs_behind, height = low, arcs, height + 1
    hops = depth + height - 1 if met else -1
    path = np.empty(hops + 1 if paths else 0, np.int64)
    if len(path):
        path[hops] = target
        _read_path(in_offsets, in_sources, levels, parents, depth, forward, path)
    for place in range(front):
        levels[queue[place]] = 0
    for place in range(back, n):
        levels[queue[place]] = 0
    return hops, path


@njit(cache=True, nogil=True)
def _read_path(in_offsets, in_sources, levels, parents, depth, forward, path):
    """Fill ``path`` from its last vertex on; ``forward``: a level from the source met, so ``parents`` lead to it."""
    n, place = len(levels), len(path) - 1
    arcs = np.empty(len(path), np.int64)  # next in-arc of each vertex on levels from the target
    arcs[place] = in_offsets[path[place]]
    while place >= depth:
        v = path[place]
        last = place == depth  # of the levels from the target
        wanted = depth if last else place - len(path) - 1
        arc, end = arcs[place], in_offsets[v + 1]
        if last and forward:
            u = parents[v]
        else:
            while arc < end and levels[in_sources[arc]] != wanted:
                arc += 1
            u = np.int64(in_sources[arc]) if arc < end else n
        if u == n:
            levels[v] = 0
            place += 1
            continue
        arcs[place] = arc + 1
        place -= 1
        path[place], arcs[place] = u, in_offsets[u]
    while place > 0:
        place -= 1
        path[place] = parents[path[place + 1]]
