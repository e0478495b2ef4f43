"""Array rounds of ``paths_kernel.py``, which answer first runs on small graphs in place of 3 to 4 s of compilation.

A round keeps the arcs from the frontier to the rows that it may reach, and adds their lanes by ``np.bincount``, which
adds in the order of the arcs. The kernel does, too, so that bits are equal.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dgraph._support.compiled import plain
from dgraph.algorithms.many_sources.betweenness.paths_kernel import LARGE, begin, scale_level, search_batch, sum_lanes
from dgraph.algorithms.many_sources.lanes import LANES
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.graph.rows import edges_of

FEW = 1 << 25
"""Sources times arcs up to which array rounds take less time than the compilation."""

PATIENCE = 3.0
"""Seconds that the compilation takes, less those of an import."""


def _searched(
    groups, sources, degree, rows, neighbours, out_rows, out_neighbours, pushed_offsets, pushed, gates, cellses, bounds,
    nows, seens, pathses, shares, sumses, markses, buffers, buffer_laneses, logs, laneses, levelses, factorses,
    mosts, depths,
) -> Iterator[None]:  # fmt: skip
    """Search from a batch for each group, and compute dependencies."""
    for group in range(groups):
        now, seen, paths, share = nows[group], seens[group], pathses[group], shares[group]
        log, lanes, levels, factors = logs[group], laneses[group], levelses[group], factorses[group]
        mine, width = sources[group * LANES : (group + 1) * LANES], paths.shape[1]
        now[:], seen[:], paths[:] = 0, 0, 0.0
        full, depth, bound = np.uint8((1 << len(mine)) - 1), 0, 1.0
        first, last = 0, plain(begin)(mine, now[0], seen, paths, log, lanes)
        levels[:2] = 0, last
        while first < last and bound >= 0.0:
            depth += 1
            v = np.flatnonzero(full & ~seen)
            frontier = _frontier(log[first:last], lanes[first:last], len(now[0]))
            sums, hit = _folded(v, full & ~seen[v], rows, neighbours, frontier, paths)
            v, sums, hit = v[hit != 0], sums[hit != 0], hit[hit != 0]
            paths[v] += sums
            seen[v] |= hit
            first, last = last, last + len(v)
            log[first:last], lanes[first:last], levels[depth + 1] = v, hit, last
            bound, factors[depth] = bound * degree, 1.0
            if bound > LARGE:
                bound = plain(scale_level)(first, last, paths, log, lanes, mosts[group], factors[depth])
            yield
        depths[group] = depth if bound >= 0.0 else -1
        for level in range(depth - 1, -1, -1):
            here, later = (slice(levels[d], levels[d + 1]) for d in (level, level + 1))
            v, wanted = log[here], _bits(lanes[here], width)
            frontier = _frontier(log[later], lanes[later], len(now[0]))
            sums, _ = _folded(v, lanes[here], out_rows, out_neighbours, frontier, share)
            old = paths[v]
            dependency = old * sums * factors[level + 1, :width]
            share[v] = np.where(wanted, (1.0 + dependency) / np.where(wanted, old, 1.0), share[v])
            paths[v] = np.where(wanted, dependency, old)
            yield


def _frontier(v: np.ndarray, lanes: np.ndarray, slots: int) -> np.ndarray:
    """Return the lanes of all vertices: those of a level's ``v``, and 0."""
    frontier = np.zeros(slots, np.uint8)
    frontier[v] = lanes
    return frontier


def _folded(v, wanted, rows, neighbours, frontier, values) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of ``values`` over the neighbours of ``v`` in wanted lanes of the frontier, and these lanes."""
    row, e = edges_of(rows, v)
    u = neighbours[e]
    lanes = frontier[u] & wanted[row]
    kept = np.flatnonzero(lanes)
    row, u, lanes, width = row[kept], u[kept], lanes[kept], values.shape[1]
    places = (row[:, None] * width + np.arange(width)).ravel()
    parts = np.where(_bits(lanes, width), values[u], 0.0).ravel()
    sums, hit = np.bincount(places, parts, len(v) * width).reshape(len(v), width), np.zeros(len(v), np.uint8)
    if len(row):
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        hit[row[starts]] = np.bitwise_or.reduceat(lanes, starts)
    return sums, hit


def _bits(lanes: np.ndarray, width: int) -> np.ndarray:
    """Return the bits of each byte as a row of bool."""
    return np.unpackbits(lanes[:, None], axis=1, count=width, bitorder="little").view(bool)


def _summed(groups, sources, gates, seens, pathses, sumses, endpoints, parts, reached) -> Iterator[None]:
    """Sum the dependencies of each group's batch over its lanes."""
    yield
    for group in range(groups):
        seen, paths, place = seens[group], pathses[group], group * LANES
        many = max(min(LANES, len(sources) - place), 0)
        for k in range(many):
            if sources[place + k] >= 0:
                v = sources[place + k]
                paths[v, k], seen[v] = 0.0, seen[v] & ~np.uint8(1 << k)
        total = np.zeros(len(seen))
        for lane in paths[: len(seen)].T:
            total += lane
        if endpoints:
            ends = _bits(seen, many) if many else np.zeros((len(seen), 0))
            for lane in ends.T:
                total += lane
            reached[place : place + many] += ends.sum(axis=0, dtype=np.int64)
        parts[group] = np.where(seen, total, 0.0)


first_search = plain_first(search_batch, rounds=_searched, patience=PATIENCE)
"""``search_batch``, or its array rounds until compilation pays."""

first_sums = plain_first(sum_lanes, rounds=_summed, patience=PATIENCE)
"""The same of ``sum_lanes``."""
