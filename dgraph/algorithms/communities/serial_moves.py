"""Moves of single vertices in one serial order, and connected pieces of communities."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_totals import ALONE, Partition, best_move, empty_label, shift, stays
from dgraph.algorithms.communities.graph_level import CHUNK, GraphLevel
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team


def gaining(partition: Partition, units: Units, most: int, team: Team) -> np.ndarray:
    """Return 1 for vertices that gain by a move, uint8 (n,)."""
    level = partition.level
    threads, n = level.threads(team), level.n
    flags, sums, touched = np.zeros(n, np.uint8), np.zeros((threads, n), np.int64), np.empty((threads, n + 1), np.int32)
    team.run(
        _find, threads, np.zeros(1, np.int64), units.scale, units.price, most, level.rows, partition.totals,
        partition.bounds, flags, sums, touched,
    )  # fmt: skip
    return flags


def sweep(partition: Partition, units: Units, most: int, vertices: np.ndarray) -> None:
    """Move vertices in turn, int32 ascending; the first gains, and so the quality rises."""
    level = partition.level
    sums, touched = np.zeros(level.n, np.int64), np.empty(level.n + 1, np.int32)
    _sweep(vertices, units.scale, units.price, most, level.rows, partition.totals, partition.bounds, sums, touched)
    partition.end_round()


@plain_first
@njit(**OPTIONS)
def _find(t, threads, taken, scale, price, most, rows, totals, bounds, flags, all_sums, all_touched):
    """Flag vertices that gain by a move."""
    n, mass, labels, mass_of = len(flags), rows[3], totals[0], totals[1]
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= n:
            return
        for v in range(first, min(first + CHUNK, n)):
            if stays(v, scale, price, mass, labels, mass_of, bounds):
                continue
            best = best_move(v, scale, price, most, rows, totals, bounds, all_sums[t], all_touched[t], 0, -1, 1)
            if best != labels[v]:
                flags[v] = 1
                bounds[0][v] = -np.inf


@plain_first
@njit(**OPTIONS)
def _sweep(vertices, scale, price, most, rows, totals, bounds, sums, touched):
    labels, sizes = totals[0], totals[2]
    for v in vertices:
        new = best_move(v, scale, price, most, rows, totals, bounds, sums, touched, 0, -1, 1)
        if new == ALONE:
            new = np.int32(empty_label(v, sizes))
        if new != labels[v]:
            shift(v, new, rows, totals, bounds)


@plain_first
@njit(**OPTIONS)
def _connect(offsets, targets, labels, pieces, stack):
    for root in range(len(labels)):
        if pieces[root] >= 0:
            continue
        pieces[root] = root
        stack[0] = root
        height = 1
        while height:
            height -= 1
            v = stack[height]
            for i in range(offsets[v], offsets[v + 1]):
                u = targets[i]
                if pieces[u] < 0 and labels[u] == labels[v]:
                    pieces[u] = root
                    stack[height] = u
                    height += 1


def connected(level: GraphLevel, labels: np.ndarray) -> np.ndarray:
    """Return the smallest vertex of the connected piece of each vertex within its community."""
    pieces = np.full(level.n, -1, np.int32)
    _connect(level.offsets, level.targets, labels, pieces, np.empty(level.n, np.int32))
    return pieces
