"""Connected components by union-find: the compiled part of ``union_find.py``.   [Sutton et al., IPDPS 2018: Afforest]

``parent`` is a forest over lids in which a parent is smaller than its child; a tree is a component.
"""

import numpy as np
from numba import njit

from dgraph.backend.cpu.atomics import (
    INLINE,
    OPTIONS,
    barrier,
    fetch_add,
    fetch_min,
    load,
    replaced,
    store,
)

SAMPLED = 2
"""Neighbours of every vertex that are joined first; on most graphs they already make the largest component."""

PROBES = 1024
"""Vertices looked at to find the largest component."""

CHUNK = 4096
NOBODY = np.uint32(2**32 - 1)
MANY = 8
"""``heard`` are many if they are more than one in so many of the vertices that other ranks know."""

LISTED, TOUCHED, FELL = np.uint8(1), np.uint8(2), np.uint8(4)
"""In ``marks``: who is in the list of fallen vertices already, who in that of touched masters; roots whose label fell
and whose members do not know."""

NEXT, LARGEST = 0, 64
"""Words of ``shared``: counters of the dealt chunks, 8 words apart; the root of the largest component."""


@njit(**INLINE)
def join(parent, u, v, alone):
    """Make u and v one tree, whatever other threads do meanwhile, unless this one is alone."""
    a, b = load(parent, u), load(parent, v)
    while a != b:
        high, low = max(a, b), min(a, b)
        above = load(parent, high)
        if above == low or (above == high and replaced(parent, high, high, low, alone)):
            break
        a, b = load(parent, load(parent, high)), load(parent, low)


@njit(**OPTIONS)
def flatten(t, threads, count, parent):
    """Of the first ``count`` vertices, every one of this thread's share a child of its root."""
    for v in range(count * t // threads, count * (t + 1) // threads):
        above = load(parent, v)
        while above != load(parent, above):
            above = load(parent, above)
        store(parent, v, above)


@njit(**OPTIONS)
def most_frequent(parent):
    """The root that most of ``PROBES`` vertices, drawn with a fixed seed, have."""
    roots, state = np.empty(PROBES, np.uint32), np.uint64(88172645463325252)
    for i in range(PROBES):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        roots[i] = parent[np.int64(state % np.uint64(len(parent)))]
    roots.sort()
    best, most, run = roots[0], 0, 0
    for i in range(PROBES):
        run = run + 1 if i > 0 and roots[i] == roots[i - 1] else 1
        if run > most:
            best, most = roots[i], run
    return best


@njit(**OPTIONS)
def components(t, threads, offsets, neighbours, entering, original, ascending, parent, lowest, left, shared, gate):
    """Thread t of ``threads``: trees of all arcs, and at each root the smallest original id of its tree.

    Rows inside the largest component get no second look. What that misses is found at the arcs' other ends: a vertex
    whose row has the arc's reverse sees it there; one of the last ``len(entering)``, which need not have a row, is told
    by the count of its arcs: if fewer came than enter it, the missing ones leave the largest component.

    Args:
        entering: uint32, local arcs that enter each of the last vertices; the rows of the others have every reverse.
        ascending: vertices, the first ones, whose original ids ascend: a root among them has the smallest of theirs.
        lowest: int64, one a vertex; valid at roots when this ends.
        left: uint32, as long as ``entering``; scratch.
    """
    size = len(parent)
    counted, alone = size - len(left), threads == 1
    rows = counted if counted > 0 else size
    first, last = size * t // threads, size * (t + 1) // threads
    for v in range(first, last):
        store(parent, v, np.uint32(v))
        if v >= counted:
            store(left, v - counted, load(entering, v - counted))
    barrier(gate, threads)
    for sample in range(SAMPLED):
        while rows > 0:
            begin = fetch_add(shared, NEXT + 8 * sample, CHUNK)
            if begin >= rows:
                break
            for v in range(begin, min(begin + CHUNK, rows)):
                e = load(offsets, v) + sample
                if e < load(offsets, v + 1):
                    join(parent, np.int64(v), np.int64(load(neighbours, e)), alone)
        barrier(gate, threads)
        flatten(t, threads, rows, parent)
        barrier(gate, threads)
    if t == 0:
        shared[LARGEST] = most_frequent(parent[:rows]) if size > 0 else 0
    barrier(gate, threads)
    largest = shared[LARGEST]
    joined = SAMPLED if counted == size else 0
    while rows > 0:
        begin = fetch_add(shared, NEXT + 8 * SAMPLED, CHUNK)
        if begin >= rows:
            break
        for v in range(begin, min(begin + CHUNK, rows)):
            if np.int64(load(parent, v)) != largest:
                for e in range(load(offsets, v) + joined, load(offsets, v + 1)):
                    u = np.int64(load(neighbours, e))
                    join(parent, np.int64(v), u, alone)
                    if u >= counted:
                        fetch_add(left, u - counted, np.uint32(-1))
    barrier(gate, threads)
    for v in range(max(first, counted), last):
        if load(left, v - counted) != 0:
            join(parent, np.int64(v), largest, alone)
    barrier(gate, threads)
    flatten(t, threads, size, parent)
    barrier(gate, threads)
    for v in range(first, last):
        if np.int64(load(parent, v)) == v:
            store(lowest, v, load(original, v))
    barrier(gate, threads)
    for v in range(max(first, ascending), last):
        root = np.int64(load(parent, v))
        if load(original, v) < load(lowest, root):
            fetch_min(lowest, root, load(original, v))
    barrier(gate, threads)
    return 0


@njit(**OPTIONS)
def labelled(t, threads, parent, lowest, label, count):
    """Every one of the first ``count`` vertices gets what its root knows."""
    for v in range(count * t // threads, count * (t + 1) // threads):
        store(label, v, load(lowest, np.int64(load(parent, v))))
    return 0


@njit(**OPTIONS)
def known_labels(known, parent, lowest, label, original, masters, marks, fell, mirrors):
    """Vertices that other ranks know get what their roots know; masters and mirrors that this lowered, how many."""
    k = j = 0
    for i in range(len(known)):
        v = np.int64(known[i])
        label[v] = lowest[parent[v]]
        if label[v] < original[v]:
            marks[v] |= LISTED
            if v < masters:
                fell[k] = v
                k += 1
            else:
                mirrors[j] = v
                j += 1
    return k, j


@njit(**OPTIONS)
def lists(known, parent, head, following):
    """The known vertices of every root as a list: ``head`` at the root, then ``following``; NOBODY ends it."""
    for i in range(len(known)):
        head[parent[known[i]]] = NOBODY
    for i in range(len(known) - 1, -1, -1):
        v = known[i]
        following[v] = head[parent[v]]
        head[parent[v]] = v


@njit(**OPTIONS)
def lowered(lids, positions, values, label, marks, touched, count, fell, k):
    """Labels that mirrors had, into masters ``lids[positions]``; those that fell join both lists, once; new counts."""
    for i in range(len(positions)):
        v = np.int64(lids[positions[i]])
        if values[i] < label[v]:
            label[v] = values[i]
            if not marks[v] & TOUCHED:
                touched[count] = v
                count += 1
            if not marks[v] & LISTED:
                fell[k] = v
                k += 1
            marks[v] |= LISTED | TOUCHED
    return count, k


@njit(**OPTIONS)
def hear(heard, label, parent, lowest, marks):
    """Vertices whose label fell tell their roots; roots that did not know are marked."""
    for i in range(len(heard)):
        v = np.int64(heard[i])
        root = parent[v]
        marks[v] &= ~TOUCHED
        if label[v] < lowest[root]:
            lowest[root] = label[v]
            marks[root] |= FELL


@njit(**INLINE)
def tell(v, low, label, masters, marks, fell, k, mirrors, j):
    """A root's label to one of its vertices that other ranks know; a vertex that it lowers is listed, once."""
    if label[v] > low:
        label[v] = low
        if not marks[v] & LISTED:
            marks[v] |= LISTED
            if v < masters:
                fell[k] = v
                k += 1
            else:
                mirrors[j] = v
                j += 1
    return k, j


@njit(**OPTIONS)
def spread(heard, label, parent, lowest, head, following, masters, marks, fell, k, mirrors, j):
    """From ``heard`` to all of their components that other ranks know: those that it lowers are listed, masters from
    ``k`` and mirrors from ``j`` on; the new counts."""
    hear(heard, label, parent, lowest, marks)
    for i in range(len(heard)):
        root = parent[heard[i]]
        if not marks[root] & FELL:
            continue
        marks[root] &= ~FELL
        member = head[root]
        while member != NOBODY:
            k, j = tell(np.int64(member), lowest[root], label, masters, marks, fell, k, mirrors, j)
            member = following[member]
    return k, j


@njit(**OPTIONS)
def spread_widely(heard, known, label, parent, lowest, masters, marks, fell, k, mirrors, j):
    """The same by a look at all vertices that other ranks know: for ``heard`` that are many of them."""
    hear(heard, label, parent, lowest, marks)
    for i in range(len(known)):
        v = np.int64(known[i])
        root = parent[v]
        if marks[root] & FELL:
            k, j = tell(v, lowest[root], label, masters, marks, fell, k, mirrors, j)
    for i in range(len(heard)):
        marks[parent[heard[i]]] &= ~FELL
    return k, j
