"""Connected components by union-find: the compiled part of ``union_find.py``.   [Sutton et al., IPDPS 2018: Afforest]

``parent`` is a forest over lids in which a parent is smaller than its child; a tree is a component.
"""

import numpy as np
from numba import njit

from dgraph.backend.cpu.atomics import (
    INLINE,
    OPTIONS,
    barrier,
    compare_and_swap,
    fetch_add,
    fetch_min,
    load,
    store,
)

SAMPLED = 2
"""Neighbours of every vertex that are joined first; on most graphs they already make the largest component."""

PROBES = 1024
"""Vertices looked at to find the largest component."""

CHUNK = 4096
NEXT, LARGEST = 0, 64
"""Words of ``shared``: counters of the dealt chunks, 8 words apart; the root of the largest component."""


@njit(**INLINE)
def join(parent, u, v):
    """Make u and v one tree, whatever other threads do meanwhile."""
    a, b = load(parent, u), load(parent, v)
    while a != b:
        high, low = max(a, b), min(a, b)
        above = load(parent, high)
        if above == low or (above == high and compare_and_swap(parent, high, high, low)):
            break
        a, b = load(parent, load(parent, high)), load(parent, low)


@njit(**OPTIONS)
def flatten(t, threads, parent):
    """Every vertex of this thread's share a child of its root."""
    for v in range(len(parent) * t // threads, len(parent) * (t + 1) // threads):
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
def components(t, threads, offsets, neighbours, skip, original, parent, lowest, shared, gate):
    """Thread t of ``threads``: trees of all arcs, and at each root the smallest original id of its tree.

    Args:
        skip: whether every arc's reverse is here too; then rows inside the largest component need no second look.
        lowest: int64, one a vertex; valid at roots when this ends.
    """
    size = len(parent)
    first, last = size * t // threads, size * (t + 1) // threads
    for v in range(first, last):
        store(parent, v, np.uint32(v))
        store(lowest, v, load(original, v))
    barrier(gate, threads)
    for sample in range(SAMPLED):
        while size > 0:
            begin = fetch_add(shared, NEXT + 8 * sample, CHUNK)
            if begin >= size:
                break
            for v in range(begin, min(begin + CHUNK, size)):
                e = load(offsets, v) + sample
                if e < load(offsets, v + 1):
                    join(parent, np.int64(v), np.int64(load(neighbours, e)))
        barrier(gate, threads)
        flatten(t, threads, parent)
        barrier(gate, threads)
    if t == 0:
        shared[LARGEST] = most_frequent(parent) if skip and size > 0 else size
    barrier(gate, threads)
    largest = shared[LARGEST]
    while size > 0:
        begin = fetch_add(shared, NEXT + 8 * SAMPLED, CHUNK)
        if begin >= size:
            break
        for v in range(begin, min(begin + CHUNK, size)):
            if np.int64(load(parent, v)) != largest:
                for e in range(load(offsets, v) + SAMPLED, load(offsets, v + 1)):
                    join(parent, np.int64(v), np.int64(load(neighbours, e)))
    barrier(gate, threads)
    flatten(t, threads, parent)
    barrier(gate, threads)
    for v in range(first, last):
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
def hear(lids, label, parent, lowest, roots):
    """Vertices whose label fell tell their roots; how many ``roots`` did not know."""
    count = 0
    for i in range(len(lids)):
        v = np.int64(lids[i])
        root = parent[v]
        if label[v] < lowest[root]:
            lowest[root] = label[v]
            roots[count] = root
            count += 1
    return count


@njit(**OPTIONS)
def tell(roots, count, groups, starts, members, label, lowest, masters, fell, mirrors):
    """Roots tell those members that other ranks know: masters and mirrors whose label fell, and how many of each."""
    k = j = 0
    for i in range(count):
        root = roots[i]
        group = np.searchsorted(groups, root)
        if group == len(groups) or groups[group] != root:
            continue
        for m in range(starts[group], starts[group + 1]):
            v = members[m]
            if label[v] > lowest[root]:
                label[v] = lowest[root]
                if v < masters:
                    fell[k] = v
                    k += 1
                else:
                    mirrors[j] = v
                    j += 1
    return k, j
