"""Local moves: vertices take the community of the highest gain, in sub-rounds of vertices that a hash draws.

All vertices of a sub-round read one state, and their moves are applied together: the labels depend on neither threads
nor the order of the edges. Sums are integers. A vertex looks again once a neighbour in another community has moved, and
reads its row unless bounds show that it stays (:func:`stays`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import DRAWS, first_plain, move_in_rounds
from dgraph.algorithms.communities.community_totals import (
    MOST_GROUPS,
    UNLIMITED,
    Partition,
    apply_move,
    best_move,
    by_group,
    cross,
    group_count,
    stays,
)
from dgraph.algorithms.communities.exact_gains import gain
from dgraph.algorithms.communities.graph_level import chunk_of, prefetch_row
from dgraph.backend.cpu.threads.atomics import INLINE, INNER, OPTIONS, add_into, barrier, fetch_add, mixed, pointers


def move(
    engine: Any, partition: Partition, salts: Callable[[], int], go_on: Callable[[int], bool], least: int = 0,
    share: int = 0, active: np.ndarray | None = None, balanced: bool = False, patience: int = 0, many: int = 0,
) -> int:  # fmt: skip
    """Move vertices until a round gains little; return by how much the quality rose, 0 or more.

    Args:
        engine: with units, threads, and the largest number of vertices in a community.
        partition: changed in place.
        salts: returns the seed of the next round.
        go_on: called with the number of active vertices before each round; False ends the moves; collective.
        least: gain of a round with which the moves end.
        share: they also end with a round that gains at most 1/share of all of these rounds; 0: they do not.
        active: 1 for vertices that look first, (n,); None: all.
        balanced: of vertices that would move between two communities at once, only as many do as still gain; see
            :func:`_balance`.
        patience: bounds of vertices of many arcs count 1/2^patience of the weight that neighbours have moved, so that
            these rows are read less often, and some that gain are not; 0: all bounds are exact.
        many: arcs above which a vertex has many.
    """
    level, labels, units, team = partition.level, partition.labels, engine.units, engine.team
    if active is None:
        active = np.diff(level.offsets) > 0
        if not active.all():
            active |= partition.members[::2].take(labels) > 1
    active = active.astype(np.uint8)
    n, most_threads = level.n, level.round_threads(level.n, team)
    if balanced and not len(partition.margins):
        partition.margins, partition.inflow = np.empty(n), np.zeros(n, np.int64)
    best = quality = 0
    partition.drift[2:] = 2.0**-patience, many if patience else np.inf
    kept, proposed = labels.copy(), labels.copy()
    sums, touched = level.tables(most_threads, n)
    starts, order = np.zeros(MOST_GROUPS + 1, np.int64), np.empty(n, np.int32)
    while True:
        salt = salts()
        count = int(np.count_nonzero(active))
        if not count or not go_on(count):
            break
        groups = group_count(count, n)
        threads = level.round_threads(count, team)
        places, changes = np.zeros((threads, groups), np.int64), np.zeros((threads, 8), np.int64)
        team.run(
            _round, threads, np.zeros(16, np.int64), np.zeros(2 * groups, np.int64), starts, places, order,
            units.scale, units.price, engine.most, level.rows, partition.totals, partition.bounds, proposed, active,
            salt, groups, balanced, sums, touched, changes,
        )  # fmt: skip
        partition.end_round()
        inner, low, middle, high = changes[:, :4].sum(axis=0).tolist()
        quality += units.scale * inner - 2 * units.price * ((high << 64) + (middle << 32) + low)
        gained = quality - best
        if gained > 0:
            best = quality
            kept[:] = labels
        if gained <= least or (share and gained * share <= best):
            break
    if quality < best:
        partition.take(kept)
    return best


@first_plain(rounds=move_in_rounds)
@njit(**OPTIONS)
def _round(
    t, threads, gate, taken, starts, places, order, scale, price, most, rows, totals, bounds, proposed, active, salt,
    groups, balanced, all_sums, all_touched, changes,
):  # fmt: skip
    """Run the sub-rounds of a round: choose; take labels and move totals; activate neighbours.

    ``order`` gets -1 for vertices that stay. Between the last two steps and those of the next sub-round, ``proposed``
    has the old labels of the vertices that moved. ``changes`` of a thread: of the weight within communities; half of
    the one of the sum of squares of masses, in limbs of 32, 32 and 64 bits; the largest outflow.
    """
    by_group(t, threads, gate, active, salt, groups, starts, places, order)
    rows, totals, bounds = pointers(rows), pointers(totals), pointers(bounds)
    mine, sums, touched = pointers((changes[t], all_sums[t], all_touched[t]))
    starts, order, proposed, active = pointers((starts, order, proposed, active))
    offsets, targets, weights, mass, counts = rows
    labels, mass_of, _, counts_of = totals
    slack, crossed, _, drift, margins, inflow = bounds
    change, alone = 0, threads == 1
    barrier(gate, threads)
    for group in range(groups):
        low, high = starts[group], starts[group + 1]
        if low == high:
            continue
        size = chunk_of(high - low, threads)
        while True:
            first = low + fetch_add(taken, 2 * group, size)
            if first >= high:
                break
            for k in range(first, min(first + size, high)):
                v = order[k]
                prefetch_row(order, k, high, rows)
                active[v], order[k] = 0, -1
                if stays(v, scale, price, rows, labels, mass_of, bounds):
                    continue
                new = best_move(
                    v, scale, price, most, rows, totals, bounds, sums, touched, salt, group, groups, balanced
                )
                if new != labels[v]:
                    order[k], proposed[v] = v, new
                    if balanced:
                        add_into(inflow, new, mass[v], alone)
                        add_into(inflow, labels[v], -mass[v], alone)
        barrier(gate, threads)
        if balanced or most < UNLIMITED:
            if t == 0:
                if balanced:
                    _balance(low, high, order, price, mass, labels, proposed, margins, inflow, salt)
                for k in range(low, high):
                    v = order[k]
                    if v < 0:
                        continue
                    old, new = labels[v], proposed[v]
                    if (balanced and margins[v] < 0) or counts_of[new] + counts[v] > most:
                        proposed[v], order[k], active[v], slack[v] = old, -1, 1, -np.inf
                    else:
                        counts_of[old] -= counts[v]
                        counts_of[new] += counts[v]
            barrier(gate, threads)
        first, last = low + (high - low) * t // threads, low + (high - low) * (t + 1) // threads
        for k in range(first, last):
            v = order[k]
            if v >= 0:
                old, new, amount = labels[v], proposed[v], mass[v]
                labels[v], proposed[v] = new, old
                difference, left = apply_move(v, old, new, amount, totals, bounds, alone)
                _add_squares(mine, amount, difference)
                mine[4] = max(mine[4], left)
        barrier(gate, threads)
        if t == 0:
            for i in range(threads):
                drift[1] = max(drift[1], float(changes[i][4]))
        while True:
            first = low + fetch_add(taken, 2 * group + 1, size)
            if first >= high:
                break
            for k in range(first, min(first + size, high)):
                v = order[k]
                if v < 0:
                    continue
                prefetch_row(order, k, high, rows)
                old, new = proposed[v], labels[v]
                for i in range(offsets[v], offsets[v + 1]):
                    u, weight = targets[i], np.int64(weights[i])
                    before, after = proposed[u], labels[u]
                    cross(u, after, old, new, weight, crossed, alone)
                    weight <<= before == after  # the other end does not move
                    if after == new:
                        change += weight
                    else:
                        active[u] = 1
                    if before == old:
                        change -= weight
        barrier(gate, threads)
        first, last = low + (high - low) * t // threads, low + (high - low) * (t + 1) // threads
        for k in range(first, last):
            v = order[k]
            if v >= 0:
                proposed[v] = labels[v]
    mine[0] = change


@njit(**INNER)
def _balance(low, high, order, price, mass, labels, proposed, margins, inflow, salt):
    """Set the margin of vertices that do not move to -1, and ``inflow`` to 0.

    If all others moved, the gain of a vertex might be gone. Then it moves with the probability that leaves a gain of 0
    where all have one gain for their mass.
    """
    for k in range(low, high):
        v = order[k]
        if v < 0:
            continue
        old, new = labels[v], proposed[v]
        others = inflow[new] - inflow[old] - 2 * mass[v]
        if others > 0:
            draw = mixed(np.int64(v), salt + 1) & (DRAWS - 1)
            if not float(price * mass[v]) * float(others) * float(draw) < margins[v] * float(DRAWS):
                margins[v] = -1
    for k in range(low, high):
        v = order[k]
        if v >= 0:
            inflow[labels[v]] = inflow[proposed[v]] = 0


@njit(**INLINE)
def _add_squares(changes, mass, difference):
    """Add a product to a sum of limbs."""
    upper, lower = gain(mass, difference, 0, 0)
    changes[1] += np.int64(lower & np.uint64(0xFFFFFFFF))
    changes[2] += np.int64(lower >> np.uint64(32))
    changes[3] += upper
