"""Dependencies of one source after the other on one thread, by weights or hops, of vertices and arcs [Brandes 2001].

A visit of the vertices, each after its predecessors on shortest paths, counts these paths and logs their arcs. By hops
a queue is that order. By weights the distances from several sources are found together (``searches_kernel.py``), one
look at each arc marks the lanes in which it is on shortest paths, and a vertex joins the queue with the last such arc
that enters it. The log from its end has the tails of arcs in the reverse order: u → v adds
paths(u) · (goal(v) + dependency(v)) / paths(v) to the dependency of u; a goal is 1 where paths to v count, else 0. Rows
ascend and a batch is summed source after source: the bits depend on the graph, the sources and the goals alone.

A number of paths is ``paths · 2^(512 · power)``: float64 alone does not hold those of a long grid.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.lanes import DOWN, LARGE, equal_lanes
from dgraph.algorithms.many_sources.searches_kernel import search
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, trailing_zeros


@njit(**INNER)
def _shrink(powers):
    """Return the factor of a number of paths that is smaller by these powers."""
    return 1.0 if powers == 0 else DOWN if powers == 1 else 0.0


@njit(**INNER)
def _add_paths(u, v, paths, power):
    """Add the paths over u to those to v."""
    if power[u] > power[v]:
        paths[v] *= _shrink(power[u] - power[v])
        power[v] = power[u]
    paths[v] += paths[u] * _shrink(power[v] - power[u])
    if paths[v] > LARGE:
        paths[v] *= DOWN
        power[v] += 1


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
def _visit(lane, source, offsets, targets, tight, entering, distance, order, paths, power, log, tails, counts):
    """Visit the vertices that a source reaches; ``counts`` becomes their number and that of the arcs logged.

    By weights, a vertex joins the queue with the last arc of the lane that enters it. By hops, where ``tight`` and
    ``entering`` are None, with the first one.
    """
    order[0], head, tail, logged = source, 0, 1, 0
    paths[source], power[source] = 1.0, 0
    while head < tail:
        u = np.int64(order[head])
        head += 1
        for e in range(offsets[u], offsets[u + 1]):
            if tight is None:
                v, beyond = np.int64(targets[e]), distance[u] + 1.0
                if distance[v] < beyond:
                    continue
                new = joins = distance[v] == np.inf
                distance[v] = beyond
            else:
                if not tight[e] >> lane & 1:
                    continue
                v = np.int64(targets[e])
                new = paths[v] == 0.0
                entering[v, lane] -= 1
                joins = entering[v, lane] == 0
            if new:
                paths[v], power[v] = paths[u], power[u]
            else:
                _add_paths(u, v, paths, power)
            if joins:
                order[tail] = v
                tail += 1
            log[logged], tails[logged] = e, u
            logged += 1
    counts[0], counts[1] = tail, logged


@njit(**INNER)
def _add_dependencies(
    source, counts, targets, order, paths, power, dependency, log, tails, ends, of_arcs, goals, vertices, arcs
):
    """Add the dependencies of a source to ``vertices``, and with ``of_arcs`` those of arcs to ``arcs``."""
    for i in range(counts[0]):
        dependency[order[i]] = 0.0
    for i in range(counts[1] - 1, -1, -1):
        e, u = log[i], np.int64(tails[i])
        v = np.int64(targets[e])
        part = paths[u] * ((goals[v] + dependency[v]) / paths[v]) * _shrink(power[v] - power[u])
        dependency[u] += part
        if of_arcs:
            arcs[e] += part
    for i in range(counts[0]):
        u = np.int64(order[i])
        vertices[u] += dependency[u] + ends if u != source else ends * (counts[0] - 1)


@njit(**OPTIONS)
def sum_batch(
    t, threads, sources, first, size, offsets, targets, costs, into, in_tails, tolls, width, limit, none, rows, least,
    queues, places, tights, enterings, light, ends, of_arcs, goals, floats, numbers, logs, tailses, vertices, arcs,
):  # fmt: skip
    """Sum the dependencies of ``size`` sources from ``first + t · size`` on into row t of ``vertices`` and ``arcs``.

    By hops, the arguments from ``costs`` to ``enterings`` are None. By weights, ``light[t]`` becomes the number of a
    source from which an arc is too light, else -1. With ``ends`` 1.0, a path counts for its two ends too.
    """
    dependency, paths, distance = floats[t, 0], floats[t, 1], floats[t, 2]
    order, power, counts = numbers[t, 0], numbers[t, 1], logs[t, :2]
    log, tails, begin = logs[t, 2:], tailses[t], min(first + t * size, len(sources))
    mine, tight, entering = sources[begin : begin + size], None, None
    vertices[t] = 0.0
    if of_arcs:
        arcs[t] = 0.0
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
    for lane in range(len(mine)):
        source = mine[lane]
        if costs is None:
            distance[:] = np.inf
            distance[source] = 0.0
        else:
            paths[:] = 0.0
        _visit(
            lane, source, offsets, targets, tight, entering, distance, order, paths, power, log, tails, counts
        )  # fmt: skip
        _add_dependencies(
            source, counts, targets, order, paths, power, dependency, log, tails, ends, of_arcs, goals,
            vertices[t], arcs[t],
        )  # fmt: skip
