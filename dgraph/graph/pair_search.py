"""Paths of fewest arcs between two vertices, by one thread that searches from both ends [Pohl 1971].

Each step expands a whole level of the end whose next level has fewer arcs, until a level meets the other end's last
one: then all shortest paths pass the vertices where they meet. The path is that of a search from the source in which a
vertex keeps its smallest predecessor, so it does not depend on where the ends met. Their distance is known at the first
such vertex. A search clears what it wrote, so the next one on the same :class:`PairSearch` costs what it reads alone.
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
        path = np.empty(self._search(source, target, self._parents) + 1, np.int64)
        _follow(self._parents, target, path)
        return path

    def hops(self, source: int, target: int) -> int:
        """Return the fewest arcs from ``source`` to ``target``, -1 without a path.

        Args:
            source: row of the first vertex.
            target: row of the last vertex.
        """
        return 0 if source == target else self._search(source, target, np.empty(0, np.int64))

    def _search(self, source: int, target: int, parents: np.ndarray) -> int:
        return _search(*self.rows, source, target, self._levels, self._queue, parents)


@njit(cache=True, nogil=True)
def _search(offsets, targets, in_offsets, in_sources, source, target, levels, queue, parents):
    """Fill ``parents`` along the shortest paths; return the arcs of one, -1 if there is none.

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
        parents: int64 (n,): smallest predecessor; n on levels from the target until a shortest path leads there. Of
            shape (0,) the distance alone is computed.
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
    met = False
    meeting = [np.int64(0)]
    meeting.clear()
    while not met and ahead < front and back < behind:
        arcs, forward = 0, arcs_ahead <= arcs_behind
        rows, ends = (offsets, targets) if forward else (in_offsets, in_sources)
        low, high, level = (ahead, front, depth + 1) if forward else (back, behind, -(height + 1))
        for place in range(low, high):
            u = np.int64(queue[place])
            for arc in range(rows[u], rows[u + 1]):
                v = np.int64(ends[arc])
                if levels[v] * level < 0:  # of the other end, and on its last level: else the ends had met before
                    met = True
                    if not paths:
                        break
                    if not forward or parents[v] == n:
                        meeting.append(v)
                    if forward:
                        parents[v] = min(parents[v], u)
                    else:
                        levels[v] = level
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
            if met and not paths:
                break
        if forward:
            ahead, arcs_ahead, depth = high, arcs, depth + 1
        else:
            behind, arcs_behind, height = low, arcs, height + 1
    if len(meeting) > 0:
        _lead_on(offsets, targets, levels, parents, meeting)
    for place in range(front):
        levels[queue[place]] = 0
    for place in range(back, n):
        levels[queue[place]] = 0
    return depth + height - 2 if met else -1


@njit(cache=True, nogil=True)
def _lead_on(offsets, targets, levels, parents, meeting):
    """Fill ``parents`` from the vertices where both ends met to the target."""
    n, level = len(levels), levels[meeting[0]]
    while level < -1:
        following = [np.int64(0)]
        following.clear()
        for u in meeting:
            for arc in range(offsets[u], offsets[u + 1]):
                v = np.int64(targets[arc])
                if levels[v] == level + 1:
                    if parents[v] == n:
                        following.append(v)
                    parents[v] = min(parents[v], u)
        meeting, level = following, level + 1


@njit(cache=True, nogil=True)
def _follow(parents, target, path):
    """Fill ``path`` from its end, ``target``, on."""
    v = target
    for place in range(len(path) - 1, -1, -1):
        path[place] = v
        v = parents[v]
