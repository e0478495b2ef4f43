"""Kernels of the certificates of cc, color, kcore, mis and pagerank on CPU threads, for one range of rows each.

``offsets``, ``targets`` and ``table`` are the rows, see ``host_rows.py``; columns are extended.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.validate.host.host_rows import local, violated


@njit(cache=True, nogil=True)
def unequal_arcs(low, high, violations, offsets, targets, first, column, equal):
    """Count arcs whose ends have different values; with ``equal``, arcs between two vertices that have equal ones.

    ``column``: by gid; ``first``: gid of the first row.
    """
    for row in range(low, high):
        here = column[first + row]
        for i in range(offsets[row], offsets[row + 1]):
            v = np.int64(targets[i])
            if (here == column[v]) == equal and not (equal and v == first + row):
                violated(violations, 0, row, targets[i])


@njit(cache=True, nogil=True)
def member_arcs(low, high, violations, offsets, targets, table, member, covered):
    """Count arcs between two members of a set, and mark the rows that have a member as neighbour."""
    for row in range(low, high):
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            if member[v]:
                covered[row] = True
                if member[row] and v != row:
                    violated(violations, 0, row, targets[i])


@njit(cache=True, nogil=True)
def join_arcs(low, high, offsets, targets, table, both, parent, most, passed):
    """Set the larger root under the smaller for arcs to rows and ghosts; return True if roots differed.

    ``most``: arcs of a row that are visited. ``passed``: root whose rows are passed over, or -1.

    Threads share ``parent``. One may overwrite another's hook, so the arcs are visited again until all roots are equal.
    A hooked row never is a root again, so that ends; and every parent is smaller, and joined to its child, in any case.
    """
    hooked = False
    for row in range(low, high):
        if parent[row] == passed:
            continue
        for i in range(offsets[row], min(offsets[row] + most, offsets[row + 1])):
            v = local(targets[i], table)
            if v > row and not both:
                continue
            u = row
            while parent[u] != u:
                parent[u] = parent[parent[u]]
                u = parent[u]
            while parent[v] != v:
                parent[v] = parent[parent[v]]
                v = parent[v]
            if u != v:
                parent[max(u, v)] = min(u, v)
                hooked = True
    return hooked


@njit(cache=True, nogil=True)
def flatten(parent):
    """Replace each parent by the root."""
    for row in range(parent.size):
        parent[row] = parent[parent[row]]  # a parent is a smaller row, so its entry is final


@njit(inline="always")
def counted(row, i, v, offsets, targets, multiple):
    """Return True if arc ``i`` of a row leads to a neighbour that counts: no loop, and the first of parallel arcs."""
    return v != row and (multiple or i == offsets[row] or targets[i] != targets[i - 1])


@njit(cache=True, nogil=True)
def count_neighbours(low, high, offsets, targets, table, core, multiple, degree):
    """Count each row's neighbours of as large a core; return the arcs between equal ones that leave the range."""
    leaving = 0
    for row in range(low, high):
        least, many = core[row], 0
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            if not counted(row, i, v, offsets, targets, multiple):
                continue
            many += core[v] >= least
            leaving += core[v] == least and not low <= v < high
        degree[row] = many
    return leaving


@njit(cache=True, nogil=True)
def peel(low, high, offsets, targets, table, core, multiple, degree, removed, stack, top, outbox):
    """Remove rows ``stack[:top]`` and the rows of this range that become removable.

    Args:
        low: first row of the range.
        high: end of the range.
        offsets: row offsets, int64 (rows + 1,).
        targets: gids of the arcs' targets.
        table: position of each row and ghost.
        core: claimed core numbers, extended; only arcs between equal ones count.
        multiple: parallel arcs count each.
        degree: remaining neighbours of each row; decreased here.
        removed: bool by row; set here.
        stack: rows to remove, with room for all rows of the range.
        top: number of rows on the stack.
        outbox: receives one gid per arc to a vertex outside of the range that loses a neighbour.

    Returns:
        Number of gids written to ``outbox``.
    """
    sent = 0
    while top:
        top -= 1
        row = stack[top]
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            if core[v] != core[row] or not counted(row, i, v, offsets, targets, multiple):
                continue
            if not low <= v < high:
                outbox[sent] = targets[i]
                sent += 1
                continue
            degree[v] -= 1
            if not removed[v] and degree[v] <= core[v]:
                removed[v] = True
                stack[top] = v
                top += 1
    return sent


@njit(cache=True, nogil=True)
def receive(low, high, first, outbox, starts, sent, core, degree, removed, stack, top):
    """Decrease ``degree`` of this range's rows by the gids in all outboxes; return the rows on the stack then.

    ``outbox``: ``sent[i]`` gids from ``starts[i]`` on of each range ``i``. Other arguments: as of :func:`peel`.
    """
    for box in range(sent.size):
        for i in range(starts[box], starts[box] + sent[box]):
            v = np.int64(outbox[i]) - first
            if low <= v < high:
                degree[v] -= 1
                if not removed[v] and degree[v] <= core[v]:
                    removed[v] = True
                    stack[top] = v
                    top += 1
    return top


@njit(cache=True, nogil=True)
def sum_weights(low, high, violations, offsets, targets, weights, leaving):
    """Add up the weights of each row's arcs, and count negative ones."""
    for row in range(low, high):
        total = 0.0
        for i in range(offsets[row], offsets[row + 1]):
            if not weights[i] >= 0:
                violated(violations, 0, row, targets[i])
            total += weights[i]
        leaving[row] = total


@njit(cache=True, nogil=True)
def flow(low, high, offsets, targets, weights, table, share, inflow):
    """Add ``share`` of each row, times the arc's weight, to its targets in ``inflow``; no weights: times 1."""
    for row in range(low, high):
        x = share[row]
        if x == 0:
            continue
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            inflow[v] += x * weights[i] if weights.size else x
