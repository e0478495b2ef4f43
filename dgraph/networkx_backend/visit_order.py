"""The order in which NetworkX's breadth-first search visits nodes, from levels that the engine found.

NetworkX's tree depends on the order of neighbours, which the engine ignores. One pass over the rows of the reached
nodes, level by level, gives each node the parent that comes first.
"""

import numpy as np

from dgraph._support.compiled import njit


@njit(cache=True)
def visit(offsets, targets, level, order, parent, count):
    """Fill ``order`` and ``parent`` from the first ``count`` entries of ``order``, the sources; return the number."""
    head, tail = 0, count
    while head < tail:
        u = order[head]
        head += 1
        for at in range(offsets[u], offsets[u + 1]):
            v = targets[at]
            if level[v] == level[u] + 1 and parent[v] < 0:
                parent[v] = u
                order[tail] = v
                tail += 1
    return tail


def visit_order(offsets, targets, level, sources) -> tuple[np.ndarray, np.ndarray]:
    """Return reached nodes in NetworkX's order, and the parent of every node, -1 for sources and unreached nodes.

    Args:
        offsets: int64 (nodes + 1,).
        targets: uint32 (arcs,), neighbours in NetworkX's order.
        level: int64 (nodes,), from the engine; negative if unreached.
        sources: positions of the nodes on level 0, in the order to start from.
    """
    order, parent = np.empty(len(level), np.int64), np.full(len(level), -1, np.int64)
    order[: len(sources)] = sources
    return order[: visit(offsets, targets, level, order, parent, len(sources))], parent
