"""Dependencies of one source after the other on one thread, by weights or hops, of vertices and arcs [Brandes 2001].

A visit of the vertices, each after its predecessors on shortest paths, counts these paths and logs their arcs. By hops
a queue is that order. By weights the distances from several sources are found together (``searches_kernel.py``), one
look at each arc marks the lanes in which it is on shortest paths, and a vertex joins the queue with the last such arc
that enters it. In the reverse order u → v adds paths(u) · share(v) to the dependency of u, where share(v) is
(goal(v) + dependency(v)) / paths(v) and a goal is 1 where paths to v count, else 0. Rows ascend and a batch is summed
source after source: the bits depend on the graph, the sources and the goals alone.

A number of paths is ``paths · 2^(512 · power)``: float64 alone does not hold those of a long grid.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.lanes import DOWN, LARGE, equal_lanes
from dgraph.algorithms.many_sources.searches_kernel import search
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, pointers, trailing_zeros


@njit(**INNER)
def _shrink(powers):
    """Return the factor of a number of paths that is smaller by these powers."""
    return 1.0 if powers == 0 else DOWN if powers == 1 else 0.0


@njit(**INNER)
def _add_paths(u, v, paths, power):
    """Add the paths over u to those to v, which have another power."""
    if power[u] > power[v]:
        paths[v] *= _shrink(power[u] - power[v])
        power[v] = power[u]
    paths[v] += paths[u] * _shrink(power[v] - power[u])


@njit(**INNER)
def _mark_tight(distance, offsets, targets, costs, none, tight, entering):
    """Mark, for each arc, the lanes in which it is on a shortest path, and count them by the vertex they enter.

    Returns a lane in which such an arc is too light to change a distance, else -1.
    """
    entering[:] = 0
    for u in range(len(offsets) - 1):
        for e in range(offsets[u], offsets[u + 1]):
            v = np.int64(targets[e])
            tight[e] = bits = equal_lanes(distance, u, v, costs[e], none)
            while bits:
                lane = trailing_zeros(bits)
                bits &= bits - 1
                if distance[u, lane] == distance[v, lane]:
                    return np.int64(lane)
                entering[v, lane] += 1
    return -1


@njit(**INNER)
def _visit(lane, source, offsets, targets, tight, entering, beyond, order, paths, power, log, starts):
    """Visit the vertices that a source reaches, and return their number; the arcs of vertex i are logged at starts[i].

    By weights, a vertex joins the queue with the last arc of the lane that enters it. By hops, where ``tight`` and
    ``entering`` are None, with the first one, and ``beyond`` is 1 at the vertices of later levels. Before a visit all
    ``paths`` are 0, and all ``beyond`` 1.
    """
    order[0], head, level, tail, logged = source, 0, 0, 1, 0
    paths[source], power[source] = 1.0, 0
    while head < tail:
        if tight is None and head == level:
            for i in range(head, tail):
                beyond[order[i]] = 0
            level = tail
        u, first = order[head], logged
        starts[head] = first
        head += 1
        if paths[u] > LARGE:
            paths[u] *= DOWN
            power[u] += 1
        for e in range(offsets[u], offsets[u + 1]):  # no branch: most arcs are on no shortest path
            log[logged] = e
            logged += beyond[targets[e]] if tight is None else tight[e] >> lane & 1
        for k in range(first, logged):
            v = targets[log[k]]
            joins = new = paths[v] == 0.0
            if tight is not None:
                entering[v, lane] -= 1
                joins = entering[v, lane] == 0
            if new:
                power[v] = power[u]
            if power[u] == power[v]:
                paths[v] += paths[u]
            else:
                _add_paths(u, v, paths, power)
            if joins:
                order[tail] = v
                tail += 1
    starts[tail] = logged
    return tail


@njit(**INNER)
def _add_dependencies(
    source, count, targets, order, paths, power, beyond, share, log, starts, ends, of_arcs, goals, vertices, arcs
):
    """Add the dependencies of a source to ``vertices``, with ``of_arcs`` those of arcs to ``arcs``; clear its visit."""
    for i in range(count - 1, -1, -1):
        u, dependency = order[i], 0.0
        mine, own = paths[u], power[u]
        for k in range(starts[i + 1] - 1, starts[i] - 1, -1):
            e = log[k]
            v = targets[e]
            part = mine * share[v]
            if own != power[v]:
                part *= _shrink(power[v] - own)
            dependency += part
            if of_arcs:
                arcs[e] += part
        share[u] = (goals[u] + dependency) / mine
        paths[u], beyond[u] = 0.0, 1
        vertices[u] += dependency + ends if u != source else ends * (count - 1)


@njit(**OPTIONS)
def sum_batch(
    t, threads, sources, first, size, offsets, targets, costs, into, in_tails, tolls, width, limit, none, rows, least,
    queues, places, tights, enterings, light, ends, of_arcs, goals, floats, numbers, beyonds, logs, startses, vertices,
    arcs,
):  # fmt: skip
    """Sum the dependencies of ``size`` sources from ``first + t · size`` on into row t of ``vertices`` and ``arcs``.

    By hops, the arguments from ``costs`` to ``enterings`` are None. By weights, ``light[t]`` becomes the number of a
    source from which an arc is too light, else -1. With ``ends`` 1.0, a path counts for its two ends too.
    """
    begin = min(first + t * size, len(sources))
    mine, tight, entering = sources[begin : begin + size], None, None
    light[t] = -1
    if costs is not None:
        tight, entering = tights[t], enterings[t]
        search(
            mine, rows[t], offsets, targets, costs, into, in_tails, tolls, width, limit, none, least[t], queues[t, 0],
            queues[t, 1], places[t],
        )  # fmt: skip
        lane = _mark_tight(rows[t], offsets, targets, costs, none, tight, entering)
        if lane >= 0:
            light[t] = mine[lane]
            return
    n, m = len(offsets) - 1, len(targets)
    offsets, targets, goals, share, paths, order, power, beyond, log, starts, of_vertices, of_edges = pointers(
        (
            offsets, targets, goals, floats[t, 0], floats[t, 1], numbers[t, 0], numbers[t, 1], beyonds[t], logs[t],
            startses[t], vertices[t], arcs[t],
        )
    )  # fmt: skip
    for v in range(n):
        of_vertices[v] = 0.0
    for e in range(m * of_arcs):
        of_edges[e] = 0.0
    for lane in range(len(mine)):
        source = mine[lane]
        count = _visit(lane, source, offsets, targets, tight, entering, beyond, order, paths, power, log, starts)
        _add_dependencies(
            source, count, targets, order, paths, power, beyond, share, log, starts, ends, of_arcs, goals, of_vertices,
            of_edges,
        )  # fmt: skip
