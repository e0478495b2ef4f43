"""The order in which NetworkX visits nodes, and its tree of shortest paths, from distances that the engine found.

Both depend on the order of neighbours, which the engine ignores. NetworkX's queue, and its heap with a counter, take
nodes by distance and, at equal distance, in the order in which a shortest path to them was first seen. With the
distances known that is one pass over the rows of the reached nodes, with one first-in-first-out queue a distance.
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
        for at in range(offsets[u], offsets[u + 1]):
            v = targets[at]
            step = weights[at] if len(weights) else 1
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
    known, inverse = np.unique(values[reached], return_inverse=True)
    group = np.zeros(len(values), np.int64)
    group[reached] = inverse
    ends = np.concatenate([[0], np.cumsum(np.bincount(inverse, minlength=known.size))[:-1]]).astype(np.int64)
    order, parent = np.full(reached.size, -1, np.int64), np.full(len(values), -1, np.int64)
    order[: len(sources)], parent[sources] = sources, -2
    ends[0] += len(sources)
    given = np.zeros(0, values.dtype) if weights is None else weights.astype(values.dtype, copy=False)
    seen = visit(offsets, targets, given, values, group, ends, order, parent)
    if seen < order.size:
        raise AssertionError(f"{order.size - seen} distances of the engine have no shortest path; please report it")
    parent[sources] = -1
    return order, parent
