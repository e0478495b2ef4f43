"""Refinement of communities [Traag, Waltman, van Eck: From Louvain to Leiden, 2019, supplement A.2], without locks.

Within each community, vertices start alone. One that is well connected to the rest joins a well-connected part, once.
Sub-rounds are those of ``moves.py``. A vertex joins only parts that no vertex leaves in the same sub-round: those of
two or more vertices, or of a vertex of another sub-round. So what it joins stays, and parts are connected.

A part is drawn with a probability in proportion to exp(gain / theta), the gain in units of weight, as in igraph:
the largest of gain / theta plus Gumbel noise, which is a hash of the vertex and the part. With theta 0 the highest gain
wins.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.communities.community_arrays import INSIDE, JOINS, MASS, SIZE, first_plain, refine_in_rounds
from dgraph.algorithms.communities.community_totals import GROUPS, Partition, by_group, group_of
from dgraph.algorithms.communities.exact_gains import as_float, exceeds, gain
from dgraph.algorithms.communities.graph_level import CHUNK, chunk_of, prefetch_row, tally, threads_for
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import INLINE, INNER, OPTIONS, add_into, barrier, fetch_add, mixed, pointers

NOISE_BITS = 12
"""Binary logarithm of the number of values of the noise."""


@cache
def noise() -> np.ndarray:
    """Return quantiles of the Gumbel distribution, rounded to 20 bits after the point: no library's logarithm shows."""
    shares = (np.arange(1 << NOISE_BITS) + 0.5) / (1 << NOISE_BITS)
    return np.rint(-np.log(-np.log(shares)) * 2**20) / 2**20


def refine(engine: Any, partition: Partition, salt: int) -> np.ndarray:
    """Return the part of each vertex, int32 (n,), named by one of its vertices."""
    level, units, theta, team = partition.level, engine.units, engine.theta or 0.0, engine.team
    threads, n = threads_for(len(level.targets) + level.n, team), level.n
    parts, change, totals = np.arange(n, dtype=np.int32), np.zeros(n, np.int64), np.zeros(4 * n, np.int64)
    totals[MASS::4], totals[SIZE::4] = level.mass, 1
    starts, places = np.zeros(GROUPS + 1, np.int64), np.zeros((threads, GROUPS), np.int64)
    order, joined = np.empty((2, n), np.int32)
    factor = 0.0 if theta == 0 else inverse(theta, units)
    team.run(
        _refine, threads, np.zeros(16, np.int64), np.zeros(3 * GROUPS + 1, np.int64), starts, places, order, joined,
        np.ones(n, np.uint8), units.scale, units.price, level.rows, partition.labels, partition.mass, parts,
        parts.copy(), totals, change, salt, factor, noise(), *level.tables(threads, n),
    )  # fmt: skip
    return parts


@lru_cache(1)
def inverse(theta: float, units: Units) -> float:
    """Return the factor of gains that makes them units of theta, not so large or small that products lose sense."""
    exact = 1 / (Fraction(theta) * units.scale * Fraction(2) ** units.shift)
    return float(min(max(exact, Fraction(1, 10**200)), Fraction(10**200)))


@first_plain(rounds=refine_in_rounds)
@njit(**OPTIONS)
def _refine(
    t, threads, gate, taken, starts, places, order, joined, wanted, scale, price, rows, labels, mass_of, parts,
    proposed, totals, change, salt, factor, draws, all_sums, all_touched,
):  # fmt: skip
    """Run all sub-rounds.

    ``change`` of a vertex: by how much it changes the weight inside of the part it joins. ``joined``: vertices that
    join a part in this sub-round. Only where several join one may they have arcs to each other, so only then their
    rows are read again.
    """
    n, groups = len(labels), len(starts) - 1
    by_group(t, threads, gate, wanted, salt, groups, starts, places, order)
    rows, (sums, touched) = pointers(rows), pointers((all_sums[t], all_touched[t]))
    starts, order, joined, labels, mass_of, parts, proposed, totals, change = pointers(
        (starts, order, joined, labels, mass_of, parts, proposed, totals, change)
    )
    offsets, targets, weights, mass, _ = rows
    while True:
        first = fetch_add(taken, 3 * groups, CHUNK)
        if first >= n:
            break
        for v in range(first, min(first + CHUNK, n)):
            weight = 0
            for i in range(offsets[v], offsets[v + 1]):
                if labels[targets[i]] == labels[v]:
                    weight += weights[i]
            totals[4 * v + INSIDE] = weight
    barrier(gate, threads)
    for group in range(groups):
        low, high = starts[group], starts[group + 1]
        size = chunk_of(high - low, threads)
        while True:
            first = low + fetch_add(taken, 3 * group, size)
            if first >= high:
                break
            for k in range(first, min(first + size, high)):
                v = order[k]
                prefetch_row(order, k, high, rows)
                if totals[4 * v + SIZE] == 1 and parts[v] == v:
                    part, change[v] = _choose(
                        v, scale, price, rows, labels, mass_of, parts, totals, salt, group, groups, factor, draws, sums,
                        touched,
                    )  # fmt: skip
                    if part != v:
                        proposed[v] = part
                        joined[fetch_add(taken, 3 * group + 1, 1)] = v
                        fetch_add(totals, 4 * part + JOINS, 1)
        barrier(gate, threads)
        count = taken[3 * group + 1]
        while True:
            first = fetch_add(taken, 3 * group + 2, size)
            if first >= count:
                break
            for k in range(first, min(first + size, count)):
                v = joined[k]
                part = proposed[v]
                if totals[4 * part + JOINS] == 1:
                    continue
                weight = change[v]
                for i in range(offsets[v], offsets[v + 1]):
                    u = targets[i]
                    if proposed[u] == part and parts[u] != part:
                        weight -= weights[i]
                change[v] = weight
        barrier(gate, threads)
        for k in range(count * t // threads, count * (t + 1) // threads):
            v = joined[k]
            part = parts[v] = proposed[v]
            totals[4 * v + SIZE] = totals[4 * v + MASS] = totals[4 * part + JOINS] = 0
            add_into(totals, 4 * part + SIZE, np.int64(1), threads == 1)
            add_into(totals, 4 * part + MASS, mass[v], threads == 1)
            add_into(totals, 4 * part + INSIDE, change[v], threads == 1)
        barrier(gate, threads)


@njit(**INNER)
def _choose(
    v, scale, price, rows, labels, mass_of, parts, totals, salt, group, groups, factor, draws, sums, touched
):  # fmt: skip
    """Return the part that a lone vertex joins, or v, and by how much the part's weight inside changes."""
    offsets, targets, weights, mass, _ = rows
    whole, cost = mass_of[labels[v]], price * mass[v]
    if gain(scale, totals[4 * v + INSIDE], cost, whole - mass[v])[0] < 0:
        return np.int32(v), 0
    count = np.int64(0)
    for i in range(offsets[v], offsets[v + 1]):
        u = targets[i]
        if labels[u] == labels[v]:
            count = tally(parts[u], weights[i], sums, touched, count)
    chosen, best, own = np.int32(v), gain(0, 0, 0, 0), mixed(np.int64(v), salt)
    change, score, best_score, most_noise = 0, 0.0, _noise(own, v, salt, draws), draws[len(draws) - 1]
    for k in range(count):
        part = touched[k]
        weight = sums[part]
        exact = gain(scale, weight, cost, totals[4 * part + MASS])
        sums[part] = 0
        if exact[0] < 0:
            continue
        if factor > 0:  # most parts lose here, so what must hold for a join is looked at last
            score = as_float(exact) * factor
            if score + most_noise < best_score:
                continue
            score += _noise(own, part, salt, draws)
            if score < best_score or (score == best_score and part > chosen):
                continue
        elif exceeds(best, exact) or (exact == best and part > chosen):
            continue
        if totals[4 * part + SIZE] == 1 and group_of(np.int64(part), salt, groups) == group:
            continue
        mass_in = totals[4 * part + MASS]
        if gain(scale, totals[4 * part + INSIDE], price * mass_in, whole - mass_in)[0] < 0:
            continue
        chosen, best, best_score, change = part, exact, score, totals[4 * v + INSIDE] - 2 * weight
    return chosen, change


@njit(**INLINE)
def _noise(own, part, salt, draws):
    """Return the noise of a part, for the vertex whose hash is ``own``."""
    return draws[mixed(own ^ np.int64(part), salt + 1) & (len(draws) - 1)]
