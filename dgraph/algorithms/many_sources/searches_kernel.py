"""Searches by weights from several sources at once on one thread: a lane for each source.

The distances of a vertex are one cache line, so that one look at an arc serves all lanes. The order is that of near-far
[Davidson et al., IPDPS 2014]: vertices with a lane that fell wait in the near queue, or in the far list if the least
such lane is beyond the threshold. A vertex that leaves the near queue relaxes its arcs in all lanes; where it has
many arcs, all vertices scan their in-arcs instead, without a branch in the loop. Rounded sums are monotone, so the last
values are the least sums along paths, in whatever order they are found.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.lanes import lower_by_rows, lower_row
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS
from dgraph.backend.cpu.threads.plain_kernels import plain_first

NEAR, FAR = np.uint8(1), np.uint8(2)
"""Bits of a vertex that is in the near queue, and in the far list."""


DENSE = 4
"""Vertices with more than one in this many arcs in the near queue are many: all vertices scan their in-arcs then."""


@njit(**INNER)
def sweep(distance, into, tails, tolls, none, offsets, near, least, place):
    """Lower all vertices by their in-arcs, and queue those that fell; return their number and that of their arcs."""
    size = load = 0
    for v in range(len(least)):
        least[v] = lower_by_rows(distance, v, tails, tolls, into[v], into[v + 1], none)
        place[v] = 0
        if least[v] < none:
            place[v] = NEAR
            near[size] = v
            size += 1
            load += offsets[v + 1] - offsets[v]
    return size, load


@njit(**INNER)
def search(
    sources, distance, offsets, targets, costs, into, tails, tolls, width, limit, none, least, near, far, place
):  # fmt: skip
    """Write the distances from source i to lane i of ``distance``, ``none`` without a path.

    ``targets`` and ``costs`` are those of out-arcs, ``tails`` and ``tolls`` of in-arcs. ``width`` is that of the near
    queue's range. The search ends where only vertices beyond ``limit`` wait, whose distances are not final. ``least``,
    of the dtype of distances, ``near``, ``far`` (uint32) and ``place`` (uint8) are scratch of n values.
    """
    distance[:] = none
    least[:] = none
    place[:] = 0
    n, head, tail, waiting, bound = len(least), 0, 0, 0, width
    for lane in range(len(sources)):
        v = sources[lane]
        distance[v, lane] = least[v] = 0
        if place[v] == 0:
            place[v] = NEAR
            near[tail] = v
            tail += 1
    while True:
        size, load = tail, 0
        for i in range(size):
            load += offsets[near[i] + 1] - offsets[near[i]]
        while size:
            if load > len(targets) // DENSE:
                size, load = sweep(distance, into, tails, tolls, none, offsets, near, least, place)
                head = waiting = 0
                continue
            u = np.int64(near[head])
            head = head + 1 if head + 1 < n else 0
            size -= 1
            load -= offsets[u + 1] - offsets[u]
            place[u] &= ~NEAR
            least[u] = none
            for e in range(offsets[u], offsets[u + 1]):
                v = np.int64(targets[e])
                fell = lower_row(distance, u, v, costs[e], none)
                if fell < least[v]:
                    least[v] = fell
                    if fell <= bound:
                        if not place[v] & NEAR:
                            place[v] |= NEAR
                            slot = head + size
                            near[slot if slot < n else slot - n] = v
                            size += 1
                            load += offsets[v + 1] - offsets[v]
                    elif not place[v]:
                        place[v] = FAR
                        far[waiting] = v
                        waiting += 1
        tail = head = 0
        lowest = none
        for i in range(waiting):
            lowest = min(lowest, least[far[i]])
        if lowest == none or lowest > limit:
            return
        bound, kept = lowest + width, 0
        for i in range(waiting):
            v = far[i]
            if least[v] <= bound:
                place[v] = NEAR
                near[tail] = v
                tail += 1
            elif least[v] == none:
                place[v] = 0
            else:
                far[kept] = v
                kept += 1
        waiting = kept


def array_searches(
    sources, first, size, offsets, targets, costs, into, tails, tolls, width, limit, none, rows, least, queues, places,
):  # fmt: skip
    """Write the distances from each source in turn: in a round all vertices scan their in-arcs."""
    entered = np.flatnonzero(np.diff(into))
    for t, lanes in enumerate(rows):
        lanes[:] = none
        for lane, source in enumerate(sources[first + t * size : first + (t + 1) * size]):
            distance = np.full(len(lanes), none)
            distance[source], falls = 0, len(entered) > 0
            while falls:
                with np.errstate(over="ignore"):  # beyond the limit; without one, such weights are sssp's
                    lowered = np.minimum.reduceat(distance[tails] + tolls, into[entered])
                before = distance[entered]
                falls = (lowered < before).any()
                distance[entered] = np.minimum(lowered, before)
                yield
            lanes[:, lane] = distance


@njit(**OPTIONS)
def search_from_batch(
    t, threads, sources, first, size, offsets, targets, costs, into, tails, tolls, width, limit, none, rows, least,
    queues, places,
):  # fmt: skip
    """Write the distances from ``size`` sources from ``first + t · size`` on to the lanes of ``rows[t]``."""
    begin = min(first + t * size, len(sources))
    search(
        sources[begin : begin + size], rows[t], offsets, targets, costs, into, tails, tolls, width, limit, none,
        least[t], queues[t, 0], queues[t, 1], places[t],
    )  # fmt: skip


rows_of_batch = plain_first(search_from_batch, most=1 << 20, rounds=array_searches)
"""``search_from_batch``, or its array rounds until compilation pays."""


@njit(**OPTIONS)
def sum_lanes(t, threads, sources, first, size, none, rows, far, reached):
    """Sum the lanes of ``rows[t]`` to row t of ``far`` in their order; ``reached`` counts them, sources left out."""
    begin = min(first + t * size, len(sources))
    lanes = min(size, len(sources) - begin)
    for v in range(len(far[t])):
        total, count = 0.0, 0
        for lane in range(lanes):
            if rows[t, v, lane] != none:
                total += rows[t, v, lane]
                count += 1
        far[t, v] = total
        reached[t, v] = count
    for i in range(begin, begin + lanes):
        reached[t, sources[i]] -= 1
