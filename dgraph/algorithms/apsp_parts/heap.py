"""Search from one source, compiled: Dijkstra's algorithm with a 4-ary heap, or a queue if every arc costs 1."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INNER

UNSEEN, DONE = -1, -2
"""Places in the heap of vertices that are not in it."""


@njit(**INNER)
def search(source, distances, order, offsets, targets, costs, weights, negative, key, length, heap, place):
    """Write the distances from ``source`` to ``distances``, and the vertices as they are reached to ``order``.

    ``costs`` ≥ 0 order the search; empty: every arc costs 1. With ``negative``, distances are sums of ``weights``.
    ``key``, ``length`` (float64), ``heap`` and ``place`` (int32) are scratch, of n values. Returns the number of
    vertices reached.
    """
    distances[:] = np.inf
    if len(costs) == 0:
        return _levels(source, distances, offsets, targets, order)
    count = 0
    key[:] = np.inf
    place[:] = UNSEEN
    key[source] = length[source] = 0.0
    heap[0], size = source, 1
    while size:
        u = np.int64(heap[0])
        place[u] = DONE
        size -= 1
        if size:
            sink(heap, place, key, size, heap[size])
        distances[u] = length[u] if negative else key[u]
        order[count] = u
        count += 1
        for e in range(offsets[u], offsets[u + 1]):
            v = np.int64(targets[e])
            x = key[u] + costs[e]
            if place[v] != DONE and x < key[v]:
                key[v] = x
                if negative:
                    length[v] = length[u] + weights[e]
                slot = np.int64(place[v])
                if slot == UNSEEN:
                    slot = size
                    size += 1
                rise(heap, place, key, slot, v)
    return count


@njit(**INNER)
def _levels(source, distances, offsets, targets, queue):
    distances[source] = 0
    queue[0], head, tail = source, 0, 1
    while head < tail:
        u = np.int64(queue[head])
        head += 1
        for e in range(offsets[u], offsets[u + 1]):
            v = np.int64(targets[e])
            if distances[v] == np.inf:
                distances[v] = distances[u] + 1
                queue[tail] = v
                tail += 1
    return tail


@njit(**INNER)
def rise(heap, place, key, slot, v):
    """Put v at place ``slot`` of the heap or above it."""
    while slot > 0:
        above = (slot - 1) >> 2
        if key[heap[above]] <= key[v]:
            break
        heap[slot] = heap[above]
        place[heap[slot]] = slot
        slot = above
    heap[slot] = v
    place[v] = slot


@njit(**INNER)
def sink(heap, place, key, size, v):
    """Put v at the root of the heap of ``size`` or below it."""
    slot = 0
    while True:
        child = 4 * slot + 1
        if child >= size:
            break
        least = child
        for other in range(child + 1, min(child + 4, size)):
            if key[heap[other]] < key[heap[least]]:
                least = other
        if key[v] <= key[heap[least]]:
            break
        heap[slot] = heap[least]
        place[heap[slot]] = slot
        slot = least
    heap[slot] = v
    place[v] = slot
