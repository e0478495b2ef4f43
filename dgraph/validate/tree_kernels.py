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


@njit(inline="always")
def _sum(distance, weight, far, real):
    """Return distance + weight; for integers at most ``far``, and at least -far - 1, where 64 bits would overflow."""
    if not real and weight > 0 and distance > far - weight:
        return far
    if not real and weight < 0 and distance < -far - 1 - weight:
        return -far - 1
    return distance + weight


@njit(cache=True, nogil=True)
def tree_rows(low, high, offsets, targets, weights, first, distance, far, real, cutoff, parent, joined, tight):
    """Do as :func:`tree_arcs` in an undirected graph, where a row's own arcs enter it; return (short cuts, plateaus).

    ``distance`` is that of all vertices by gid, the other columns are those of rows.
    """
    short = plateaus = 0
    for row in range(low, high):
        dv, before = distance[first + row], parent[row] if parent.size else -1
        has_tree_arc = has_tight_arc = False
        for i in range(offsets[row], offsets[row + 1]):
            du, tree = distance[targets[i]], before == targets[i]
            has_tree_arc |= tree
            if du == far:
                continue
            most = _sum(du, weights[i] if weights.size > 1 else weights[0], far, real)
            short += dv > most and not most > cutoff
            if most != dv or dv == far or (parent.size > 0 and not tree):
                continue
            has_tight_arc |= tree or du < dv
            plateaus += du == dv
        joined[row], tight[row] = has_tree_arc, has_tight_arc
    return short, plateaus


@njit(cache=True, nogil=True)
def level_rows(low, high, offsets, targets, first, level, far, cutoff, parent, joined, tight):
    """Do as :func:`tree_rows` where every arc has the weight 1; return the rows that short cuts enter.

    One enters a row if and only if it is above its lowest neighbour by more than 1. No level is ``far`` - 1.
    """
    short = 0
    for row in range(low, high):
        nearest, before, has_tree_arc = far, parent[row] if parent.size else -1, False
        for i in range(offsets[row], offsets[row + 1]):
            v = targets[i]
            if level[v] < nearest:
                nearest = level[v]
            has_tree_arc |= v == before
        joined[row] = has_tree_arc
        if nearest == far:
            continue
        here, behind = level[first + row], level[before] if has_tree_arc else nearest
        short += here > nearest + 1 and not nearest + 1 > cutoff
        tight[row] = behind != far and here == behind + 1
    return short


@njit(cache=True, nogil=True)
def tree_arcs(low, high, violations, offsets, targets, weights, first, table, distance, far, real, cutoff, parent,
              joined, tight):  # fmt: skip
    """Test that no arc is a short cut, and mark tree arcs and tight arcs.

    ``weights``: by arc, or one for all; their sums with distances have the distances' dtype. ``distance``, ``parent``
    (gids; empty: there are none), ``joined`` and ``tight`` (bool) are extended. ``far``: distance of unreached
    vertices; ``real``: it is infinity. Threads write nothing but True to the shared marks.
    """
    for row in range(low, high):
        du = distance[row]
        for i in range(offsets[row], offsets[row + 1]):
            v = local(targets[i], table)
            tree = parent.size > 0 and parent[v] == row + first
            if tree and not joined[v]:
                joined[v] = True
            if du == far:
                continue
            dv = distance[v]
            most = _sum(du, weights[i] if weights.size > 1 else weights[0], far, real)
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
