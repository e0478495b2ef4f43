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
from dgraph.algorithms.many_sources.betweenness.path_batch import batch_of, begin, clear_all
from dgraph.algorithms.many_sources.frontier import DENSE
from dgraph.algorithms.many_sources.lanes import LANES, fold_chosen
from dgraph.backend.cpu.threads.atomics import INLINE, INNER, OPTIONS, barrier, fetch_add, load, load_acquire, set_mark

LARGE, DOWN = 2.0**500, 2.0**-512
"""Number of paths from which those of a round are scaled, in its lane, and the factor."""

LEAST = 2.0**-900
"""Smallest scaled number of paths: numbers of paths to vertices of one round may differ by this factor."""

CLAIMED, FOLDED, FOUND, LOGGED, EDGES, SLOT = 0, 8, 16, 24, 32, 64
"""Counters of a round, on cache lines of their own: chunks taken in both phases, candidates, logged vertices and their
edges; and their number. Rounds use four slots in turn: one is cleared two rounds before its use."""

CELLS, BUFFER, MOST_ROWS, PLANES = 4 * SLOT, 1024, 256, 3
"""Counters of a group, vertices that a thread buffers, most rows of a chunk, and bitmaps ``now``."""


@njit(**INNER)
def chunk_of(count, mates):
    """Return the rows that a member takes at a time."""
    return count if mates == 1 else max(1, min(MOST_ROWS, count // (8 * mates)))


@njit(**INNER)
def fold_row(neighbours, first, last, now, wanted, values, sums):
    """Sum the lanes of ``values`` over neighbours in ``now`` into row 0 of ``sums``; return those that occur."""
    if values.shape[1] > 1:
        return fold_chosen(neighbours, first, last, now, wanted, values, sums, 0)
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


@njit(**INNER)
def claim(mates, frontier, graph, full, B, base):
    """List the masters that an edge of the frontier enters and that lack a lane in ``candidates``, and mark them."""
    pushed_offsets, pushed = graph[4], graph[5]
    seen, buffer, count = B.seen, B.buffer, len(frontier)
    chunk, k = chunk_of(count, mates), 0
    while True:
        first = fetch_add(B.cells, base + CLAIMED, chunk)
        if first >= count:
            break
        for i in range(first, min(first + chunk, count)):
            u = frontier[i]
            for e in range(pushed_offsets[u], pushed_offsets[u + 1]):
                v = load(pushed, e)
                if full & ~seen[v] and set_mark(B.marked, np.int64(v), mates == 1):
                    buffer[k] = v
                    k += 1
                    if k == BUFFER:
                        copy(buffer, k, B.candidates, fetch_add(B.cells, base + FOUND, k))
                        k = 0
    copy(buffer, k, B.candidates, fetch_add(B.cells, base + FOUND, k))


@njit(**INNER)
def log_buffer(B, count, tail, base):
    """Append a thread's buffer to the log, which had ``tail`` entries before this round."""
    place = tail + fetch_add(B.cells, base + LOGGED, count)
    copy(B.buffer, count, B.log, place)
    copy(B.buffer_lanes, count, B.lanes, place)


@njit(**INNER)
def count_paths(mates, dense, graph, full, now, reached, B, tail, base):
    """Count the paths to candidates from the frontier ``now``, and log those reached from ``tail`` on.

    Candidates are those in ``candidates``, or all masters if ``dense``. ``reached`` gets the lanes of logged vertices.
    """
    rows, neighbours, pushed_offsets = graph[0], graph[1], graph[4]
    seen, paths, sums = B.seen, B.paths, B.sums
    count = len(rows) - 1 if dense else load_acquire(B.cells, base + FOUND)
    chunk, k, edges = chunk_of(count, mates), 0, 0
    while True:
        first = fetch_add(B.cells, base + FOLDED, chunk)
        if first >= count:
            break
        for i in range(first, min(first + chunk, count)):
            v = np.uint32(i) if dense else B.candidates[i]
            if not dense:
                B.marked[v] = 0
            wanted = np.uint8(full & ~seen[v])
            if wanted == 0:
                continue
            hit = fold_row(neighbours, rows[v], rows[v + 1], now, wanted, paths, sums)
            if hit:
                if paths.shape[1] == 1:
                    paths[v, 0] += sums[0, 0]
                else:
                    for lane in range(LANES):
                        paths[v, lane] += sums[0, lane]
                seen[v] |= hit
                reached[v] = hit
                edges += pushed_offsets[v + 1] - pushed_offsets[v]
                B.buffer[k], B.buffer_lanes[k] = v, hit
                k += 1
                if k == BUFFER:
                    log_buffer(B, k, tail, base)
                    k = 0
    log_buffer(B, k, tail, base)
    fetch_add(B.cells, base + EDGES, edges)


@njit(**INLINE)
def depend(v, k, wanted, paths, share, sums, factors):
    """Replace the number of paths to ``v`` in lane ``k`` by its dependency, if the lane is wanted."""
    chosen, old = wanted & (1 << k) != 0, paths[v, k]
    dependency = old * sums[0, k] * factors[k]
    share[v, k] = (1.0 + dependency) / old if chosen else share[v, k]
    paths[v, k] = dependency if chosen else old


@njit(**INNER)
def backward(mates, depth, graph, now, before, B, base):
    """Compute the dependencies of level ``depth`` from shares of the vertices in ``now``; ``before`` gets its lanes."""
    rows, neighbours, paths, share, sums, factors = graph[2], graph[3], B.paths, B.share, B.sums, B.factors[depth + 1]
    first, count = B.levels[depth], B.levels[depth + 1] - B.levels[depth]
    chunk = chunk_of(count, mates)
    while True:
        part = fetch_add(B.cells, base + FOLDED, chunk)
        if part >= count:
            return
        for i in range(first + part, first + min(part + chunk, count)):
            v, wanted = B.log[i], B.lanes[i]
            before[v] = wanted
            fold_row(neighbours, rows[v], rows[v + 1], now, wanted, share, sums)
            if paths.shape[1] == 1:
                depend(v, 0, wanted, paths, share, sums, factors)
            else:
                for k in range(LANES):
                    depend(v, k, wanted, paths, share, sums, factors)


@njit(**INNER)
def put(depth, now, B):
    """Set the lanes of the vertices of a level."""
    for i in range(B.levels[depth], B.levels[depth + 1]):
        now[B.log[i]] = B.lanes[i]


@njit(**INNER)
def clear(member, mates, vertices, now):
    """Clear the lanes of this member's part of vertices."""
    count = len(vertices)
    for i in range(count * member // mates, count * (member + 1) // mates):
        now[vertices[i]] = 0


@njit(**INNER)
def clear_slot(cells, base):
    """Clear the counters of a round."""
    for i in range(SLOT):
        cells[base + i] = 0


@njit(**INNER)
def largest(depth, B):
    """Set ``most`` to the largest numbers of paths of a level."""
    B.most[:] = 0.0
    for i in range(B.levels[depth], B.levels[depth + 1]):
        v = B.log[i]
        for k in range(B.paths.shape[1]):
            if B.lanes[i] & (1 << k):
                B.most[k] = max(B.most[k], B.paths[v, k])


@njit(**INNER)
def scale(depth, B):
    """Scale the lanes of a level in which ``most`` is large; return False if a number becomes too small."""
    any_large, factors = False, B.factors[depth]
    for k in range(LANES):
        factors[k] = DOWN if B.most[k] > LARGE else 1.0
        any_large |= B.most[k] > LARGE
    if any_large:
        for i in range(B.levels[depth], B.levels[depth + 1]):
            v = B.log[i]
            for k in range(B.paths.shape[1]):
                if B.lanes[i] & (1 << k) and factors[k] != 1.0:
                    B.paths[v, k] *= DOWN
                    if B.paths[v, k] < LEAST:
                        return False
    return True


@njit(**INNER)
def scale_level(depth, B):
    """Scale a level by its own largest numbers of paths; return a bound of them, or -1.0 if one becomes too small."""
    largest(depth, B)
    if not scale(depth, B):
        return -1.0
    bound = 1.0
    for k in range(LANES):
        bound = max(bound, min(B.most[k], LARGE))
    return bound


@njit(**INNER)
def edges_of(vertices, graph):
    """Return the number of edges that vertices push along."""
    edges = 0
    for i in range(len(vertices)):
        edges += graph[4][vertices[i] + 1] - graph[4][vertices[i]]
    return edges


@njit(**OPTIONS)
def search_batch(t, threads, groups, sources, degree, graph, arrays, gates, bounds, depths):
    """Search from a batch with each group of threads, and compute dependencies; a depth is -1 if paths overflow.

    ``graph`` is offsets and neighbours of in-rows, out-rows and pushed rows; ``arrays`` a :class:`Batch` of all.
    ``degree`` is the largest in-degree: a round multiplies the largest number of paths at most by it.
    """
    mates = threads // groups
    group, member = t // mates, t % mates
    B, gate = batch_of(arrays, group, t), gates[group]
    cells, now, log, levels = B.cells, B.now, B.log, B.levels
    mine = sources[group * LANES : (group + 1) * LANES]
    full = np.uint8((1 << len(mine)) - 1)
    clear_all(member, mates, B)
    barrier(gate, mates)
    if member == 0:
        cells[:] = 0
        begin(mine, B)
    barrier(gate, mates)
    depth, bound, older, first, last = 0, 1.0, 0, 0, levels[1]
    edges = edges_of(log[:last], graph)
    while first < last:
        depth += 1
        base = (depth & 3) * SLOT
        if member == 0:
            clear_slot(cells, ((depth + 2) & 3) * SLOT)
        dense = edges > len(graph[5]) // DENSE
        if not dense:
            claim(mates, log[first:last], graph, full, B, base)
            barrier(gate, mates)
        count_paths(mates, dense, graph, full, now[(depth - 1) % PLANES], now[depth % PLANES], B, last, base)
        clear(member, mates, log[older:first], now[(depth + 1) % PLANES])
        barrier(gate, mates)
        older, first, last = first, last, last + load_acquire(cells, base + LOGGED)
        edges = load_acquire(cells, base + EDGES)
        bound *= degree
        if member == 0:
            levels[depth + 1] = last
            B.factors[depth] = 1.0
        if bound > LARGE:
            if member == 0:
                bounds[group] = scale_level(depth, B)
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
        if member == 0:
            clear_slot(cells, ((d + 2) & 3) * SLOT)
        backward(mates, d, graph, now[(d + 1) % PLANES], now[d % PLANES], B, (d & 3) * SLOT)
        if d + 2 <= depth:
            clear(member, mates, log[levels[d + 2] : levels[d + 3]], now[(d + 2) % PLANES])
        barrier(gate, mates)


@njit(**OPTIONS)
def sum_lanes(t, threads, groups, sources, arrays, gates, endpoints, parts, reached):
    """Sum the dependencies of each group's batch over its lanes into its row of ``parts``."""
    mates = threads // groups
    group, member = t // mates, t % mates
    place, mine, paths, seen = group * LANES, parts[group], arrays.paths[group], arrays.seen[group]
    counts, many = arrays.sums[t], max(min(LANES, len(sources) - place), 0)
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


@njit(**OPTIONS)
def begin_batch(t, threads, sources, arrays):
    """Begin batch ``t``: the log has this rank's sources."""
    B = batch_of(arrays, t, t)
    clear_all(0, 1, B)
    begin(sources[t * LANES : (t + 1) * LANES], B)


@njit(**OPTIONS)
def forward_round(t, threads, sources, depth, graph, arrays, frontiers, counts):
    """Run the forward round that finds level ``depth`` of each batch, from frontiers with ghosts."""
    B, frontier = batch_of(arrays, t, t), frontiers[t, : counts[t]]
    full, tail = np.uint8((1 << max(min(LANES, len(sources) - t * LANES), 0)) - 1), B.levels[depth]
    dense = edges_of(frontier, graph) > len(graph[5]) // DENSE
    clear_slot(B.cells, 0)
    if not dense:
        claim(1, frontier, graph, full, B, 0)
    count_paths(1, dense, graph, full, B.now[0], B.now[1], B, tail, 0)
    B.levels[depth + 1] = tail + B.cells[LOGGED]
    clear(0, 1, frontier, B.now[0])
    put(depth, B.now[0], B)
    largest(depth, B)


@njit(**OPTIONS)
def scale_round(t, threads, depth, arrays, kept):
    """Scale level ``depth`` of each batch by the largest numbers of paths on all ranks."""
    kept[t] &= scale(depth, batch_of(arrays, t, t))


@njit(**OPTIONS)
def backward_round(t, threads, depth, graph, arrays, frontiers, counts):
    """Compute the dependencies of level ``depth`` of each batch; frontiers hold the later level with its ghosts."""
    B = batch_of(arrays, t, t)
    clear_slot(B.cells, 0)
    backward(1, depth, graph, B.now[0], B.now[1], B, 0)
    clear(0, 1, frontiers[t, : counts[t]], B.now[0])
    put(depth, B.now[0], B)
