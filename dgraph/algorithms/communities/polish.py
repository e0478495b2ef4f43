"""End of a search: single moves, splits and joins in one serial order, until none raises the quality.

Afterwards no vertex gains by a move, every community is connected, and no two communities gain by joining. Each step
raises the exact quality, so it ends.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_totals import ALONE, Partition, apply_move, best_move, empty_label
from dgraph.algorithms.communities.graph_level import CHUNK, GraphLevel
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS, fetch_add
from dgraph.backend.cpu.threads.team import Team


def polish(level: GraphLevel, labels: np.ndarray, units: Units, most: int, team: Team) -> tuple[np.ndarray, int]:
    """Return labels that no step improves, and the number of moves of single vertices."""
    moved = 0
    while True:
        moved += settle(level, labels, units, most, team)
        pieces = connected(level, labels)
        parts, groups = level.coarse(pieces, team)
        split = parts.n > len(np.unique(labels))
        joined = np.arange(parts.n, dtype=np.int32)
        if not settle(parts, joined, units, most, team) and not split:
            return pieces, moved
        firsts = np.empty(parts.n, np.int32)
        firsts[groups[::-1]] = np.arange(level.n - 1, -1, -1, dtype=np.int32)
        labels = firsts[joined[groups]]


def settle(level: GraphLevel, labels: np.ndarray, units: Units, most: int, team: Team) -> int:
    """Move vertices, smallest first, until no move of one raises the quality; return the number of moves."""
    partition = Partition(level, labels)
    threads, n, moves = level.threads(team), level.n, 0
    flags, queue = np.zeros(n, np.uint8), np.empty(n + 1, np.int32)
    sums, touched = np.zeros((threads, n), np.int64), np.empty((threads, n), np.int32)
    arguments = units.scale, units.price, most, level.rows, partition.totals, flags
    while True:
        team.run(_find, threads, np.zeros(1, np.int64), *arguments, sums, touched)
        gaining = np.flatnonzero(flags)
        if not gaining.size:
            return moves
        queue[: gaining.size] = gaining
        moves += _settle(gaining.size, *arguments, queue, sums[0], touched[0])


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
def _settle(tail, scale, price, most, rows, totals, flags, queue, sums, touched):
    """Take vertices from a queue; one that moves puts its neighbours in other communities into it."""
    offsets, targets, _, mass, counts = rows
    labels, mass_of, sizes, counts_of, sole = totals
    head, moves, room = 0, 0, len(queue)
    while head != tail:
        v = queue[head]
        head = head + 1 if head + 1 < room else 0
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
                queue[tail] = u
                tail = tail + 1 if tail + 1 < room else 0
    return moves


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
