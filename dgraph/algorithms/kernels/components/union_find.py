"""Compiled union-find kernels of connected components (``components_cpu.py``).

[Sutton et al., IPDPS 2018: Afforest] ``parent`` is a forest over lids in which a parent is smaller than its child; a
tree is a component. Afforest samples two edges of each vertex, finds the largest tree, and skips the remaining edges of
its members. We add directed local arcs: a vertex whose in-arcs are not all stored in reverse counts those it saw.
"""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads import launch
from dgraph.backend.cpu.threads.atomics import (
    INLINE,
    OPTIONS,
    barrier,
    fetch_add,
    fetch_min,
    load,
    prefetch,
    replace_if_equal,
    store,
)

PROBES = 1024
"""Vertices sampled to find the largest component."""

CHUNK = 4096
NO_VERTEX = np.uint32(2**32 - 1)
AHEAD = 16
"""Vertices by which rows are prefetched."""

LOWERED, HAS_MIRRORS = np.uint8(1), np.uint8(2)
"""Bits of ``marks``: the root is listed as lowered; the root's tree has mirrors."""

NEXT, ROOTS, LARGEST = 0, 16, 64
"""Words of ``shared``: two counters of dynamic chunks, 8 words apart; the number of trees; the root of the largest."""


@njit(**INLINE)
def join(parent, u, v, alone):
    """Merge the trees of u and v, concurrently with other threads unless ``alone``."""
    a, b = load(parent, u), load(parent, v)
    while a != b:
        high, low = max(a, b), min(a, b)
        above = load(parent, high)
        if above == low or (above == high and replace_if_equal(parent, high, high, low, alone)):
            break
        a, b = load(parent, load(parent, high)), load(parent, low)


@njit(**OPTIONS)
def flatten(t, threads, count, parent):
    """Make every vertex of this thread's share of the first ``count`` a child of its root."""
    for v in range(count * t // threads, count * (t + 1) // threads):
        above = load(parent, v)
        while above != load(parent, above):
            above = load(parent, above)
        store(parent, v, above)


@njit(**OPTIONS)
def most_frequent(parent, roots):
    """Return the most frequent root of ``PROBES`` vertices, chosen with a fixed seed; ``roots`` is scratch."""
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


def few_components(
    t, team, threads, offsets, neighbours, entering, original, ascending, parent, lowest, unseen, later, probes, shared,
    gate,
):  # fmt: skip
    """Join all arcs by NumPy: roots hook to the smallest neighbouring root, then trees are flattened.

    An arc counts at its higher end, or where its target may lack a row. NumPy gathers fastest by int64.
    """
    ids = np.arange(len(parent))
    forest, v, u = ids.copy(), np.repeat(ids, np.diff(offsets)), neighbours
    counts = (u < v) | (u >= len(ids) - len(entering))
    v, u = v[counts], u[counts].astype(np.int64)
    a, b = v, u
    while v.size:
        np.minimum.at(forest, np.maximum(a, b), np.minimum(a, b))
        while np.count_nonzero((above := forest[forest]) != forest):
            forest = above
        a, b = forest[v], forest[u]
        apart = a != b
        v, u, a, b = v[apart], u[apart], a[apart], b[apart]
    parent[:] = forest
    np.minimum.at(lowest, forest[ascending:], original[ascending:])
    shared[ROOTS] = np.count_nonzero(forest == ids)
    return 0


@njit(few=few_components, **OPTIONS)
def components(
    t, team, threads, offsets, neighbours, entering, original, ascending, parent, lowest, unseen, later, probes, shared,
    gate,
):  # fmt: skip
    """Join all arcs, and find the smallest original id of each tree, stored at its root; thread t of ``threads``.

    Two arcs of every row are joined first, which on most graphs makes the largest component; rows of its members are
    then
    skipped. An arc skipped this way is found at its other end. A vertex whose row has the arc's reverse sees it there.
    One
    of the last ``len(entering)`` vertices may lack a row: it counts the arcs seen, and if fewer came than enter it, the
    missing ones start in the largest component.

    Args:
        t: this thread.
        team: words of the team, see ``launch.py``.
        threads: number of threads.
        offsets: CSR of the local arcs.
        neighbours: likewise.
        entering: uint32, local arcs that enter each of the last vertices; the rows of the others have every reverse.
        original: int64, original ids.
        ascending: number of leading vertices whose original ids ascend: a root among them has the smallest of theirs.
        parent: uint32 (size,), output.
        lowest: int64 (size,), ``original`` at first; valid at roots on return. Not written if all ids ascend.
        unseen: uint32, as long as ``entering``; scratch.
        later: uint32, two a row; scratch.
        probes: uint32 (PROBES,); scratch.
        shared: counters of all threads, zero; on return also the number of trees.
        gate: barrier of all threads, zero.
    """
    launch.begin(t, team, threads)
    size = len(parent)
    counted, alone = size - len(unseen), threads == 1
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
        store(unseen, v - counted, load(entering, v - counted))
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
                        fetch_add(unseen, u - counted, np.uint32(-1))
    barrier(gate, threads)
    for v in range(max(first, counted), last):
        if load(unseen, v - counted) != 0:
            join(parent, np.int64(v), largest, alone)
    barrier(gate, threads)
    flatten(t, threads, size, parent)
    barrier(gate, threads)
    roots = 0
    for v in range(first, last):
        roots += np.int64(load(parent, v)) == v
    fetch_add(shared, ROOTS, np.int64(roots))
    for v in range(max(first, ascending), last):
        root = np.int64(load(parent, v))
        if load(original, v) < load(lowest, root):
            fetch_min(lowest, root, load(original, v))
    launch.end(t, team, threads)
    return 0


def _copy_few_labels(t, threads, parent, lowest, label, count):
    """Copy labels by NumPy."""
    share = slice(count * t // threads, count * (t + 1) // threads)
    label[share] = lowest[parent[share]]
    return 0


@njit(few=_copy_few_labels, **OPTIONS)
def copy_labels(t, threads, parent, lowest, label, count):
    """Copy its root's label to each of the first ``count`` vertices."""
    for v in range(count * t // threads, count * (t + 1) // threads):
        store(label, v, load(lowest, np.int64(load(parent, v))))
    return 0


def _update_few_labels(vertices, parent, lowest, label, listed, count):
    """Lower labels by NumPy."""
    low = lowest[parent[vertices]]
    lowered = low < label[vertices]
    end = count + np.count_nonzero(lowered)
    listed[count:end] = vertices[lowered]
    label[listed[count:end]] = low[lowered]
    return end


@njit(few=_update_few_labels, **OPTIONS)
def update_labels(vertices, parent, lowest, label, changed, count):
    """Lower labels of ``vertices`` to their roots'; append the lowered ones to ``changed`` and return the new count."""
    for i in range(len(vertices)):
        v = np.int64(load(vertices, i))
        low = load(lowest, np.int64(load(parent, v)))
        if low < load(label, v):
            store(label, v, low)
            store(changed, count, np.uint32(v))
            count += 1
    return count


def _update_below_few_roots(roots, head, following, first, last, budget, lowest, label, listed):
    """Leave it to a full scan, which NumPy does in less time."""
    return 0, False


@njit(few=_update_below_few_roots, **OPTIONS)
def update_below_roots(roots, head, following, first, last, budget, lowest, label, changed):
    """Lower labels of vertices ``first .. last`` in the trees of ``roots``, by lists.

    Returns:
        Lowered vertices, and False if ``budget`` list entries were not enough.
    """
    count = 0
    for i in range(len(roots)):
        low, v = lowest[roots[i]], head[roots[i]]
        while v != NO_VERTEX:
            if budget == 0:
                return count, False
            budget -= 1
            if first <= v < last and low < label[v]:
                label[v] = low
                changed[count] = v
                count += 1
            v = following[v]
    return count, True


def _no_lists(vertices, parent, head, following):
    """Build no lists: :func:`_update_below_few_roots` reads none."""


@njit(few=_no_lists, **OPTIONS)
def lists(vertices, parent, head, following):
    """Build a linked list of each root's vertices: ``head`` at the root, then ``following``; NO_VERTEX ends it."""
    for i in range(len(vertices)):
        root = np.int64(load(parent, np.int64(load(vertices, i))))
        store(following, np.int64(load(vertices, i)), load(head, root))
        store(head, root, load(vertices, i))


def _mark_few_roots(vertices, parent, marks):
    """Mark roots by NumPy."""
    marks[parent[vertices]] = HAS_MIRRORS


@njit(few=_mark_few_roots, **OPTIONS)
def mark_roots(vertices, parent, marks):
    """Set ``marks`` of the vertices' roots to HAS_MIRRORS."""
    for i in range(len(vertices)):
        store(marks, np.int64(load(parent, np.int64(load(vertices, i)))), HAS_MIRRORS)


@njit(**INLINE)
def lower(root, value, lowest, marks, roots, count):
    """Lower a root's label; list the root the first time; return the new count."""
    if value < load(lowest, root):
        store(lowest, root, value)
        if not load(marks, root) & LOWERED:
            store(marks, root, load(marks, root) | LOWERED)
            store(roots, count, np.uint32(root))
            count += 1
    return count


def _lower_few(root, values, lowest, marks, roots):
    """Lower roots to values by NumPy; list the lowered roots; return their number."""
    lowered = np.unique(root[values < lowest[root]])
    np.minimum.at(lowest, root, values)
    fresh = lowered[marks[lowered] & LOWERED == 0]
    marks[fresh] |= LOWERED
    roots[: fresh.size] = fresh
    return fresh.size


def _lower_few_masters(lids, positions, values, parent, lowest, marks, roots):
    """Lower the roots of masters by NumPy."""
    return _lower_few(parent[lids[positions]], values[: len(positions)], lowest, marks, roots)


@njit(few=_lower_few_masters, **OPTIONS)
def lower_masters(lids, positions, values, parent, lowest, marks, roots):
    """Lower the roots of masters ``lids[positions]`` to ``values``; list the lowered roots; return their number."""
    count = 0
    for i in range(len(positions)):
        root = np.int64(load(parent, np.int64(load(lids, np.int64(load(positions, i))))))
        count = lower(root, load(values, i), lowest, marks, roots, count)
    return count


def _lower_from_few_mirrors(lids, label, parent, lowest, marks, roots):
    """Lower the roots of mirrors by NumPy."""
    return _lower_few(parent[lids], label[lids], lowest, marks, roots)


@njit(few=_lower_from_few_mirrors, **OPTIONS)
def lower_from_mirrors(lids, label, parent, lowest, marks, roots):
    """Lower the roots of mirrors ``lids`` to the mirrors' labels; likewise."""
    count = 0
    for i in range(len(lids)):
        v = np.int64(load(lids, i))
        count = lower(np.int64(load(parent, v)), load(label, v), lowest, marks, roots, count)
    return count


def _clear_few_lowered(roots, marks):
    """Clear the bits by NumPy."""
    marks[roots] &= ~LOWERED
    return np.count_nonzero(marks[roots] == HAS_MIRRORS)


@njit(few=_clear_few_lowered, **OPTIONS)
def clear_lowered(roots, marks):
    """Clear the lowered bit of listed roots; return how many of them have mirrors."""
    count = 0
    for i in range(len(roots)):
        root = np.int64(roots[i])
        marks[root] &= ~LOWERED
        count += marks[root] == HAS_MIRRORS
    return count
