"""Searches of one thread in NetworkX's order of nodes and neighbours: depth first, by in-degree, and by colour.

Each depends on all steps before it, so the answer of another order would be another answer. Rows are those of
:class:`ConvertedGraph`: offsets int64 (nodes + 1,), targets uint32 (arcs,), parallel edges beside each other.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit


@njit(cache=True, nogil=True)
def topological_order(offsets, targets):
    """Return the nodes of each generation, one after the other, where each generation begins, and how many there are.

    A node on a cycle, or after one, is in no generation.
    """
    n = len(offsets) - 1
    degrees = np.zeros(n, np.int64)
    for target in targets:
        degrees[target] += 1
    order, starts = np.empty(n, np.int64), np.empty(n + 1, np.int64)
    count = 0
    for v in range(n):
        if degrees[v] == 0:
            order[count] = v
            count += 1
    first = generations = 0
    while first < count:
        starts[generations] = first
        generations += 1
        stop = count
        for i in range(first, stop):
            for j in range(offsets[order[i]], offsets[order[i] + 1]):
                v = targets[j]
                degrees[v] -= 1
                if degrees[v] == 0:
                    order[count] = v
                    count += 1
        first = stop
    starts[generations] = count
    return order[:count], starts[: generations + 1]


@njit(cache=True, nogil=True)
def depth_first(offsets, targets, roots, limit):
    """Search from roots; nodes below ``limit`` edges of one are not searched further.

    Returns:
        Nodes in the order of discovery, the parent of each, a root's own number; and nodes in the order in which they
        were left, but for those at the limit, which are not entered.
    """
    n = len(offsets) - 1
    seen, places = np.zeros(n, np.bool_), offsets[:-1].copy()
    reached, parents, left, stack = np.empty((4, n), np.int64)
    count = ended = 0
    for root in roots:
        if seen[root]:
            continue
        seen[root] = True
        reached[count] = parents[count] = stack[0] = root
        count, depth = count + 1, 1
        while depth:
            parent = stack[depth - 1]
            if places[parent] == offsets[parent + 1]:
                left[ended] = parent
                ended, depth = ended + 1, depth - 1
                continue
            child = np.int64(targets[places[parent]])
            places[parent] += 1
            if not seen[child]:
                seen[child] = True
                reached[count], parents[count] = child, parent
                count += 1
                if depth < limit:
                    stack[depth] = child
                    depth += 1
    return reached[:count], parents[:count], left[:ended]


@njit(cache=True, nogil=True)
def biconnected(offsets, targets):
    """Search by Hopcroft and Tarjan [CACM 1973, algorithm 447] from each node that was not reached.

    Returns:
        Ends of the edges of components, shape (edges, 2), one component after the other; where each begins, and the
        end; articulation points in the order in which they are found, some several times.
    """
    n, none = len(offsets) - 1, -1
    discovery, low, places = np.full(n, none), np.zeros(n, np.int64), offsets[:-1].copy()
    stack, above, entry = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.zeros(n, np.int64)
    listed, edges = np.empty((len(targets), 2), np.int64), np.empty((len(targets), 2), np.int64)
    starts, points = np.zeros(n + 1, np.int64), np.empty(2 * n, np.int64)
    done = components = cuts = 0
    for root in range(n):
        if discovery[root] != none:
            continue
        discovery[root] = low[root] = 0
        reached, children, size, depth = 1, 0, 0, 1
        stack[0] = above[0] = root
        while depth:
            parent, grandparent = stack[depth - 1], above[depth - 1]
            if places[parent] < offsets[parent + 1]:
                child = np.int64(targets[places[parent]])
                places[parent] += 1
                if child == grandparent:
                    continue
                if discovery[child] == none:
                    low[child] = discovery[child] = reached
                    reached += 1
                    stack[depth], above[depth] = child, parent
                    depth += 1
                    entry[child] = size
                elif discovery[child] <= discovery[parent]:
                    low[parent] = min(low[parent], discovery[child])
                else:
                    continue
                listed[size, 0], listed[size, 1] = parent, child
                size += 1
                continue
            depth -= 1
            if depth == 0:
                break
            if depth == 1:
                children += 1
            elif low[parent] >= discovery[grandparent]:
                points[cuts] = grandparent
                cuts += 1
            if depth == 1 or low[parent] >= discovery[grandparent]:
                for i in range(entry[parent], size):
                    edges[done] = listed[i]
                    done += 1
                size = entry[parent]
                components += 1
                starts[components] = done
            low[grandparent] = min(low[parent], low[grandparent])
        if children > 1:
            points[cuts] = root
            cuts += 1
    return edges[:done], starts[: components + 1], points[:cuts]


@njit(cache=True, nogil=True)
def first_fit(offsets, targets, order):
    """Return the smallest colour that no neighbour has, of nodes that are coloured in an order."""
    n = len(offsets) - 1
    colors, users = np.full(n, -1), np.full(n + 1, -1)
    for v in order:
        for j in range(offsets[v], offsets[v + 1]):
            color = colors[targets[j]]
            if color >= 0:
                users[color] = v
        color = 0
        while users[color] == v:
            color += 1
        colors[v] = color
    return colors
