"""Breadth-first search from 512 sources at once on one thread: a bit for each source [Then et al., VLDB 2014].

Every vertex has eight 64-bit words: ``seen``, the sources that reached it, and ``front``, those that reached it in the
last round. A round ORs ``front`` of in-neighbours. Small frontiers list the masters that they may reach; large ones
let every master scan its in-edges, up to the point where no bit is missing.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Batches(NamedTuple):
    """Arrays of searches, with a row for each batch: thread t has row t.

    Attributes:
        seen, front, fresh: words of masters, slots and masters: that reached it, in the last round, in the next one.
        whole: word of all sources of the batch, uint64 (threads, WORDS).
        marked: scratch of masters, all 0; ``frontier``, ``listed``: lists of slots and of masters.
        far, reached: sum of distances, and number of other sources that reach a master, int64 (threads, masters).
    """

    seen: np.ndarray
    front: np.ndarray
    fresh: np.ndarray
    whole: np.ndarray
    marked: np.ndarray
    frontier: np.ndarray
    listed: np.ndarray
    far: np.ndarray
    reached: np.ndarray


@njit(**INNER)
def begin(sources, A, t, levels, place):
    """Put the sources (slots; -1: of another rank) on level 0; return the size of the frontier."""
    seen, front, whole = A.seen[t], A.front[t], A.whole[t]
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
                A.frontier[t, count] = v
                count += 1
            seen[v, i >> 6] |= bit
            front[v, i >> 6] |= bit
            if levels.shape[1]:
                levels[v, place + i] = 0
    return count


@njit(**INNER)
def level(graph, count, A, t):
    """Write newly reached bits to ``fresh`` and the masters that have some to ``listed``; return their number."""
    rows, neighbours, pushed_offsets, pushed = graph
    seen, front, fresh, whole, listed = A.seen[t], A.front[t], A.fresh[t], A.whole[t], A.listed[t]
    many = candidates(A.frontier[t], count, pushed_offsets, pushed, len(pushed) // DENSE, A.marked[t], listed)
    dense = many < 0
    if dense:
        many = len(rows) - 1
    size = 0
    for i in range(many):
        v = np.uint32(i) if dense else listed[i]
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
            listed[size] = v
            size += 1
    return size


@njit(**INNER)
def advance(count, many, depth, A, t, levels, place):
    """Make the listed masters the frontier, and count their new bits; return the size of the frontier."""
    seen, front, fresh, frontier = A.seen[t], A.front[t], A.fresh[t], A.frontier[t]
    for i in range(count):
        u = frontier[i]
        for w in range(WORDS):
            front[u, w] = 0
    for i in range(many):
        v = A.listed[t, i]
        bits = 0
        for w in range(WORDS):
            front[v, w] = fresh[v, w]
            seen[v, w] |= fresh[v, w]
            bits += bit_count(fresh[v, w])
        frontier[i] = v
        A.far[t, v] += depth * bits
        A.reached[t, v] += bits
        if levels.shape[1]:
            for w in range(WORDS):
                word = fresh[v, w]
                while word != 0:
                    levels[v, place + 64 * w + trailing_zeros(word)] = depth
                    word &= word - np.uint64(1)
    return many


def array_pass(sources, turn, limit, graph, batches, levels, deepest):
    """Search from the batches of ``turn``: in a round all rows are ORed."""
    rows, neighbours, *_ = graph
    entered = np.flatnonzero(np.diff(rows))
    far, reached, depths = np.zeros_like(batches.far), np.zeros_like(batches.reached), np.zeros_like(deepest)
    for t in range(len(batches.seen)):
        seen, front, place = batches.seen[t], batches.front[t], (turn * len(batches.seen) + t) * BATCH
        count = plain(begin)(sources[place : place + BATCH], batches, t, levels, place)
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
    batches.far[...] += far
    batches.reached[...] += reached
    np.maximum(deepest, depths, out=deepest)


@plain_first(most=1 << 20, rounds=array_pass)
@njit(**OPTIONS)
def one_pass(t, threads, sources, turn, limit, graph, batches, levels, deepest):
    """Search from batch ``turn · threads + t``; ``graph``: offsets and neighbours of in-rows and of pushed rows."""
    place = (turn * threads + t) * BATCH
    count = begin(sources[place : place + BATCH], batches, t, levels, place)
    depth = 0
    while count and depth < limit:
        depth += 1
        count = advance(count, level(graph, count, batches, t), depth, batches, t, levels, place)
        if count:
            deepest[t] = max(deepest[t], depth)


@njit(**OPTIONS)
def begin_batch(t, threads, sources, turn, counts, batches, levels):
    """Begin batch ``turn · threads + t``."""
    place = (turn * threads + t) * BATCH
    counts[t] = begin(sources[place : place + BATCH], batches, t, levels, place)


@njit(**OPTIONS)
def one_level(t, threads, turn, depth, graph, batches, levels, counts, chosen):
    """Run one round of each batch; ``chosen`` marks the masters that it reached, the frontier has no ghosts yet."""
    many = level(graph, counts[t], batches, t)
    counts[t] = advance(counts[t], many, depth, batches, t, levels, (turn * threads + t) * BATCH)
    chosen[t, :] = 0
    for i in range(many):
        chosen[t, batches.listed[t, i]] = 1
