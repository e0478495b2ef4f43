"""Predecessors of all pairs on CPU threads: a tree of fewest arcs for each row of distances.

An arc x → y is tight in the row of u if d[u, x] + weight = d[u, y], up to rounding. A breadth-first search from u along
tight arcs meets every reached vertex, over weights of 0 and below, too, and finds no cycle.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add


@njit(**OPTIONS)
def shortest_trees(
    t, threads, distances, first, offsets, targets, weights, slack, parents, levels, queues, lost, taken
):
    """Fill rows of ``parents`` (int32), which threads take by turns, a number of ``taken`` each.

    Row i has the distances from vertex ``first`` + i, and then the smallest vertex before another on a path of fewest
    tight arcs, or -1. Arcs are rows of all vertices; without ``weights`` every one costs 1. ``slack`` is the most
    relative rounding of a sum. ``levels`` and ``queues``, int32 (threads, n), are scratch. ``lost[t]`` counts the
    reached vertices to which no tight arcs lead.
    """
    level, queue, n = levels[t], queues[t], distances.shape[1]
    while True:
        row = fetch_add(taken, 0, 1)
        if row >= len(distances):
            return
        source, parent, distance = first + row, parents[row], distances[row]
        parent[:] = -1
        level[:] = -1
        level[source], queue[0] = 0, source
        begin, end = 0, 1
        while begin < end:
            u = queue[begin]
            begin += 1
            du = np.float64(distance[u])
            for i in range(offsets[u], offsets[u + 1]):
                v = np.int64(targets[i])
                weight = weights[i] if weights.size else 1.0
                if distance[v] == np.inf or abs(du + weight - distance[v]) > slack * (abs(du) + abs(weight)):
                    continue
                if level[v] < 0:
                    level[v], parent[v], queue[end] = level[u] + 1, u, v
                    end += 1
                elif level[v] == level[u] + 1 and u < parent[v]:
                    parent[v] = u
        reached = 0
        for v in range(n):
            reached += distance[v] != np.inf
        lost[t] += reached - end
