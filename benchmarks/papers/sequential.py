"""Sequential searches, compiled by Numba, one thread: the bars of height 1 in the papers' figures."""

from __future__ import annotations

import heapq
import statistics
import time
from collections.abc import Sequence

import numba
import numpy as np

import dgraph

FAR = np.iinfo(np.int64).max // 2


@numba.njit
def queue_bfs(offsets, targets, weights, source):
    """Search with a queue; ``weights`` is not read.   [004 table 1; 001 figure 5]"""
    distance = np.full(offsets.size - 1, FAR)
    queue = np.empty(offsets.size - 1, np.int64)
    distance[source], queue[0], first, last = 0, source, 0, 1
    while first < last:
        vertex = queue[first]
        first += 1
        for i in range(offsets[vertex], offsets[vertex + 1]):
            if distance[targets[i]] == FAR:
                distance[targets[i]] = distance[vertex] + 1
                queue[last] = targets[i]
                last += 1
    return distance


@numba.njit
def frontier_bellman_ford(offsets, targets, weights, source):
    """Relax the edges of the vertices that changed, in rounds, each vertex once a round.   [001 algorithm 5]"""
    n = offsets.size - 1
    distance, queued = np.full(n, FAR), np.full(n, -1)
    now, after = np.empty(n, np.int64), np.empty(n, np.int64)
    distance[source], now[0], count, number = 0, source, 1, 0
    while count:
        waiting = 0
        for k in range(count):
            vertex = now[k]
            for i in range(offsets[vertex], offsets[vertex + 1]):
                target, reach = targets[i], distance[vertex] + weights[i]
                if reach < distance[target]:
                    distance[target] = reach
                    if queued[target] != number:
                        queued[target] = number
                        after[waiting] = target
                        waiting += 1
        now, after, count, number = after, now, waiting, number + 1
    return distance


@numba.njit
def dijkstra(offsets, targets, weights, source):
    """Settle the nearest vertex of a binary heap; outdated entries stay in it.   [001 section 3]"""
    distance = np.full(offsets.size - 1, FAR)
    distance[source] = 0
    heap = [(np.int64(0), np.int64(source))]
    while heap:
        reach, vertex = heapq.heappop(heap)
        if reach > distance[vertex]:
            continue
        for i in range(offsets[vertex], offsets[vertex + 1]):
            further, target = reach + np.int64(weights[i]), np.int64(targets[i])
            if further < distance[target]:
                distance[target] = further
                heapq.heappush(heap, (further, target))
    return distance


TEXTS = {"queue": queue_bfs, "frontier Bellman-Ford": frontier_bellman_ford, "Dijkstra": dijkstra}


def measure(name: str, graph: dgraph.Graph, starts: Sequence[int], repeat: int) -> dict:
    """Return the mean over sources of the median milliseconds, and the rate of edges of reached vertices."""
    search, block = TEXTS[name], graph.block
    weights = np.zeros(0, np.int32) if block.weights is None else block.weights
    search(block.offsets, block.targets, weights, starts[0])
    medians, rates = [], []
    for source in starts:
        seconds = []
        for _ in range(repeat):
            began = time.perf_counter()
            distance = search(block.offsets, block.targets, weights, source)
            seconds.append(time.perf_counter() - began)
        medians.append(statistics.median(seconds))
        rates.append(int(np.diff(block.offsets)[distance < FAR].sum()) / medians[-1])
    return {
        "ms": 1e3 * statistics.mean(medians), "mteps": statistics.mean(rates) / 1e6, "sources": len(starts),
        "n": graph.n, "arcs": graph.arcs, "threads": 1,
    }  # fmt: skip
