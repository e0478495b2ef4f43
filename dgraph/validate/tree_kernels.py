"""Kernels of the certificate of bfs and sssp on CPU threads, for one range of rows each."""

from __future__ import annotations

from dgraph._support.compiled import njit
from dgraph.validate.host.host_rows import local, violated

VERTEX_RULES = ("source", "negative", "beyond", "root", "out", "none", "lost")
ARC_RULES = ("short", "plateaus")
END_RULES = ("arc", "tight", "alone")


@njit(cache=True, nogil=True)
def tree_vertices(low, high, violations, distance, far, starts, cutoff, parent, before, n, least):
    """Test the rules that need no arcs; ``starts``: True for rows of sources. ``parent`` and ``before`` may be empty.

    ``least``: lower bound of distances.
    """
    for row in range(low, high):
        d = distance[row]
        here, reached = starts[row], d != far
        child = reached and not here
        if here and d != 0:
            violated(violations, 0, row, -1)
        if not d >= least:
            violated(violations, 1, row, -1)
        if child and d > cutoff:
            violated(violations, 2, row, -1)
        if not parent.size:
            continue
        p = parent[row]
        if here and p != -1:
            violated(violations, 3, row, -1)
        if not reached and p != -1:
            violated(violations, 4, row, -1)
        if child and not 0 <= p < n:
            violated(violations, 5, row, -1)
        elif child and before[row] == far:
            violated(violations, 6, row, -1)


@njit(cache=True, nogil=True)
def tree_arcs(low, high, violations, offsets, targets, weights, first, table, distance, far, real, cutoff, parent,
              joined, tight, pulled):  # fmt: skip
    """Test that no arc is a short cut, and mark tree arcs and tight arcs.

    ``pulled``: arcs lead from the targets to the rows, as in an undirected graph, so that a row's marks are its own.
    ``weights``: by arc, or one for all; their sums with distances have the distances' dtype. ``distance``, ``parent``
    (gids; empty: there are none), ``joined`` and ``tight`` (bool) are extended. ``far``: distance of unreached
    vertices; ``real``: it is infinity. Threads write nothing but True to the shared marks.
    """
    for row in range(low, high):
        for i in range(offsets[row], offsets[row + 1]):
            target = local(targets[i], table)
            u, v = (target, row) if pulled else (row, target)
            du = distance[u]
            tree = parent.size > 0 and parent[v] == (targets[i] if pulled else row + first)
            if tree and not joined[v]:
                joined[v] = True
            if du == far:
                continue
            dv = distance[v]
            weight = weights[i] if weights.size > 1 else weights[0]
            if not real and weight > 0 and du > far - weight:  # the sum would overflow 64 bits
                most = far
            elif not real and weight < 0 and du < -far - 1 - weight:
                most = -far - 1
            else:
                most = du + weight
            if dv > most and not most > cutoff:
                violated(violations, 0, row, targets[i])
            if most != dv or dv == far or (parent.size > 0 and not tree):
                continue
            if (tree or du < dv) and not tight[v]:
                tight[v] = True
            if du == dv:
                violated(violations, 1, row, -1)


@njit(cache=True, nogil=True)
def tree_ends(low, high, violations, distance, far, starts, with_parents, joined, tight):
    """Test that every vertex has the arcs that it needs."""
    for row in range(low, high):
        if distance[row] == far or starts[row]:
            continue
        if with_parents and not joined[row]:
            violated(violations, 0, row, -1)
        if with_parents and not tight[row]:
            violated(violations, 1, row, -1)
        if not with_parents and not tight[row]:
            violated(violations, 2, row, -1)
