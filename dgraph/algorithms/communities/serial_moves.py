"""Moves of single vertices in one serial order, and connected pieces of communities."""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_totals import ALONE, Partition, apply_move, best_move, empty_label
from dgraph.algorithms.communities.graph_level import CHUNK, GraphLevel
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.team import Team


def settle(partition: Partition, units: Units, most: int, team: Team) -> int:
    """Move vertices in sweeps, smallest first, until no move of one raises the quality; return the number of moves."""
    level = partition.level
    threads, n, moves = level.threads(team), level.n, 0
    flags, following = np.zeros(n, np.uint8), np.empty(n, np.int32)
    sums, touched = np.zeros((threads, n), np.int64), np.empty((threads, n), np.int32)
    arguments = units.scale, units.price, most, level.rows, partition.totals, flags
    while True:
        team.run(_find, threads, np.zeros(1, np.int64), *arguments, sums, touched)
        swept = np.flatnonzero(flags).astype(np.int32)
        if not swept.size:
            return moves
        while swept.size:
            moved, count = _sweep(swept, *arguments, following, sums[0], touched[0])
            moves += moved
            swept = np.sort(following[:count])


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
            flags[v] = best != totals[0][v]


@njit(**OPTIONS)
def _sweep(swept, scale, price, most, rows, totals, flags, following, sums, touched):
    """Move vertices in turn; flag the neighbours in other communities of those that move, for the following sweep.

    Returns the number of moves, and that of the flagged vertices.
    """
    offsets, targets, _, mass, counts = rows
    labels, mass_of, sizes, counts_of, sole = totals
    moves, count = 0, 0
    for v in swept:
        flags[v] = 0
        old, new = labels[v], best_move(v, scale, price, most, rows, totals, sums, touched, 0, -1)
        if new == old:
            continue
        if new == ALONE:
            new = np.int32(empty_label(v, sizes))
        apply_move(v, old, new, mass, counts, mass_of, sizes, counts_of, sole)
        labels[v] = new
        moves += 1
        for i in range(offsets[v], offsets[v + 1]):
            u = targets[i]
            if labels[u] != new and not flags[u]:
                flags[u] = 1
                following[count] = u
                count += 1
    return moves, count


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
