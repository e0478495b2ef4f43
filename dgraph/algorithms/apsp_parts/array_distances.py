"""Array rounds of apsp's searches, which answer first runs on small graphs in place of 1.2 s of compilation.

A row has the distances from all sources of a rank to one vertex. The rows of in-neighbours lower it at once, and
vertices take turns until no row falls [Bellman 1958]. The lightest arcs come first: an arc that is heavier than the
distance which they leave between its ends is on no shortest path. A rank with many sources compares all arcs, also
those that leave others' sources. Weights are integers ≥ 0, so all sums are exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

PAIRS = 1 << 25
"""Pairs of vertices up to which array rounds pay; a pair takes up to 8 bytes beside the matrix."""

MANY = 8
"""A rank has many sources if it has one vertex in this many, or more."""

LIGHT = 16
"""One in this many arcs comes first."""

PART = 1 << 22
"""Distances of in-neighbours that are added at a time."""

STRIP = 32
"""Columns of the matrix that are written at a time: their lines stay in a processor's cache."""


def array_distances(matrix: np.ndarray, first: int, into: np.ndarray, tails: np.ndarray, tolls: np.ndarray) -> Iterator:
    """Set each row of a matrix (k, n) to the distances from vertex ``first`` + row; yield after each turn of vertices.

    ``into``, ``tails`` and ``tolls`` are in-arcs of all vertices. The largest weight times n is below 2^30.
    """
    n, most = len(into) - 1, int(tolls.max(initial=0))
    heads, stop = np.repeat(np.arange(n), np.diff(into)), first + len(matrix)
    begin, end = (0, n) if len(matrix) * MANY >= n else (first, stop)
    light, sources = np.ones(len(tolls), np.bool_), np.arange(begin, end)
    if len(tolls):
        light = tolls <= np.partition(tolls, len(tolls) // LIGHT)[len(tolls) // LIGHT]
    compared = np.flatnonzero((tails >= begin) & (tails < end))
    for kind in (np.int16, np.int32):  # narrow distances take half of the time
        none = np.iinfo(kind).max // 2
        if most > none:
            continue
        distance, costs = np.full((n, len(sources)), none, kind), tolls.astype(kind)[:, None]
        distance[sources, sources - begin] = 0
        yield from _lower(distance, heads[light], tails[light], costs[light])
        short = np.ones(len(tolls), np.bool_)
        short[compared] = tolls[compared] <= distance[heads[compared], tails[compared].astype(np.int64) - begin]
        distance = np.ascontiguousarray(distance[:, first - begin : stop - begin])
        yield from _lower(distance, heads[short], tails[short], costs[short])
        strips = [slice(begin, begin + STRIP) for begin in range(0, n, STRIP)]
        if all(np.where(distance[strip] < none, distance[strip], 0).max(initial=0) + most < none for strip in strips):
            break
    for strip in strips:
        values = distance[strip].astype(matrix.dtype)
        values[distance[strip] == none] = np.inf
        matrix[:, strip] = values.T


def _lower(distance: np.ndarray, heads: np.ndarray, tails: np.ndarray, tolls: np.ndarray) -> Iterator[None]:
    """Lower the rows of heads, which ascend, by those of tails until none falls; yield after each turn of vertices."""
    numbers, order = np.arange(len(distance) + 1), np.argsort(tails, kind="stable")
    into, outward = np.searchsorted(heads, numbers).tolist(), np.searchsorted(tails[order], numbers).tolist()
    followers, step = heads[order], max(PART // max(distance.shape[1], 1), 1)
    waits = np.diff(into) > 0
    turn = np.flatnonzero(waits)[np.argsort(-np.diff(into)[waits], kind="stable")].tolist()
    while waits.any():
        for v in turn:
            if not waits[v]:
                continue
            waits[v], before = False, distance[v]
            lowered = before
            for begin in range(into[v], into[v + 1], step):
                end = min(begin + step, into[v + 1])
                rows = distance[tails[begin:end]]
                rows += tolls[begin:end]
                lowered = np.minimum(lowered, np.minimum.reduce(rows))
            if (lowered != before).any():
                distance[v] = lowered
                waits[followers[outward[v] : outward[v + 1]]] = True
        turn.reverse()
        yield
