"""Shortest paths counted from eight sources at once on one thread [Brandes 2001; lanes as in Then et al., VLDB 2014].

Every vertex has eight lanes, one cache line of float64, and bytes whose bits are lanes. A forward round adds ``paths``
of in-neighbours whose bit is set in ``now``, and logs the vertices that it reached with their lanes. Backward rounds
take the log from its end: a vertex folds ``share`` = (1 + dependency) / paths of its out-neighbours in the next round,
and its dependency replaces its number of paths.

Both fold a row in ascending order of gids, and neighbours outside the round add 0. So the bits of a sum depend on
the graph alone.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.frontier import DENSE, candidates
from dgraph.algorithms.many_sources.lanes import LANES, fold_chosen
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS

LARGE, DOWN = 2.0**500, 2.0**-512
"""Number of paths from which those of a round are scaled, in its lane, and the factor."""

LEAST = 2.0**-900
"""Smallest scaled number of paths: numbers of paths to vertices of one round may differ by this factor."""


@njit(**INNER)
def begin(sources, now, seen, paths, log, lanes):
    """Put the sources (slots; -1: of another rank) on level 0; return the length of the log."""
    now[:] = 0
    seen[:] = 0
    paths[:] = 0.0
    count = 0
    for k in range(len(sources)):
        if sources[k] >= 0:
            v = np.uint32(sources[k])
            seen[v] |= 1 << k
            now[v] |= 1 << k
            paths[v, k] = 1.0
    for k in range(len(sources)):
        if sources[k] >= 0:
            v = np.uint32(sources[k])
            if now[v] & ((1 << k) - 1) == 0:
                log[count], lanes[count] = v, now[v]
                count += 1
    return count


@njit(**INNER)
def forward(
    frontier,
    count,
    rows,
    neighbours,
    pushed_offsets,
    pushed,
    full,
    now,
    seen,
    paths,
    sums,
    marked,
    found,
    log,
    lanes,
    tail,
):
    """Count the paths to the vertices that the frontier reaches, and log them; return the length of the log."""
    many = candidates(frontier, 0, count, pushed_offsets, pushed, len(pushed) // DENSE, marked, found)
    dense = many < 0
    if dense:
        many = len(rows) - 1
    for i in range(many):
        v = np.uint32(i) if dense else found[i]
        wanted = np.uint8(full & ~seen[v])
        if wanted == 0:
            continue
        hit = fold_chosen(neighbours, rows[v], rows[v + 1], now, wanted, paths, sums, 0)
        if hit:
            for k in range(LANES):
                paths[v, k] += sums[0, k]
            seen[v] |= hit
            log[tail], lanes[tail] = v, hit
            tail += 1
    return tail


@njit(**INNER)
def backward(first, last, rows, neighbours, now, paths, share, sums, factors, log, lanes):
    """Compute dependencies of the logged vertices ``first … last`` from shares of the vertices in ``now``.

    ``factors`` (lanes,) are those by which the later round was scaled.
    """
    for i in range(first, last):
        v, wanted = log[i], lanes[i]
        fold_chosen(neighbours, rows[v], rows[v + 1], now, wanted, share, sums, 0)
        for k in range(LANES):
            chosen, old = wanted & (1 << k) != 0, paths[v, k]
            dependency = old * sums[0, k] * factors[k]
            share[v, k] = (1.0 + dependency) / old if chosen else share[v, k]
            paths[v, k] = dependency if chosen else old


@njit(**INNER)
def put(first, last, now, log, lanes):
    """Set the lanes of logged vertices."""
    for i in range(first, last):
        now[log[i]] = lanes[i]


@njit(**INNER)
def clear(first, last, now, log):
    """Clear the lanes of logged vertices."""
    for i in range(first, last):
        now[log[i]] = 0


@njit(**INNER)
def largest(first, last, paths, log, lanes, most):
    """Raise ``most`` (lanes,) to the largest number of paths of logged vertices."""
    for i in range(first, last):
        v = log[i]
        for k in range(LANES):
            if lanes[i] & (1 << k):
                most[k] = max(most[k], paths[v, k])


@njit(**INNER)
def scale(first, last, paths, log, lanes, most, factors):
    """Scale the lanes of logged vertices in which ``most`` is large; return False if a number becomes too small."""
    any_large = False
    for k in range(LANES):
        factors[k] = DOWN if most[k] > LARGE else 1.0
        any_large |= most[k] > LARGE
    if any_large:
        for i in range(first, last):
            v = log[i]
            for k in range(LANES):
                if lanes[i] & (1 << k) and factors[k] != 1.0:
                    paths[v, k] *= DOWN
                    if paths[v, k] < LEAST:
                        return False
    return True


@njit(**OPTIONS)
def one_batch(
    t, threads, sources, turn, degree, rows, neighbours, out_rows, out_neighbours, pushed_offsets, pushed, nows, seens,
    pathses, shares, sumses, marks, founds, logs, laneses, levelses, factorses, mosts, depths,
):  # fmt: skip
    """Search from batch ``turn · threads + t`` and compute its dependencies; ``depths[t]`` is -1 if paths overflow.

    ``degree`` is the largest in-degree: a round multiplies the largest number of paths at most by it.
    """
    place = (turn * threads + t) * LANES
    depths[t] = 0
    if place >= len(sources):
        return
    now, seen, paths, share, marked, found = nows[t], seens[t], pathses[t], shares[t], marks[t], founds[t]
    log, lanes, levels, mine = logs[t], laneses[t], levelses[t], sources[place : place + LANES]
    factors, most, sums = factorses[t], mosts[t], sumses[t]
    full = np.uint8((1 << len(mine)) - 1)
    levels[0] = 0
    levels[1] = tail = begin(mine, now, seen, paths, log, lanes)
    depth, bound = 0, 1.0
    while levels[depth] < tail:
        first = levels[depth]
        tail = forward(
            log[first:tail], tail - first, rows, neighbours, pushed_offsets, pushed, full, now, seen, paths, sums,
            marked, found, log, lanes, tail,
        )  # fmt: skip
        depth += 1
        levels[depth + 1] = tail
        clear(first, levels[depth], now, log)
        put(levels[depth], tail, now, log, lanes)
        bound *= degree
        factors[depth] = 1.0
        if bound > LARGE:
            most[:] = 0.0
            largest(levels[depth], tail, paths, log, lanes, most)
            if not scale(levels[depth], tail, paths, log, lanes, most, factors[depth]):
                depths[t] = -1
                return
            bound = 1.0
            for k in range(LANES):
                bound = max(bound, min(most[k], LARGE))
    depths[t] = depth
    for d in range(depth - 1, -1, -1):
        backward(
            levels[d], levels[d + 1], out_rows, out_neighbours, now, paths, share, sums, factors[d + 1], log, lanes
        )
        clear(levels[d + 1], levels[d + 2], now, log)
        put(levels[d], levels[d + 1], now, log, lanes)


@njit(**OPTIONS)
def sum_lanes(t, threads, sources, turn, seens, pathses, endpoints, sums, reached):
    """Sum the dependencies of batch ``turn · threads + t`` over its lanes into row t of ``sums``."""
    place, mine = (turn * threads + t) * LANES, sums[t]
    mine[:] = 0.0
    many = min(LANES, len(sources) - place)
    if many <= 0:
        return
    paths, seen = pathses[t], seens[t]
    for k in range(many):
        if sources[place + k] >= 0:
            v = np.uint32(sources[place + k])
            paths[v, k], seen[v] = 0.0, seen[v] & ~np.uint8(1 << k)
    for v in range(len(mine)):
        lanes = seen[v]
        if lanes == 0:
            continue
        total = 0.0
        for k in range(LANES):
            total += paths[v, k]
        if endpoints:
            for k in range(many):
                one = (lanes >> k) & 1
                total += one
                reached[place + k] += one
        mine[v] = total


@njit(**OPTIONS)
def begin_batch(t, threads, sources, turn, nows, seens, pathses, logs, laneses, levelses):
    """Begin batch ``turn · threads + t``: the log has this rank's sources."""
    place = (turn * threads + t) * LANES
    levelses[t, 0] = 0
    levelses[t, 1] = begin(sources[place : place + LANES], nows[t], seens[t], pathses[t], logs[t], laneses[t])


@njit(**OPTIONS)
def forward_round(
    t, threads, sources, turn, depth, rows, neighbours, pushed_offsets, pushed, nows, seens, pathses, sumses, marks,
    founds, logs, laneses, levelses, frontiers, counts, mosts,
):  # fmt: skip
    """Run the forward round that finds level ``depth`` of each batch, from frontiers with ghosts."""
    place = (turn * threads + t) * LANES
    levels, log, lanes, now = levelses[t], logs[t], laneses[t], nows[t]
    full = np.uint8((1 << max(min(LANES, len(sources) - place), 0)) - 1)
    tail = forward(
        frontiers[t], counts[t], rows, neighbours, pushed_offsets, pushed, full, now, seens[t], pathses[t], sumses[t],
        marks[t], founds[t], log, lanes, levels[depth],
    )  # fmt: skip
    levels[depth + 1] = tail
    clear(0, counts[t], now, frontiers[t])
    put(levels[depth], tail, now, log, lanes)
    mosts[t] = 0.0
    largest(levels[depth], tail, pathses[t], log, lanes, mosts[t])


@njit(**OPTIONS)
def scale_round(t, threads, depth, pathses, logs, laneses, levelses, factorses, mosts, kept):
    """Scale level ``depth`` of each batch by the largest numbers of paths on all ranks."""
    levels = levelses[t]
    kept[t] &= scale(
        levels[depth], levels[depth + 1], pathses[t], logs[t], laneses[t], mosts[t], factorses[t, depth]
    )  # fmt: skip


@njit(**OPTIONS)
def backward_round(
    t, threads, depth, rows, neighbours, nows, pathses, shares, sumses, logs, laneses, levelses, factorses, frontiers,
    counts,
):  # fmt: skip
    """Compute the dependencies of level ``depth`` of each batch; frontiers hold the later level with its ghosts."""
    levels, log, lanes, now = levelses[t], logs[t], laneses[t], nows[t]
    first, last = levels[depth], levels[depth + 1]
    backward(first, last, rows, neighbours, now, pathses[t], shares[t], sumses[t], factorses[t, depth + 1], log, lanes)
    clear(0, counts[t], now, frontiers[t])
    put(first, last, now, log, lanes)
