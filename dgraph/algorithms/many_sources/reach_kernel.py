"""Breadth-first search from 512 sources at once on one thread: a bit for each source [Then et al., VLDB 2014].

Every vertex has eight 64-bit words: ``seen``, the sources that reached it, and ``front``, those that reached it in the
last round. A round ORs ``front`` of in-neighbours. Small frontiers list the masters that they may reach; large ones
let every master scan its in-edges, up to the point where no bit is missing.
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


def begin_batch(t, threads, sources, turn, counts, seens, fronts, frontiers, wholes, levels):
    """Put the sources of batch ``turn · threads + t`` (distinct slots; -1: of another rank) on level 0."""
    seen, front, frontier, whole = seens[t], fronts[t], frontiers[t], wholes[t]
    place, size = (turn * threads + t) * BATCH, 0
    seen[:] = 0
    front[:] = 0
    whole[:] = 0
    for i in range(min(BATCH, len(sources) - place)):
        bit = np.uint64(1) << np.uint64(i & 63)
        whole[i >> 6] |= bit
        if sources[place + i] >= 0:
            v = np.uint32(sources[place + i])
            seen[v, i >> 6] = front[v, i >> 6] = bit
            frontier[size] = v
            size += 1
            if levels.shape[1]:
                levels[v, place + i] = 0
    counts[t] = size


def one_level(
    t, threads, turn, depth, rows, neighbours, pushed_offsets, pushed, seens, fronts, freshes, wholes, marks,
    frontiers, reached_lists, fars, reacheds, levels, counts, chosen,
):  # fmt: skip
    """Run one round of each batch: the masters that it reached are the frontier, which has no ghosts yet.

    ``chosen`` (threads, masters) marks them, if it has columns.
    """
    seen, front, fresh, whole = seens[t], fronts[t], freshes[t], wholes[t]
    frontier, hits, place, size = frontiers[t], reached_lists[t], (turn * threads + t) * BATCH, 0
    many = candidates(frontier, counts[t], pushed_offsets, pushed, len(pushed) // DENSE, marks[t], hits)
    dense = many < 0
    if dense:
        many = len(rows) - 1
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
    for i in range(counts[t]):
        u = frontier[i]
        for w in range(WORDS):
            front[u, w] = 0
    if chosen.shape[1]:
        chosen[t, :] = 0
    for i in range(size):
        v = hits[i]
        bits = 0
        for w in range(WORDS):
            front[v, w] = fresh[v, w]
            seen[v, w] |= fresh[v, w]
            bits += bit_count(fresh[v, w])
        frontier[i] = v
        fars[t, v] += depth * bits
        reacheds[t, v] += bits
        if levels.shape[1]:
            for w in range(WORDS):
                word = fresh[v, w]
                while word != 0:
                    levels[v, place + 64 * w + trailing_zeros(word)] = depth
                    word &= word - np.uint64(1)
        if chosen.shape[1]:
            chosen[t, v] = 1
    counts[t] = size


begun, reached_level = (njit(**INNER)(function) for function in (begin_batch, one_level))
"""Rounds of :func:`one_pass`; those of ranks that search together follow."""
begin_batch, one_level = (njit(**OPTIONS)(function) for function in (begin_batch, one_level))


def array_pass(
    sources, turn, limit, rows, neighbours, pushed_offsets, pushed, seens, fronts, freshes, wholes, marks,
    frontiers, reached_lists, fars, reacheds, levels, counts, chosen, deepest,
):  # fmt: skip
    """Search from the batches of ``turn``: in a round all rows are ORed."""
    entered = np.flatnonzero(np.diff(rows))
    far, reached, depths = np.zeros_like(fars), np.zeros_like(reacheds), np.zeros_like(deepest)
    for t in range(len(seens)):
        seen, front, place = seens[t], fronts[t], (turn * len(seens) + t) * BATCH
        plain(begin_batch)(t, len(seens), sources, turn, counts, seens, fronts, frontiers, wholes, levels)
        count = counts[t]
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
    frontiers, reached_lists, fars, reacheds, levels, counts, chosen, deepest,
):  # fmt: skip
    """Search from batch ``turn · threads + t``; ``chosen`` has no columns."""
    begun(t, threads, sources, turn, counts, seens, fronts, frontiers, wholes, levels)
    depth = 0
    while counts[t] and depth < limit:
        depth += 1
        reached_level(
            t, threads, turn, depth, rows, neighbours, pushed_offsets, pushed, seens, fronts, freshes, wholes, marks,
            frontiers, reached_lists, fars, reacheds, levels, counts, chosen,
        )  # fmt: skip
        if counts[t]:
            deepest[t] = max(deepest[t], depth)
