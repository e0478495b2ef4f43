"""Moves of single vertices in one serial order, and connected pieces of communities."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_totals import ALONE, Partition, apply_move, best_move, empty_label
from dgraph.algorithms.communities.graph_level import CHUNK, GraphLevel
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team


def gaining(partition: Partition, units: Units, most: int, team: Team) -> np.ndarray:
    """Return 1 for vertices that gain by a move, uint8 (n,)."""
    level = partition.level
    threads, n = level.threads(team), level.n
    flags, sums, touched = np.zeros(n, np.uint8), np.zeros((threads, n), np.int64), np.empty((threads, n), np.int32)
    team.run(
        _find, threads, np.zeros(1, np.int64), units.scale, units.price, most, level.rows, partition.totals, flags,
        sums, touched,
    )  # fmt: skip
    return flags


def sweep(partition: Partition, units: Units, most: int, vertices: np.ndarray) -> None:
    """Move vertices in turn, int32 ascending; the first gains, and so the quality rises."""
    level = partition.level
    sums, touched = np.zeros(level.n, np.int64), np.empty(level.n, np.int32)
    _sweep(vertices, units.scale, units.price, most, level.rows, partition.totals, sums, touched)


@plain_first
@njit(**OPTIONS)
def _find(t, threads, taken, scale, price, most, rows, totals, flags, all_sums, all_touched):
    """Flag vertices that gain by a move."""
    n = len(flags)
    while True:
        first = fetch_add(taken, 0, CHUNK)
        if first >= n:
            return
        for v in range(first, min(first + CHUNK, n)):
            best = best_move(v, scale, price, most, rows, totals, all_sums[t], all_touched[t], 0, -1)
            flags[v] = 1 if best != totals[0][v] else 0  # plain Python stores no bool of NumPy


@plain_first
@njit(**OPTIONS)
def _sweep(vertices, scale, price, most, rows, totals, sums, touched):
    _, _, _, mass, counts = rows
    labels, mass_of, sizes, counts_of, sole = totals
    for v in vertices:
        old, new = labels[v], best_move(v, scale, price, most, rows, totals, sums, touched, 0, -1)
        if new == old:
            continue
        if new == ALONE:
            new = np.int32(empty_label(v, sizes))
        apply_move(v, old, new, mass, counts, mass_of, sizes, counts_of, sole)
        labels[v] = new


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
