"""The order in which NetworkX visits nodes and components, and its tree of shortest paths, from what the engine found.

They depend on the order of neighbours, which the engine ignores. NetworkX's queue, and its heap with a counter, take
nodes by distance and, at equal distance, in the order in which a shortest path to them was first seen. With the
distances known that is one pass over the rows of the reached nodes, with one first-in-first-out queue a distance.
Strongly connected components come in the order in which a depth-first search leaves their first nodes, sinks first.
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
