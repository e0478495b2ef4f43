"""The order in which NetworkX visits nodes and components, and its tree of shortest paths, from what the engine found.

They depend on the order of neighbours, which the engine ignores. NetworkX's queue, and its heap with a counter, take
nodes by distance and, at equal distance, in the order in which a shortest path to them was first seen. With the
distances known that is one pass over the rows of the reached nodes, with one first-in-first-out queue a distance.
Strongly connected components come in the order in which a depth-first search leaves their first nodes, sinks first.

Depth-first searches, topological orders and greedy colours depend on all steps before them, so one thread takes these
steps: the functions from ``topological_order`` on. Parallel edges stand beside each other in rows.
"""

import numpy as np

from dgraph._support.compiled import njit


@njit(cache=True)
def visit(offsets, targets, weights, values, group, ends, order, parent):
    """Fill ``order`` and ``parent``; ``ends`` has the next free place in ``order`` of each distance.

    Places of ``order`` that are not filled when their turn comes are -1: a distance without a path to it.
    """
    for head in range(len(order)):
        u = order[head]
        if u < 0:
            return head
        for arc in range(offsets[u], offsets[u + 1]):
            v = targets[arc]
            step = weights[arc] if len(weights) else 1
            if parent[v] == -1 and values[v] >= 0 and values[u] + step == values[v]:
                parent[v] = u
                order[ends[group[v]]] = v
                ends[group[v]] += 1
    return len(order)


def visit_order(offsets, targets, weights, values, sources) -> tuple[np.ndarray, np.ndarray]:
    """Return reached nodes in NetworkX's order, and the parent of every node, -1 for sources and unreached nodes.

    Args:
        offsets: int64 (nodes + 1,).
        targets: uint32 (arcs,), neighbours in NetworkX's order.
        weights: (arcs,), of the dtype of ``values``; None: every arc weighs 1.
        values: (nodes,), distances from the engine; negative if unreached.
        sources: positions of the nodes at distance 0, in the order to start from.
    """
    reached = np.flatnonzero(values >= 0)
    distances, inverse = np.unique(values[reached], return_inverse=True)
    group = np.zeros(len(values), np.int64)
    group[reached] = inverse
    ends = np.concatenate([[0], np.cumsum(np.bincount(inverse, minlength=distances.size))[:-1]]).astype(np.int64)
    order, parent = np.full(reached.size, -1, np.int64), np.full(len(values), -1, np.int64)
    order[: len(sources)], parent[sources] = sources, -2
    ends[0] += len(sources)
    costs = np.zeros(0, values.dtype) if weights is None else weights.astype(values.dtype, copy=False)
    seen = visit(offsets, targets, costs, values, group, ends, order, parent)
    if seen < order.size:
        raise AssertionError(f"{order.size - seen} distances of the engine have no shortest path; please report it")
    parent[sources] = -1
    return order, parent


@njit(cache=True)
def leave_order(offsets, targets, labels):
    """Return the labels of components in the order in which NetworkX's depth-first search leaves them, int64.

    The search enters a component at one node and leaves it there, when it has seen all that the component reaches.

    Args:
        offsets: int64 (nodes + 1,).
        targets: uint32 (arcs,), neighbours in NetworkX's order.
        labels: int64 (nodes,), position of a node of the component.
    """
    n = len(labels)
    following, entered = offsets[:-1].copy(), np.full(n, -1, np.int64)
    seen, stack, order, filled = np.zeros(n, np.bool_), np.empty(n, np.int64), np.empty(n, np.int64), 0
    for start in range(n):
        if seen[start]:
            continue
        seen[start], stack[0], top = True, start, 0
        if entered[labels[start]] < 0:
            entered[labels[start]] = start
        while top >= 0:
            u = stack[top]
            if following[u] == offsets[u + 1]:
                top -= 1
                if entered[labels[u]] == u:
                    order[filled] = labels[u]
                    filled += 1
                continue
            v = targets[following[u]]
            following[u] += 1
            if not seen[v]:
                seen[v] = True
                if entered[labels[v]] < 0:
                    entered[labels[v]] = v
                top += 1
                stack[top] = v
    return order[:filled]


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
def bridges(offsets, targets):
    """Search as :func:`biconnected` for edges that are components alone, in a graph without parallel edges.

    Returns:
        Ends of these edges, the smaller number first, in the order of rows: int64 (2, bridges).
    """
    n, count = len(offsets) - 1, 0
    discovery, low, stack = np.zeros((3, n), np.uint32)  # numbers from 1 on; 0: not reached
    places, counts, above = offsets[:-1].copy(), np.zeros(n, np.uint32), np.full(n, -1)  # by a bridge
    reached = np.uint32(0)
    for root in range(n):
        if discovery[root]:
            continue
        reached += np.uint32(1)
        discovery[root] = low[root] = reached
        stack[0], depth = root, 1
        while depth:
            vertex = np.int64(stack[depth - 1])
            parent = np.int64(stack[depth - 2]) if depth > 1 else -1
            place, last, lowest, entered = places[vertex], offsets[vertex + 1], low[vertex], -1
            while place < last:
                other = np.int64(targets[place])
                place += 1
                number = discovery[other]
                if number == 0:
                    entered = other
                    break
                if number < lowest and other != parent:
                    lowest = number
            places[vertex], low[vertex] = place, lowest
            if entered >= 0:
                reached += np.uint32(1)
                discovery[entered] = low[entered] = reached
                stack[depth] = entered
                depth += 1
                continue
            depth -= 1
            if parent >= 0 and lowest == discovery[vertex]:
                above[vertex] = parent
                counts[min(vertex, parent)] += 1
                count += 1
            elif parent >= 0 and lowest < low[parent]:
                low[parent] = lowest
    ends, filled = np.empty((2, count), np.int64), 0
    for vertex in range(n):
        place = offsets[vertex]
        while counts[vertex]:
            other = np.int64(targets[place])
            place += 1
            if other > vertex and (above[other] == vertex or above[vertex] == other):
                ends[0, filled], ends[1, filled] = vertex, other
                counts[vertex] -= 1
                filled += 1
    return ends


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
def answered(n, in_offsets, in_sources, offsets, targets):
    """Return a mask of the arcs whose reverse is an arc, too, from the rows of in-edges and of out-edges."""
    marks, both = np.full(n, -1), np.zeros(len(targets), np.bool_)
    for v in range(n):
        for arc in range(in_offsets[v], in_offsets[v + 1]):
            marks[in_sources[arc]] = v
        for arc in range(offsets[v], offsets[v + 1]):
            both[arc] = marks[targets[arc]] == v
    return both


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


@njit(cache=True, nogil=True)
def spread_labels(offsets, targets, order):
    """Return labels, each one of the most frequent among the neighbours of its node [Cordasco & Gargano 2010].

    Nodes begin with their positions as labels. A node whose label is not among the most frequent takes the largest of
    these. Parallel edges count once.

    Args:
        offsets: int64 (nodes + 1,).
        targets: uint32 (arcs,).
        order: positions; nodes of one colour stand together, and all passes take this order.
    """
    labels, counts = np.arange(len(offsets) - 1), np.zeros(len(offsets) - 1, np.int64)
    changed = True
    while changed:
        changed = False
        for v in order:
            first, last, most = offsets[v], offsets[v + 1], 0
            for arc in range(first, last):
                if arc == first or targets[arc] != targets[arc - 1]:
                    counts[labels[targets[arc]]] += 1
                    most = max(most, counts[labels[targets[arc]]])
            largest = labels[v] if counts[labels[v]] == most else -1
            if largest < 0:
                for arc in range(first, last):
                    if counts[labels[targets[arc]]] == most:
                        largest = max(largest, labels[targets[arc]])
            for arc in range(first, last):
                counts[labels[targets[arc]]] = 0
            changed |= largest != labels[v]
            labels[v] = largest
    return labels
