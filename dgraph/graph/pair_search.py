"""Path of fewest arcs between two vertices, by one thread that searches from both ends [Pohl 1971].

Each step expands a whole level of the end whose next level has fewer arcs, until a level meets the other end's last
one: then all shortest paths pass the vertices where they meet. The path is that of a search from the source in which a
vertex keeps its smallest predecessor, so it does not depend on where the ends met.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit


def path_between(
    offsets: np.ndarray, targets: np.ndarray, in_offsets: np.ndarray, in_sources: np.ndarray, source: int, target: int
) -> np.ndarray:
    """Return the path of fewest arcs with the smallest predecessors, from its end on.

    Args:
        offsets: int64 (n + 1,), rows of out-neighbours.
        targets: uint32 (arcs,), out-neighbours, row after row.
        in_offsets: int64 (n + 1,), rows of in-neighbours; of an undirected graph ``offsets``.
        in_sources: uint32 (arcs,), in-neighbours; of an undirected graph ``targets``.
        source: row of the first vertex.
        target: row of the last vertex.

    Returns:
        Rows of its vertices, int64, both ends included; of shape (0,) if ``target`` is not reached.
    """
    if source == target:
        return np.array([source])
    levels, parents = np.zeros(len(offsets) - 1, np.int32), np.empty(len(offsets) - 1, np.int64)
    length = _meet(offsets, targets, in_offsets, in_sources, source, target, levels, parents)
    path = np.empty(length, np.int64)
    _follow(parents, source, target, path)
    return path


@njit(cache=True, nogil=True)
def _meet(offsets, targets, in_offsets, in_sources, source, target, levels, parents):
    """Fill ``parents`` along the shortest paths; return the number of vertices of one, 0 if there is none.

    Args:
        offsets: of out-neighbours, as all arrays those of :func:`path_between`.
        targets: out-neighbours.
        in_offsets: of in-neighbours.
        in_sources: in-neighbours.
        source: first vertex.
        target: last vertex.
        levels: int32 (n,), zeros: then k + 1 on level k from the source, -(k + 1) on level k from the target.
        parents: int64 (n,): smallest predecessor; n on levels from the target until a shortest path leads there.
    """
    n = len(levels)
    ahead, behind = [np.int64(source)], [np.int64(target)]
    arcs_ahead, arcs_behind = offsets[source + 1] - offsets[source], in_offsets[target + 1] - in_offsets[target]
    levels[source], levels[target], parents[source], parents[target] = 1, -1, -1, n
    depth, height = 1, 1
    meeting = [np.int64(0)]
    meeting.clear()
    while len(meeting) == 0 and len(ahead) > 0 and len(behind) > 0:
        following = [np.int64(0)]
        following.clear()
        arcs = 0
        if arcs_ahead <= arcs_behind:
            for u in ahead:
                for arc in range(offsets[u], offsets[u + 1]):
                    v = np.int64(targets[arc])
                    if levels[v] == 0:
                        levels[v], parents[v] = depth + 1, u
                        following.append(v)
                        arcs += offsets[v + 1] - offsets[v]
                    elif levels[v] == depth + 1:
                        parents[v] = min(parents[v], u)
                    elif levels[v] < 0:
                        if parents[v] == n:
                            meeting.append(v)
                        parents[v] = min(parents[v], u)
            ahead, arcs_ahead = following, arcs
            depth += 1
        else:
            for v in behind:
                for arc in range(in_offsets[v], in_offsets[v + 1]):
                    u = np.int64(in_sources[arc])
                    if levels[u] == 0:
                        levels[u], parents[u] = -(height + 1), n
                        following.append(u)
                        arcs += in_offsets[u + 1] - in_offsets[u]
                    elif levels[u] == depth:
                        levels[u] = -(height + 1)
                        meeting.append(u)
            behind, arcs_behind = following, arcs
            height += 1
    if len(meeting) == 0:
        return 0
    _lead_on(offsets, targets, levels, parents, meeting)
    return depth + height - 1


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
def _follow(parents, source, target, path):
    """Fill ``path`` with the vertices from ``source`` to ``target``."""
    v = target
    for place in range(len(path) - 1, -1, -1):
        path[place] = v
        v = parents[v]
