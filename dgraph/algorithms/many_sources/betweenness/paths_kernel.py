"""Shortest paths counted from up to eight sources at once [Brandes 2001; lanes as in Then et al., VLDB 2014].

A vertex has a lane for each source of a batch: one, or eight, which are one cache line of float64; and bytes whose bits
are lanes. A forward round adds ``paths`` of in-neighbours whose bit is set in ``now``, and logs the vertices that it
reached with their lanes. Backward rounds take the log from its end: a vertex folds ``share`` = (1 + dependency) / paths
of its out-neighbours in the next round, and its dependency replaces its number of paths.

Threads form groups; the ``mates`` of a group search from one batch and meet at a barrier after each phase. Three
bitmaps ``now`` serve the levels in turn: a level is read while the next one is written and the last one cleared. In
both directions one thread folds a row in ascending order of gids, and neighbours outside the round add 0. So the bits
of a sum depend on the graph alone.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.algorithms.many_sources.frontier import DENSE
from dgraph.algorithms.many_sources.lanes import DOWN, LANES, LARGE, LEAST, fold_chosen
from dgraph.backend.cpu.threads.atomics import (
    INLINE,
    INNER,
    OPTIONS,
    barrier,
    fetch_add,
    load,
    load_acquire,
    prefetch,
    replace_if_equal,
    set_mark,
)

CLAIMED, FOLDED, LOGGED, EDGES, SLOT = 0, 8, 16, 24, 32
"""Counters of a round, on cache lines of their own: chunks taken forward and backward, logged vertices and their edges;
and their number. Rounds use four slots in turn: one is cleared two rounds before its use."""

CELLS, BUFFER, MOST_ROWS, PLANES, AHEAD = 4 * SLOT, 1024, 256, 3, 8
"""Counters of a group, vertices that a thread buffers, most rows of a chunk, bitmaps ``now``, and logged vertices
between a prefetch and its use."""


@njit(**INNER)
def begin(sources, now, seen, paths, log, lanes):
    """Put the sources (slots; -1: of another rank) on level 0 of cleared arrays; return the length of the log."""
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
def clear_all(member, mates, now, seen, paths, marks):
    """Clear this member's part of the arrays of a batch."""
    slots = len(paths)
    first, last = slots * member // mates, slots * (member + 1) // mates
    now[:, first:last] = 0
    paths[first:last] = 0.0
    seen[first : min(last, len(seen))] = 0
    marks[first : min(last, len(marks))] = 0


@njit(**INNER)
def chunk_of(count, mates):
    """Return the rows that a member takes at a time."""
    return count if mates == 1 else max(1, min(MOST_ROWS, count // (8 * mates)))


@njit(**INNER)
def fold_row(neighbours, first, last, now, wanted, values, sums):
    """Sum the lanes of ``values`` over neighbours in ``now`` into row 0 of ``sums``; return those that occur."""
    if values.shape[1] > 1:
        return fold_chosen(neighbours, first, last, now, wanted, values, sums)
    total, hit = 0.0, np.uint8(0)
    for e in range(first, last):
        u = load(neighbours, e)
        inside = load(now, u)
        value = values[u, 0]  # unconditional loads: no branch to predict
        total += value if inside else 0.0
        hit |= inside
    sums[0, 0] = total
    return hit


@njit(**INNER)
def copy(buffer, count, entries, place):
    """Copy the first entries of a thread's buffer to ``place`` of a list."""
    for i in range(count):
        entries[place + i] = buffer[i]


@njit(**INLINE)
def is_claimed(v, alone, seen, marks, depth):
    """Claim master ``v`` for the level, once; of one lane ``seen`` says so."""
    if len(marks) == 0:
        return set_mark(seen, v, alone)
    earlier = load(marks, v)
    return earlier != depth and replace_if_equal(marks, v, earlier, depth, alone)


@njit(**INNER)
def count_paths(
    listed, count, rows, neighbours, pushed_offsets, full, now, reached, seen, paths, sums, listed_lanes, log, lanes,
    tail, cells, base,
):  # fmt: skip
    """Count the paths to the listed vertices from the frontier ``now``, and log those reached from ``tail`` on.

    ``reached`` gets their lanes. Returns their out-edges.
    """
    k, edges = 0, 0
    for i in range(count):
        v = listed[i]
        wanted = full if paths.shape[1] == 1 else np.uint8(full & ~seen[v])
        hit = fold_row(neighbours, rows[v], rows[v + 1], now, wanted, paths, sums)
        if hit:
            if paths.shape[1] == 1:
                paths[v, 0] = sums[0, 0]
            else:
                for lane in range(LANES):
                    paths[v, lane] += sums[0, lane]
            seen[v] |= hit
            reached[v] = hit
            edges += pushed_offsets[v + 1] - pushed_offsets[v]
            listed[k], listed_lanes[k] = v, hit
            k += 1
    place = tail + fetch_add(cells, base + LOGGED, k)
    copy(listed, k, log, place)
    copy(listed_lanes, k, lanes, place)
    return edges


@njit(**INNER)
def forward(
    mates, dense, depth, frontier, rows, neighbours, pushed_offsets, pushed, full, now, reached, seen, paths, sums,
    marks, buffer, buffer_lanes, log, lanes, tail, cells, base,
):  # fmt: skip
    """Count paths from the frontier to masters that lack a lane and that one of its edges enters; if ``dense``, to all.

    A thread counts those that it claimed itself, a buffer at a time: their rows are prefetched by then.
    """
    count = len(rows) - 1 if dense else len(frontier)
    chunk, k, edges, alone = chunk_of(count, mates), 0, 0, mates == 1
    while True:
        first = fetch_add(cells, base + CLAIMED, chunk)
        if first >= count:
            break
        for i in range(first, min(first + chunk, count)):
            u = np.uint32(i) if dense else frontier[i]
            begin, end = (0, 1) if dense else (pushed_offsets[u], pushed_offsets[u + 1])
            for e in range(begin, end):
                v = u if dense else load(pushed, e)
                if full & ~seen[v] and (dense or is_claimed(np.int64(v), alone, seen, marks, depth)):
                    prefetch(neighbours, rows[v])
                    buffer[k] = v
                    k += 1
                    if k == BUFFER:
                        edges += count_paths(
                            buffer, k, rows, neighbours, pushed_offsets, full, now, reached, seen, paths, sums,
                            buffer_lanes, log, lanes, tail, cells, base,
                        )  # fmt: skip
                        k = 0
    edges += count_paths(
        buffer, k, rows, neighbours, pushed_offsets, full, now, reached, seen, paths, sums, buffer_lanes, log, lanes,
        tail, cells, base,
    )  # fmt: skip
    fetch_add(cells, base + EDGES, edges)


@njit(**INLINE)
def depend(v, k, wanted, paths, share, sums, factors):
    """Replace the number of paths to ``v`` in lane ``k`` by its dependency, if the lane is wanted."""
    chosen, old = wanted & (1 << k) != 0, paths[v, k]
    dependency = old * sums[0, k] * factors[k]
    share[v, k] = (1.0 + dependency) / old if chosen else share[v, k]
    paths[v, k] = dependency if chosen else old


@njit(**INNER)
def backward(mates, first, last, rows, neighbours, now, before, paths, share, sums, factors, log, lanes, cells, base):
    """Compute dependencies of the logged vertices ``first … last`` from shares of the vertices in ``now``.

    ``before`` gets their lanes; ``factors`` (lanes,) are those by which the later round was scaled.
    """
    count = last - first
    chunk = chunk_of(count, mates)
    while True:
        part = fetch_add(cells, base + FOLDED, chunk)
        if part >= count:
            return
        for i in range(first + part, first + min(part + chunk, count)):
            v, wanted = log[i], lanes[i]
            ahead = log[min(i + AHEAD, last - 1)]
            prefetch(neighbours, rows[ahead])
            prefetch(paths, np.int64(ahead) * paths.shape[1])
            prefetch(share, np.int64(ahead) * paths.shape[1])
            prefetch(rows, np.int64(log[min(i + 2 * AHEAD, last - 1)]))
            before[v] = wanted
            fold_row(neighbours, rows[v], rows[v + 1], now, wanted, share, sums)
            if paths.shape[1] == 1:
                depend(v, 0, wanted, paths, share, sums, factors)
            else:
                for k in range(LANES):
                    depend(v, k, wanted, paths, share, sums, factors)


@njit(**INNER)
def put(first, last, now, log, lanes):
    """Set the lanes of logged vertices."""
    for i in range(first, last):
        now[log[i]] = lanes[i]


@njit(**INNER)
def clear(member, mates, first, last, now, log):
    """Clear the lanes of this member's part of logged vertices."""
    count = last - first
    for i in range(first + count * member // mates, first + count * (member + 1) // mates):
        now[log[i]] = 0


@njit(**INNER)
def clear_slot(cells, base):
    """Clear the counters of a round."""
    for i in range(SLOT):
        cells[base + i] = 0


@njit(**INNER)
def largest(first, last, paths, log, lanes, most):
    """Raise ``most`` (lanes,) to the largest number of paths of logged vertices."""
    for i in range(first, last):
        v = log[i]
        for k in range(paths.shape[1]):
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
            for k in range(paths.shape[1]):
                if lanes[i] & (1 << k) and factors[k] != 1.0:
                    paths[v, k] *= DOWN
                    if paths[v, k] < LEAST:
                        return False
    return True


@njit(**INNER)
def scale_level(first, last, paths, log, lanes, most, factors):
    """Scale a level by its own largest numbers of paths; return a bound of them, or -1.0 if one becomes too small."""
    most[:] = 0.0
    largest(first, last, paths, log, lanes, most)
    if not scale(first, last, paths, log, lanes, most, factors):
        return -1.0
    bound = 1.0
    for k in range(LANES):
        bound = max(bound, min(most[k], LARGE))
    return bound


@njit(**OPTIONS)
def search_batch(
    t, threads, groups, sources, degree, rows, neighbours, out_rows, out_neighbours, pushed_offsets, pushed, gates,
    cellses, bounds, nows, seens, pathses, shares, sumses, markses, buffers, buffer_laneses, logs, laneses,
    levelses, factorses, mosts, depths,
):  # fmt: skip
    """Search from a batch with each group of threads, and compute dependencies; a depth is -1 if paths overflow.

    ``degree`` is the largest in-degree: a round multiplies the largest number of paths at most by it.
    """
    mates = threads // groups
    group, member = t // mates, t % mates
    gate, cells, now, seen, paths = gates[group], cellses[group], nows[group], seens[group], pathses[group]
    share = shares[group]
    marks, log, lanes = markses[group], logs[group], laneses[group]
    levels, factors, most = levelses[group], factorses[group], mosts[group]
    sums, buffer, buffer_lanes = sumses[t], buffers[t], buffer_laneses[t]
    mine = sources[group * LANES : (group + 1) * LANES]
    full = np.uint8((1 << len(mine)) - 1)
    clear_all(member, mates, now, seen, paths, marks)
    barrier(gate, mates)
    if member == 0:
        cells[:] = 0
        levels[0] = 0
        levels[1] = begin(mine, now[0], seen, paths, log, lanes)
    barrier(gate, mates)
    depth, bound, edges, older, first, last = 0, 1.0, 0, 0, 0, levels[1]
    for i in range(last):
        edges += pushed_offsets[log[i] + 1] - pushed_offsets[log[i]]
    while first < last:
        depth += 1
        base, reached = (depth & 3) * SLOT, now[depth % PLANES]
        if member == 0:
            clear_slot(cells, ((depth + 2) & 3) * SLOT)
        dense = edges > len(pushed) // DENSE
        forward(
            mates, dense, np.uint32(depth), log[first:last], rows, neighbours, pushed_offsets, pushed, full,
            now[(depth - 1) % PLANES], reached, seen, paths, sums, marks, buffer, buffer_lanes, log, lanes, last, cells,
            base,
        )  # fmt: skip
        clear(member, mates, older, first, now[(depth + 1) % PLANES], log)
        barrier(gate, mates)
        older, first, last = first, last, last + load_acquire(cells, base + LOGGED)
        edges = load_acquire(cells, base + EDGES)
        bound *= degree
        if member == 0:
            levels[depth + 1] = last
            factors[depth] = 1.0
        if bound > LARGE:
            if member == 0:
                bounds[group] = scale_level(first, last, paths, log, lanes, most, factors[depth])
            barrier(gate, mates)
            bound = bounds[group]
            if bound < 0.0:
                depths[group] = -1
                return
    barrier(gate, mates)
    if member == 0:
        depths[group] = depth
        cells[:] = 0
    barrier(gate, mates)
    for d in range(depth - 1, -1, -1):
        base = (d & 3) * SLOT
        if member == 0:
            clear_slot(cells, ((d + 2) & 3) * SLOT)
        backward(
            mates, levels[d], levels[d + 1], out_rows, out_neighbours, now[(d + 1) % PLANES], now[d % PLANES], paths,
            share, sums, factors[d + 1], log, lanes, cells, base,
        )  # fmt: skip
        if d + 2 <= depth:
            clear(member, mates, levels[d + 2], levels[d + 3], now[(d + 2) % PLANES], log)
        barrier(gate, mates)


@njit(**OPTIONS)
def sum_lanes(t, threads, groups, sources, gates, seens, pathses, sumses, endpoints, parts, reached):
    """Sum the dependencies of each group's batch over its lanes into its row of ``parts``."""
    mates = threads // groups
    group, member = t // mates, t % mates
    place, mine, paths, seen, counts = group * LANES, parts[group], pathses[group], seens[group], sumses[t]
    many = max(min(LANES, len(sources) - place), 0)
    if member == 0:
        for k in range(many):
            if sources[place + k] >= 0:
                v = np.uint32(sources[place + k])
                paths[v, k], seen[v] = 0.0, seen[v] & ~np.uint8(1 << k)
    barrier(gates[group], mates)
    counts[:] = 0.0
    for v in range(len(mine) * member // mates, len(mine) * (member + 1) // mates):
        lanes, total = seen[v], 0.0
        if lanes:
            for k in range(paths.shape[1]):
                total += paths[v, k]
            if endpoints:
                for k in range(many):
                    one = (lanes >> k) & 1
                    total += one
                    counts[0, k] += one
        mine[v] = total
    if endpoints:
        for k in range(many):
            fetch_add(reached, place + k, np.int64(counts[0, k]))
