"""Breadth-first search from 512 sources at once on one thread: a bit for each source [Then et al., VLDB 2014].

Every vertex has eight 64-bit words: ``seen``, the sources that reached it, and ``front``, those that reached it in the
last round. A round ORs ``front`` of in-neighbours. Small frontiers list the masters that they may reach; large ones
let every master scan its in-edges, up to the point where no bit is missing. Where no level is large, as on roads, few
sources reach a vertex in the same round, and a queue for each source takes less time.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.algorithms.many_sources.frontier import DENSE, candidates
from dgraph.algorithms.many_sources.lanes import LANES, or_rows
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, bit_count, trailing_zeros
from dgraph.backend.cpu.threads.plain_kernels import plain_first

WORDS = LANES
"""64-bit words of a vertex: one cache line."""

BATCH = 64 * WORDS
"""Sources of a pass."""

PIECE = 16
"""In-edges between two tests for missing bits."""

SHARED = 8
"""Sources that reach a vertex in the same round, about, from which bits take less time than a queue for each."""


@njit(**INNER)
def begin(sources, seen, front, frontier, whole, levels, place):
    """Put the sources (slots; -1: of another rank) on level 0; return the size of the frontier."""
    seen[:] = 0
    front[:] = 0
    whole[:] = 0
    count = 0
    for i in range(len(sources)):
        bit = np.uint64(1) << np.uint64(i & 63)
        whole[i >> 6] |= bit
        if sources[i] >= 0:
            v = np.uint32(sources[i])
            fresh = True
            for w in range(WORDS):
                fresh &= front[v, w] == 0
            if fresh:
                frontier[count] = v
                count += 1
            seen[v, i >> 6] |= bit
            front[v, i >> 6] |= bit
            if levels.shape[1]:
                levels[v, place + i] = 0
    return count


@njit(**INNER)
def level(frontier, count, rows, neighbours, pushed_offsets, pushed, masters, seen, front, fresh, whole, marked, hits):
    """Write newly reached bits to ``fresh`` and the masters that have some to ``hits``; return their number."""
    many = candidates(frontier, count, pushed_offsets, pushed, len(pushed) // DENSE, marked, hits)
    dense = many < 0
    if dense:
        many = masters
    size = 0
    for i in range(many):
        v = np.uint32(i) if dense else hits[i]
        e, last, missing = rows[v], rows[v + 1], np.uint64(0)
        for w in range(WORDS):
            missing |= whole[w] & ~seen[v, w]
            fresh[v, w] = 0
        while e < last and missing != 0:
            or_rows(neighbours, e, min(e + PIECE, last), front, fresh, v)
            e += PIECE
            missing = np.uint64(0)
            for w in range(WORDS):
                missing |= whole[w] & ~seen[v, w] & ~fresh[v, w]
        new = np.uint64(0)
        for w in range(WORDS):
            fresh[v, w] &= ~seen[v, w]
            new |= fresh[v, w]
        if new != 0:
            hits[size] = v
            size += 1
    return size


@njit(**INNER)
def advance(frontier, count, hits, many, depth, seen, front, fresh, far, reached, levels, place):
    """Make the found masters the frontier, and count their new bits; return the size of the frontier."""
    for i in range(count):
        u = frontier[i]
        for w in range(WORDS):
            front[u, w] = 0
    for i in range(many):
        v = hits[i]
        bits = 0
        for w in range(WORDS):
            front[v, w] = fresh[v, w]
            seen[v, w] |= fresh[v, w]
            bits += bit_count(fresh[v, w])
        frontier[i] = v
        far[v] += depth * bits
        reached[v] += bits
        if levels.shape[1]:
            for w in range(WORDS):
                word = fresh[v, w]
                while word != 0:
                    levels[v, place + 64 * w + trailing_zeros(word)] = depth
                    word &= word - np.uint64(1)
    return many


def array_pass(
    sources, turn, limit, rows, neighbours, pushed_offsets, pushed, seens, fronts, freshes, wholes, marks,
    frontiers, founds, fars, reacheds, levels, deepest,
):  # fmt: skip
    """Search from the batches of ``turn``: in a round all rows are ORed."""
    entered = np.flatnonzero(np.diff(rows))
    far, reached, depths = np.zeros_like(fars), np.zeros_like(reacheds), np.zeros_like(deepest)
    for t in range(len(seens)):
        seen, front, place = seens[t], fronts[t], (turn * len(seens) + t) * BATCH
        begun = sources[place : place + BATCH]
        count = plain(begin)(begun, seen, front, frontiers[t], wholes[t], levels, place)
        depth = 0
        while count and len(entered) and depth < limit:
            depth += 1
            fresh = np.bitwise_or.reduceat(front[neighbours], rows[entered], axis=0) & ~seen[entered]
            new = fresh.any(axis=1)
            v, fresh = entered[new], fresh[new]
            front[:] = 0
            front[v] = fresh
            seen[v] |= fresh
            bits = np.unpackbits(fresh.view(np.uint8), axis=1, bitorder="little")
            number, count = bits.sum(axis=1, dtype=np.int64), len(v)
            far[t, v] += depth * number
            reached[t, v] += number
            if levels.shape[1]:
                row, lane = np.nonzero(bits)
                levels[v[row], place + lane] = depth
            if count:
                depths[t] = depth
            yield
    fars += far
    reacheds += reached
    np.maximum(deepest, depths, out=deepest)


@plain_first(most=1 << 20, rounds=array_pass)
@njit(**OPTIONS)
def one_pass(
    t, threads, sources, turn, limit, rows, neighbours, pushed_offsets, pushed, seens, fronts, freshes, wholes, marks,
    frontiers, founds, fars, reacheds, levels, deepest,
):  # fmt: skip
    """Search from batch ``turn · threads + t``."""
    seen, front, fresh, whole, marked = seens[t], fronts[t], freshes[t], wholes[t], marks[t]
    frontier, hits, far, reached = frontiers[t], founds[t], fars[t], reacheds[t]
    masters, place = len(rows) - 1, (turn * threads + t) * BATCH
    count = begin(sources[place : place + BATCH], seen, front, frontier, whole, levels, place)
    depth = 0
    while count and depth < limit:
        depth += 1
        many = level(
            frontier, count, rows, neighbours, pushed_offsets, pushed, masters, seen, front, fresh, whole, marked, hits
        )  # fmt: skip
        count = advance(frontier, count, hits, many, depth, seen, front, fresh, far, reached, levels, place)
        if count:
            deepest[t] = max(deepest[t], depth)


@njit(**OPTIONS)
def begin_batch(t, threads, sources, turn, counts, seens, fronts, frontiers, wholes, levels):
    """Begin batch ``turn · threads + t``."""
    place = (turn * threads + t) * BATCH
    counts[t] = begin(sources[place : place + BATCH], seens[t], fronts[t], frontiers[t], wholes[t], levels, place)


@njit(**OPTIONS)
def one_level(
    t, threads, turn, depth, rows, neighbours, pushed_offsets, pushed, seens, fronts, freshes, wholes, marks,
    frontiers, founds, fars, reacheds, levels, counts, chosen,
):  # fmt: skip
    """Run one round of each batch; ``chosen`` marks the masters that it reached, the frontier has no ghosts yet."""
    place = (turn * threads + t) * BATCH
    many = level(
        frontiers[t], counts[t], rows, neighbours, pushed_offsets, pushed, len(rows) - 1, seens[t], fronts[t],
        freshes[t], wholes[t], marks[t], founds[t],
    )  # fmt: skip
    counts[t] = advance(
        frontiers[t], counts[t], founds[t], many, depth, seens[t], fronts[t], freshes[t], fars[t], reacheds[t], levels,
        place,
    )  # fmt: skip
    chosen[t, :] = 0
    for i in range(many):
        chosen[t, founds[t, i]] = 1


@njit(**INNER)
def queued(source, stamp, limit, most, adds, offsets, pushed, marked, queue, far, reached, levels, place):
    """Search from a source and mark what it reaches with ``stamp``; return the depth, or -1 once a level has ``most``.

    ``adds``: 1; or 0, and the sums stay as they are.
    """
    marked[source], queue[0] = stamp, np.uint32(source)
    head, tail, depth, deepest = 0, 1, 0, 0
    if levels.shape[1]:
        levels[source, place] = 0
    while head < tail and depth < limit:
        last, depth = tail, depth + 1
        if last - head >= most:
            return -1
        while head < last:
            u = queue[head]
            head += 1
            for e in range(offsets[u], offsets[u + 1]):
                v = pushed[e]
                if marked[v] != stamp:
                    marked[v], queue[tail] = stamp, v
                    tail += 1
                    far[v] += depth * adds
                    reached[v] += adds
                    if levels.shape[1]:
                        levels[v, place] = depth
        deepest = depth if tail > last else deepest
    return deepest


@plain_first(most=1 << 20, rounds=lambda *_: iter(()))
@njit(**OPTIONS)
def is_narrow(t, threads, sources, limit, offsets, pushed, marks, queues, fars, reacheds, levels):
    """Return 1 if no level of the source with most out-edges is large, so that :func:`one_by_one` takes less time."""
    masters, hub = len(offsets) - 1, sources[0]
    for source in sources:
        hub = source if offsets[source + 1] - offsets[source] > offsets[hub + 1] - offsets[hub] else hub
    most = masters * SHARED // min(max(len(sources), 64), BATCH) + 1
    stamp = np.uint8(255)
    depth = queued(hub, stamp, limit, most, 0, offsets, pushed, marks[0], queues[0], fars[0], reacheds[0], levels, 0)
    return np.int64(depth >= 0)


@njit(**OPTIONS)
def one_by_one(t, threads, sources, place, limit, offsets, pushed, marks, queues, fars, reacheds, levels, deepest):
    """Search from every ``threads``-th source, whose columns of ``levels`` begin at ``place``."""
    for i in range(t, len(sources), threads):
        stamp = np.uint8(1 + i // threads % 254)
        if stamp == 1:
            marks[t, :] = 0
        depth = queued(
            sources[i], stamp, limit, len(offsets), 1, offsets, pushed, marks[t], queues[t], fars[t], reacheds[t],
            levels, place + i,
        )  # fmt: skip
        deepest[t] = max(deepest[t], depth)
