"""Compiled peeling kernels of core numbers (``kcore_peel_machine.py``).

[Kabir & Madduri, 2017: PKC; windows of levels as in Dhulipala et al., SPAA 2017: Julienne]

Level k removes every vertex with k remaining neighbours, until there is none. A thread follows its own removals without
a barrier, up to ``BUFFER`` vertices; the rest waits in ``queue`` for any thread. *Candidates* are the vertices that
levels k .. k + WINDOW - 1 may remove. One pass over all live vertices finds them; vertices that reach the window later
are listed as *fallen*.
"""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import (
    INLINE,
    INNER,
    OPTIONS,
    add_into,
    barrier,
    fetch_add,
    load,
    load_acquire,
    prefetch,
    store,
)

WINDOW = 16
"""Levels whose candidates are found in one pass."""

BUFFER = 4096
CHUNK = 64
AHEAD = 8
"""Vertices by which rows are prefetched."""

NONE = np.iinfo(np.int64).max
"""Level above all others."""

# words of ``shared``, 8 apart: one cache line each
TAIL, CLAIMED, FALLEN, MIRRORS, FRONT, DROPPED, EDGES = range(0, 56, 8)
HEAD, LEVEL, LAST, FALLEN_FROM = range(56, 88, 8)
SHARED = 88


@njit(**INLINE)
def put(buffer, count, v, out, shared, tail):
    """Append to this thread's buffer and flush a full one to the list; return the new count."""
    store(buffer, count, np.uint32(v))
    count += 1
    return move(buffer, 0, count, out, shared, tail) if count == BUFFER else count


@njit(**INNER)
def move(buffer, first, last, out, shared, tail):
    """Flush ``buffer[first:last]`` to the list; return ``first``."""
    if last > first:
        at = fetch_add(shared, tail, last - first)
        for i in range(first, last):
            store(out, at + i - first, load(buffer, i))
    return first


@njit(**INNER)
def find(t, threads, k, last, core, lists, counts, buffers, shared):
    """Queue the vertices that level k removes.

    Returns:
        The last level of the window, and the first entry of ``fallen`` that belongs to it.
    """
    queue, live, candidates, fallen = lists[0], lists[1], lists[2], lists[3]
    out, found, fallen_from = buffers[t, 0], 0, shared[FALLEN_FROM]
    begin = len(live) * t // threads
    if k > last:
        untouched, last = last < 0, k + WINDOW - 1
        fallen_from = load_acquire(shared, FALLEN)
        kept, chosen = begin, begin
        for i in range(begin, begin + counts[t, 0]):
            v = np.int64(load(live, i))
            if untouched and load(core, v) < k:
                store(core, v, core.dtype.type(k))
            remaining = load(core, v)
            if remaining > last:
                store(live, kept, np.uint32(v))
                kept += 1
            elif remaining >= k:
                store(candidates, chosen, np.uint32(v))
                chosen += 1
        counts[t, 0], counts[t, 1] = kept - begin, chosen - begin
    kept = begin
    for i in range(begin, begin + counts[t, 1]):
        v = np.int64(load(candidates, i))
        remaining = load(core, v)
        if remaining == k:
            found = put(out, found, v, queue, shared, TAIL)
        elif remaining > k:
            store(candidates, kept, np.uint32(v))
            kept += 1
    counts[t, 1] = kept - begin
    count = load_acquire(shared, FALLEN) - fallen_from
    for i in range(fallen_from + count * t // threads, fallen_from + count * (t + 1) // threads):
        v = np.int64(load(fallen, i))
        if load(core, v) == k:
            found = put(out, found, v, queue, shared, TAIL)
    move(out, 0, found, queue, shared, TAIL)
    return last, fallen_from


@njit(**INNER)
def drop(t, k, last, start, end, graph, masters, core, lost, degree, lists, log, buffers, shared, alone):
    """Remove ``queue[start:end]`` and all vertices that this leaves with k neighbours; mirrors count their losses."""
    queue, fallen, mirrors, front = lists[0], lists[3], lists[4], lists[5]
    stack, fell, touched, gone = buffers[t, 0], buffers[t, 1], buffers[t, 2], buffers[t, 3]
    offsets, neighbours = graph
    top = f = j = g = dropped = edges = 0
    while True:
        begin = fetch_add(shared, CLAIMED, CHUNK)
        if start + begin >= end:
            break
        for i in range(start + begin, min(start + begin + CHUNK, end)):
            if i + AHEAD < end:
                prefetch(neighbours, load(offsets, np.int64(load(queue, i + AHEAD))))
            store(stack, top, load(queue, i))
            top += 1
            while top > 0:
                top -= 1
                u = np.int64(load(stack, top))
                if u < masters:
                    dropped += 1
                    edges += load(degree, u)
                    if log:
                        g = put(gone, g, u, front, shared, FRONT)
                for e in range(load(offsets, u), load(offsets, u + 1)):
                    v = np.int64(load(neighbours, e))
                    if v >= masters:  # losses of a removed master's mirrors are counted but not sent
                        if add_into(lost, v, 1, alone) == 0 and load(core, v) > k:
                            j = put(touched, j, v, mirrors, shared, MIRRORS)
                        continue
                    if load(core, v) <= k:
                        continue
                    before = add_into(core, v, -1, alone)
                    if before == k + 1:
                        store(stack, top, np.uint32(v))
                        top += 1
                        if top == BUFFER:
                            top = move(stack, BUFFER // 2, BUFFER, queue, shared, TAIL)
                    elif before <= k:
                        add_into(core, v, 1, alone)
                    elif before - 1 == last:
                        f = put(fell, f, v, fallen, shared, FALLEN)
    move(fell, 0, f, fallen, shared, FALLEN)
    move(touched, 0, j, mirrors, shared, MIRRORS)
    move(gone, 0, g, front, shared, FRONT)
    fetch_add(shared, DROPPED, dropped)
    fetch_add(shared, EDGES, edges)


@njit(**OPTIONS)
def lose(lids, positions, values, core, lists, shared):
    """Subtract mirrors' losses from masters ``lids[positions]``; queue those that reach level k."""
    queue, fallen, k, last = lists[0], lists[3], shared[LEVEL], shared[LAST]
    tail, end = shared[TAIL], shared[FALLEN]
    for i in range(len(positions)):
        v = np.int64(load(lids, np.int64(load(positions, i))))
        before = np.int64(load(core, v))
        if before <= k:
            continue
        remaining = max(before - np.int64(load(values, i)), k)
        store(core, v, core.dtype.type(remaining))
        if remaining == k:
            store(queue, tail, np.uint32(v))
            tail += 1
        elif before > last >= remaining:
            store(fallen, end, np.uint32(v))
            end += 1
    shared[TAIL], shared[FALLEN] = tail, end


@njit(**OPTIONS)
def lowest(k, core, lists, counts, shared):
    """Return the next level after k that removes a vertex; NONE if no vertex remains."""
    live, candidates, fallen = lists[1], lists[2], lists[3]
    level, threads = NONE, len(counts)
    for t in range(threads):
        begin = len(live) * t // threads
        level = fewest(candidates, begin, begin + counts[t, 1], core, k, level)
    level = fewest(fallen, shared[FALLEN_FROM], shared[FALLEN], core, k, level)
    if level == NONE:
        for t in range(threads):
            begin = len(live) * t // threads
            level = fewest(live, begin, begin + counts[t, 0], core, k, level)
    return level


@njit(**INLINE)
def fewest(vertices, first, last, core, k, level):
    """Return the minimum of ``level`` and the remaining degrees above k of ``vertices[first:last]``."""
    for i in range(first, last):
        remaining = np.int64(load(core, np.int64(load(vertices, i))))
        level = min(level, remaining if remaining > k else NONE)
    return level


@njit(**OPTIONS)
def forget(lids, lost):
    """Reset mirrors' losses after they were sent."""
    for i in range(len(lids)):
        store(lost, np.int64(load(lids, i)), lost.dtype.type(0))


@njit(**OPTIONS)
def peel(t, threads, graph, masters, core, lost, degree, lists, counts, buffers, shared, gate, fresh, limit, ring):
    """Process the queue and all removals that follow on this rank; thread t of ``threads``.

    ``fresh``: queue the vertices that the level removes first.

    ``limit`` > 0: the whole graph is on this rank; run up to ``limit`` levels.

    Returns:
        Levels that were run.
    """
    k, last, fallen_from, levels = shared[LEVEL], shared[LAST], shared[FALLEN_FROM], 0
    head = shared[HEAD]
    barrier(gate, threads)
    while True:
        if fresh:
            last, fallen_from = find(t, threads, k, last, core, lists, counts, buffers, shared)
            barrier(gate, threads)
            if t == 0:
                shared[FALLEN_FROM] = fallen_from
        dropped, edges = shared[DROPPED], shared[EDGES]
        end = load_acquire(shared, TAIL)
        barrier(gate, threads)
        while head < end:
            drop(
                t,
                k,
                last,
                head,
                end,
                graph,
                masters,
                core,
                lost,
                degree,
                lists,
                limit == 0,
                buffers,
                shared,
                threads == 1,
            )
            barrier(gate, threads)
            head, end = end, load_acquire(shared, TAIL)
            if t == 0:
                shared[CLAIMED] = 0
            barrier(gate, threads)
        if limit == 0:
            break
        if t == 0:
            at = 3 * levels
            ring[at], ring[at + 1], ring[at + 2] = shared[DROPPED] - dropped, shared[EDGES] - edges, 0
        levels += 1
        k += 1
        if load_acquire(shared, DROPPED) >= masters or levels == limit:
            break
    barrier(gate, threads)
    if t == 0:
        shared[LEVEL], shared[LAST], shared[HEAD] = k, last, head
    barrier(gate, threads)
    return levels
