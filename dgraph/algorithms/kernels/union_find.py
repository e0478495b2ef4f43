"""Connected components by union-find: the compiled part of ``components_cpu.py``.

[Sutton et al., IPDPS 2018: Afforest]

``parent`` is a forest over lids in which a parent is smaller than its child; a tree is a component.
"""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import (
    INLINE,
    OPTIONS,
    barrier,
    fetch_add,
    fetch_min,
    load,
    prefetch,
    replaced,
    store,
)

PROBES = 1024
"""Vertices looked at to find the largest component."""

CHUNK = 4096
NOBODY = np.uint32(2**32 - 1)
AHEAD = 16
"""Vertices between the one that is worked on and the one whose row is fetched."""

FELL, TELLS = np.uint8(1), np.uint8(2)
"""In ``marks``: roots that are listed as fallen; roots that have mirrors."""

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
def most_frequent(parent, roots):
    """The root that most of ``PROBES`` vertices, drawn with a fixed seed, have. ``roots``: that many, scratch."""
    state = np.uint64(88172645463325252)
    for i in range(PROBES):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        root, j = parent[np.int64(state % np.uint64(len(parent)))], i
        while j > 0 and roots[j - 1] > root:
            roots[j] = roots[j - 1]
            j -= 1
        roots[j] = root
    best, most, run = roots[0], 0, 0
    for i in range(PROBES):
        run = run + 1 if i > 0 and roots[i] == roots[i - 1] else 1
        if run > most:
            best, most = roots[i], run
    return best


@njit(**OPTIONS)
def components(
    t, threads, offsets, neighbours, entering, original, ascending, parent, lowest, left, later, probes, shared, gate
):
    """Thread t of ``threads``: trees of all arcs, and at each root the smallest original id of its tree.

    Two arcs of every row first, which on most graphs already make the largest component; its rows get no second look.
    What that misses is found at the arcs' other ends: a vertex whose row has the arc's reverse sees it there; one of
    the last ``len(entering)``, which need not have a row, is told by the count of its arcs: if fewer came than enter
    it, the missing ones leave the largest component.

    Args:
        entering: uint32, local arcs that enter each of the last vertices; the rows of the others have every reverse.
        ascending: vertices, the first ones, whose original ids ascend: a root among them has the smallest of theirs.
        lowest: int64, ``original`` at first; right at roots when this ends.
        left: uint32, as long as ``entering``; scratch.
        later, probes: uint32, two a row and PROBES; scratch.
    """
    size = len(parent)
    counted, alone = size - len(left), threads == 1
    rows = counted if counted > 0 else size
    first, last = size * t // threads, size * (t + 1) // threads
    begin, end = rows * t // threads, rows * (t + 1) // threads
    for v in range(begin, end):
        if v + AHEAD < end:
            prefetch(neighbours, load(offsets, v + AHEAD))
        e, after = load(offsets, v), load(offsets, v + 1)
        one = np.int64(load(neighbours, e)) if e < after else v
        store(parent, v, np.uint32(v) if one > v else load(parent, one) if begin <= one < v else np.uint32(one))
        store(later, 2 * v, np.uint32(max(one, v)))
        store(later, 2 * v + 1, load(neighbours, e + 1) if e + 1 < after else np.uint32(v))
    for v in range(max(first, counted), last):
        if v >= rows:
            store(parent, v, np.uint32(v))
        store(left, v - counted, load(entering, v - counted))
    barrier(gate, threads)
    flatten(t, threads, rows, parent)
    barrier(gate, threads)
    while rows > 0:
        begin = fetch_add(shared, NEXT, CHUNK)
        if begin >= rows:
            break
        for v in range(begin, min(begin + CHUNK, rows)):
            for i in range(2):
                if load(later, 2 * v + i) != v:
                    join(parent, np.int64(v), np.int64(load(later, 2 * v + i)), alone)
    barrier(gate, threads)
    flatten(t, threads, rows, parent)
    barrier(gate, threads)
    if t == 0:
        shared[LARGEST] = most_frequent(parent[:rows], probes) if size > 0 else 0
    barrier(gate, threads)
    largest = shared[LARGEST]
    while rows > 0:
        begin = fetch_add(shared, NEXT + 8, CHUNK)
        if begin >= rows:
            break
        for v in range(begin, min(begin + CHUNK, rows)):
            if np.int64(load(parent, v)) != largest:
                for e in range(load(offsets, v), load(offsets, v + 1)):
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
def fallen(vertices, parent, lowest, label, out, count):
    """``vertices`` whose root knows a smaller label get it, and are listed in ``out`` from ``count`` on; new count."""
    for i in range(len(vertices)):
        v = np.int64(load(vertices, i))
        low = load(lowest, np.int64(load(parent, v)))
        if low < load(label, v):
            store(label, v, low)
            store(out, count, np.uint32(v))
            count += 1
    return count


@njit(**OPTIONS)
def fallen_of(roots, head, following, first, last, budget, lowest, label, out):
    """The same of vertices ``first .. last`` below ``roots``: how many, and whether ``budget`` looks were enough."""
    count = 0
    for i in range(len(roots)):
        low, v = lowest[roots[i]], head[roots[i]]
        while v != NOBODY:
            if budget == 0:
                return count, False
            budget -= 1
            if first <= v < last and low < label[v]:
                label[v] = low
                out[count] = v
                count += 1
            v = following[v]
    return count, True


@njit(**OPTIONS)
def lists(vertices, parent, head, following):
    """The vertices of every root as a list: ``head`` at the root, then ``following``; NOBODY ends it."""
    for i in range(len(vertices)):
        root = np.int64(load(parent, np.int64(load(vertices, i))))
        store(following, np.int64(load(vertices, i)), load(head, root))
        store(head, root, load(vertices, i))


@njit(**OPTIONS)
def mark(vertices, parent, marks):
    """``marks`` of the vertices' roots become TELLS."""
    for i in range(len(vertices)):
        store(marks, np.int64(load(parent, np.int64(load(vertices, i)))), TELLS)


@njit(**INLINE)
def lower(root, value, lowest, marks, roots, count):
    """A label for a root; one that falls is listed, once."""
    if value < load(lowest, root):
        store(lowest, root, value)
        if not load(marks, root) & FELL:
            store(marks, root, load(marks, root) | FELL)
            store(roots, count, np.uint32(root))
            count += 1
    return count


@njit(**OPTIONS)
def lowered(lids, positions, values, parent, lowest, marks, roots):
    """What mirrors say of masters ``lids[positions]``, to their roots; those that fall are listed; how many."""
    count = 0
    for i in range(len(positions)):
        root = np.int64(load(parent, np.int64(load(lids, np.int64(load(positions, i))))))
        count = lower(root, load(values, i), lowest, marks, roots, count)
    return count


@njit(**OPTIONS)
def heard(lids, label, parent, lowest, marks, roots):
    """What mirrors ``lids`` heard, to their roots; likewise."""
    count = 0
    for i in range(len(lids)):
        v = np.int64(load(lids, i))
        count = lower(np.int64(load(parent, v)), load(label, v), lowest, marks, roots, count)
    return count


@njit(**OPTIONS)
def taken(roots, marks):
    """Roots that may be listed anew; how many of them have mirrors."""
    count = 0
    for i in range(len(roots)):
        root = np.int64(roots[i])
        marks[root] &= ~FELL
        count += marks[root] == TELLS
    return count
