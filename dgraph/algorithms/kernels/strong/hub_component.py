"""Component of the vertex with most arcs by two breadth-first searches, which read few arcs of a graph with hubs.

A search goes along arcs until it has an eighth of the vertices. Then each other vertex looks for one arc to them,
in passes, and most find it at the first arc [Beamer, Asanović & Patterson, SC 2012]; a depth-first search would read
all arcs.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit


@njit(cache=True, nogil=True)
def close_hub(offsets, targets, back_offsets, sources, ids, labels, low, work):
    """Set the labels of the hub's component to its smallest id, and their ``low`` to the vertices plus 1.

    A graph in which passes read more arcs than it has vertices and arcs stays as it was. Returns the component's size,
    or 0.
    """
    count = len(low)
    marks = np.zeros(count, np.uint8)
    hub, most = 0, -1
    for v in range(count):
        arcs = (offsets[v + 1] - offsets[v]) * (back_offsets[v + 1] - back_offsets[v])
        if arcs > most:
            hub, most = v, arcs
    behind = _spread(hub, np.uint8(0), np.uint8(1), offsets, targets, back_offsets, sources, marks, work)
    if not behind or not _spread(hub, np.uint8(1), np.uint8(2), back_offsets, sources, offsets, targets, marks, work):
        return 0
    smallest, size = ids[hub], 0
    for v in range(count):
        if marks[v] == 2:
            smallest = min(smallest, ids[v])
    for v in range(count):
        if marks[v] == 2:
            labels[v], low[v] = smallest, count + 1
            size += 1
    return size


@njit(cache=True, nogil=True)
def _spread(hub, before, after, offsets, targets, back_offsets, sources, marks, work):
    """Replace the mark ``before`` by ``after`` at the hub and all with a path of such vertices to it; False: not all.

    Args:
        hub: vertex.
        before: mark.
        after: mark.
        offsets: int64, of rows.
        targets: vertices, uint32.
        back_offsets: int64, of rows of the reversed graph.
        sources: vertices, uint32.
        marks: uint8 (vertices,).
        work: uint32 (vertices,): list of vertices.
    """
    count, budget = len(marks), offsets[-1] + len(marks)
    marks[hub], work[0], head, tail = after, hub, 0, 1
    while head < tail < count // 8:
        u = np.int64(work[head])
        head += 1
        for e in range(back_offsets[u], back_offsets[u + 1]):
            v = sources[e]
            if marks[v] == before:
                marks[v], work[tail] = after, v
                tail += 1
    if head == tail:
        return True
    looking = 0
    for v in range(count):
        if marks[v] == before and offsets[v] < offsets[v + 1]:
            work[looking] = v
            looking += 1
    passed = looking + 1
    while looking < passed and budget > 0:
        passed, looking = looking, 0
        for i in range(passed):
            v = np.int64(work[i])
            e, last = offsets[v], offsets[v + 1]
            while e < last and marks[targets[e]] != after:
                e += 1
            budget -= e - offsets[v]
            if e < last:
                marks[v] = after
            else:
                work[looking] = v
                looking += 1
    return looking == passed
