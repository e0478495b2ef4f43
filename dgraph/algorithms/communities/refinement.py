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
from dgraph.algorithms.communities.graph_level import CHUNK, chunk_of, prefetch_row
from dgraph.algorithms.communities.units import Units
from dgraph.backend.cpu.threads.atomics import OPTIONS, barrier, fetch_add, mixed

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
    threads, n = level.round_threads(level.n, team), level.n
    parts, change, totals = np.arange(n, dtype=np.int32), np.zeros(n, np.int64), np.zeros(4 * n, np.int64)
    totals[MASS::4], totals[SIZE::4] = level.mass, 1
    starts, order, joined = np.zeros(GROUPS + 1, np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
    factor = 0.0 if theta == 0 else inverse(theta, units)
    by_group(np.ones(n, np.uint8), salt, GROUPS, starts, order, threads, team)
    team.run(
        _refine, threads, np.zeros(16, np.int64), np.zeros(3 * GROUPS + 1, np.int64), starts, order, joined,
        units.scale, units.price, level.rows, partition.labels, partition.mass, parts, parts.copy(), totals, change,
        salt, factor, noise(), *level.tables(threads, n),
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
    t, threads, gate, taken, starts, order, joined, scale, price, rows, labels, mass_of, parts, proposed, totals,
    change, salt, factor, draws, all_sums, all_touched,
):  # fmt: skip
    """Run all sub-rounds.

    ``change`` of a vertex: by how much it changes the weight inside of the part it joins. ``joined``: vertices that
    join a part in this sub-round. Only where several join one may they have arcs to each other, so only then their
    rows are read again.
    """
    offsets, targets, weights, mass, _ = rows
    sums, touched, n = all_sums[t], all_touched[t], len(labels)
    while True:
        first = fetch_add(taken, 3 * GROUPS, CHUNK)
        if first >= n:
            break
        for v in range(first, min(first + CHUNK, n)):
            weight = 0
            for i in range(offsets[v], offsets[v + 1]):
                if labels[targets[i]] == labels[v]:
                    weight += weights[i]
            totals[4 * v + INSIDE] = weight
    barrier(gate, threads)
    for group in range(GROUPS):
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
                        v, scale, price, rows, labels, mass_of, parts, totals, salt, group, factor, draws, sums, touched
                    )
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
        if t == 0:
            for v in joined[:count]:
                part = parts[v] = proposed[v]
                totals[4 * v + SIZE] = totals[4 * v + MASS] = totals[4 * part + JOINS] = 0
                totals[4 * part + SIZE] += 1
                totals[4 * part + MASS] += mass[v]
                totals[4 * part + INSIDE] += change[v]
        barrier(gate, threads)


@njit(**OPTIONS)
def _choose(
    v, scale, price, rows, labels, mass_of, parts, totals, salt, group, factor, draws, sums, touched
):  # fmt: skip
    """Return the part that a lone vertex joins, or v, and by how much the part's weight inside changes."""
    offsets, targets, weights, mass, _ = rows
    whole, cost = mass_of[labels[v]], price * mass[v]
    if gain(scale, totals[4 * v + INSIDE], cost, whole - mass[v])[0] < 0:
        return np.int32(v), 0
    count = 0
    for i in range(offsets[v], offsets[v + 1]):
        u = targets[i]
        if labels[u] == labels[v]:
            part = parts[u]
            touched[count] = part
            count += sums[part] == 0
            sums[part] += weights[i]
    chosen, best = np.int32(v), gain(0, 0, 0, 0)
    change, best_score, most_noise = 0, _noise(v, v, salt, draws), draws[len(draws) - 1]
    for k in range(count):
        part = touched[k]
        weight = sums[part]
        exact = gain(scale, weight, cost, totals[4 * part + MASS])
        sums[part] = 0
        if exact[0] < 0:
            continue
        score = as_float(exact) * factor
        if factor > 0:
            if score + most_noise < best_score:
                continue
        elif exceeds(best, exact) or (exact == best and part > chosen):
            continue
        if totals[4 * part + SIZE] == 1 and group_of(part, salt, GROUPS) == group:
            continue
        mass_in = totals[4 * part + MASS]
        if gain(scale, totals[4 * part + INSIDE], price * mass_in, whole - mass_in)[0] < 0:
            continue
        score += _noise(v, part, salt, draws) if factor > 0 else 0.0
        if factor == 0 or score > best_score or (score == best_score and part < chosen):
            chosen, best, best_score, change = part, exact, score, totals[4 * v + INSIDE] - 2 * weight
    return chosen, change


@njit(**OPTIONS)
def _noise(v, part, salt, draws):
    return draws[mixed(mixed(np.int64(v), salt) ^ np.int64(part), salt + 1) & (len(draws) - 1)]
