"""Local moves: vertices take the community of the highest gain, in sub-rounds of vertices that a hash draws.

All vertices of a sub-round read one state, and their moves are applied together: the labels depend on neither threads
nor the order of the edges. Sums are integers. A vertex looks again once a neighbour in another community has moved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_totals import GROUPS, Partition, apply_move, best_move, by_group
from dgraph.algorithms.communities.graph_level import CHUNK
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS, barrier, fetch_add
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.backend.cpu.threads.team import Team


def move(
    partition: Partition, units: Units, most: int, salts: Callable[[], int], go_on: Callable[[int], bool], least: int,
    active: np.ndarray, team: Team,
) -> int:  # fmt: skip
    """Move vertices until a round gains little; return by how much the quality rose, 0 or more.

    Args:
        partition: changed in place.
        units: of the quality.
        most: largest number of the graph's vertices in a community.
        salts: returns the seed of the next round.
        go_on: called with the number of active vertices before each round; False ends the moves; collective.
        least: gain of a round with which the moves end.
        active: 1 for vertices that look first, uint8 (n,); changed.
        team: threads.
    """
    level = partition.level
    threads, n = level.threads(team), level.n
    start = best = quality = level.quality(partition.labels, units, team)
    kept, proposed = partition.labels.copy(), partition.labels.copy()
    sums, touched = np.zeros((threads, n), np.int64), np.empty((threads, n), np.int32)
    starts, order = np.zeros(GROUPS + 1, np.int64), np.empty(n, np.int32)
    while True:
        salt = salts()
        by_group(active, salt, starts, order)
        if not starts[-1] or not go_on(int(starts[-1])):
            break
        team.run(
            _round, threads, np.zeros(16, np.int64), np.zeros(3 * GROUPS, np.int64), starts, order, units.scale,
            units.price, most, level.rows, partition.totals, proposed, active, salt, sums, touched,
        )  # fmt: skip
        quality = level.quality(partition.labels, units, team)
        gained = quality - best
        if gained > 0:
            best = quality
            kept[:] = partition.labels
        if gained <= least:
            break
    if quality < best:
        partition.restore(kept)
    return best - start


@plain_first
@njit(**OPTIONS)
def _round(
    t, threads, gate, taken, starts, order, scale, price, most, rows, totals, proposed, active, salt, all_sums,
    all_touched,
):  # fmt: skip
    """Run the sub-rounds of a round: choose, apply totals on thread 0, activate neighbours, take labels."""
    offsets, targets, _, mass, counts = rows
    labels, mass_of, sizes, counts_of, sole = totals
    for group in range(GROUPS):
        low, high = starts[group], starts[group + 1]
        if low == high:
            continue
        while True:
            first = low + fetch_add(taken, 3 * group, CHUNK)
            if first >= high:
                break
            for k in range(first, min(first + CHUNK, high)):
                v = order[k]
                active[v] = 0
                proposed[v] = best_move(v, scale, price, most, rows, totals, all_sums[t], all_touched[t], salt, group)
        barrier(gate, threads)
        if t == 0:
            for k in range(low, high):
                v = order[k]
                old, new = labels[v], proposed[v]
                if old == new:
                    continue
                if counts_of[new] + counts[v] > most:
                    proposed[v] = old
                    active[v] = 1
                    continue
                apply_move(v, old, new, mass, counts, mass_of, sizes, counts_of, sole)
        barrier(gate, threads)
        while True:
            first = low + fetch_add(taken, 3 * group + 1, CHUNK)
            if first >= high:
                break
            for k in range(first, min(first + CHUNK, high)):
                v = order[k]
                if proposed[v] != labels[v]:
                    for i in range(offsets[v], offsets[v + 1]):
                        if proposed[targets[i]] != proposed[v]:
                            active[targets[i]] = 1
        barrier(gate, threads)
        while True:
            first = low + fetch_add(taken, 3 * group + 2, CHUNK)
            if first >= high:
                break
            for k in range(first, min(first + CHUNK, high)):
                labels[order[k]] = proposed[order[k]]
        barrier(gate, threads)
