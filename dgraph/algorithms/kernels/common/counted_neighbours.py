"""Most similar vertices by the number of common neighbours, on a rank's threads.

Vertices stand in blocks by rising degree. The common neighbours of a vertex and all of a block are counted at once: the
part of a neighbour's row in the block is a bitmap, or a list where it is short, and is added to binary counters of the
block (``bit_counters.py``). Blocks follow from the degree of the vertex on, upwards and then downwards, and end where
the k-th similarity so far exceeds any that such degrees admit [Bayardo, Ma and Srikant 2007, "Scaling Up All Pairs
Similarity Search", section 4.2]. In a block, the fewest common neighbours with which a vertex enters the list grow with
its degree, so those of the first degree bound the others, and all counters are compared with them at once.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.algorithms.kernels.common.bit_counters import (
    SHIFT,
    TOGETHER,
    WORDS,
    add_bitmaps,
    add_list,
    compare,
    counter,
    reaching,
)
from dgraph.algorithms.kernels.common.degree_blocks import BITMAP, BLOCK, FIRST, LAST
from dgraph.algorithms.kernels.common.similar_lists import (
    COSINE,
    JACCARD,
    OVERLAP,
    SORENSEN,
    inserted,
    quotient,
    scaled,
)
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, fetch_add, prefetch, trailing_zeros
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.graph.rows import edges_of

CHUNK = 4
"""Vertices that a thread takes at a time, hubs first."""

STRIP = 8
"""Words of counters that are compared with one number at first."""

NEARLY = 1 - 1e-9
"""Factor that takes the rounding of a bound into account."""

LISTED = 64
"""Entries of the last bitmaps of a block up to which they are added one by one."""

CELLS = 1 << 20
"""Two-hop paths, and counters, of the rows that are counted together by NumPy; one row may have more paths."""

PART = 16
"""Counters of a row whose maximum NumPy takes first."""


def array_counts(
    offsets, targets, shares, measure, first, mine, order, starts, rows, widths, word_widths, firsts, blocks, segments,
    bitmaps, best, values, cursors, chains, heads, homes, lengths, planes, groups, taken,
):  # fmt: skip
    """Fill the lists: the common neighbours of some vertices and all others are a matrix.

    The k largest of the maxima of parts of a row bound its list from below.
    """
    n, k, degrees = len(order), best.shape[1], np.diff(offsets)
    width = -(-n // PART)
    paths = np.concatenate([[0], np.cumsum(degrees[targets])])[offsets[first : first + len(best) + 1]]
    begin = 0
    while begin < len(best):
        end = min(np.searchsorted(paths, paths[begin] + CELLS), begin + max(CELLS // n, 1), len(best))
        end = max(end, begin + 1)
        v = np.arange(first + begin, first + end)
        row, e = edges_of(offsets, v)
        path, e = edges_of(offsets, targets[e])
        common = np.bincount(row[path] * n + targets[e], minlength=len(v) * n).reshape(len(v), n)
        common[np.arange(len(v)), v] = 0
        row, w = np.nonzero(common)
        similar = np.zeros((len(v), width * PART))
        similar[row, w] = plain(quotient)(measure, 1.0 * common[row, w], degrees[v[row]], degrees[w])
        largest = similar.reshape(len(v), PART, width).max(axis=1)
        least = np.partition(largest, width - k, axis=1)[:, width - k] if k <= width else np.zeros(len(v))
        row, w = np.nonzero((similar > 0) & (similar >= least[:, None]))
        chosen = np.lexsort((w, -similar[row, w], row))
        row, w = row[chosen], w[chosen]
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        row, w, rank = row[rank < k], w[rank < k], rank[rank < k]
        best[begin + row, rank], values[begin + row, rank] = w, similar[row, w]
        begin = end
        yield


@plain_first(most=1 << 20, rounds=array_counts, patience=3.0)
@njit(**OPTIONS)
def count_by_blocks(
    t, threads, offsets, targets, shares, measure, first, mine, order, starts, rows, widths, word_widths, firsts,
    blocks, segments, bitmaps, best, values, cursors, chains, heads, homes, lengths, planes, groups, taken,
):  # fmt: skip
    """Fill the lists ``best`` and ``values`` of the vertices at the places ``mine``; row 0 is of vertex ``first``."""
    cursor, chain, head, counters, group = cursors[t], chains[t], heads[t], planes[t], groups[t]
    home, length = homes[t], lengths[t]
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= len(mine):
            return
        for number in range(begin, min(begin + CHUNK, len(mine))):
            v = np.int64(mine[number])
            row, edges, degree, high = np.int64(order[v]) - first, starts[v], starts[v + 1] - starts[v], 3
            while degree >> high:
                high += 1
            filled, share = 0, 0.0
            for step in (1, -1):
                block, chained = (v >> SHIFT) + (step >> 1), False
                while 0 <= block < len(head):
                    narrow = np.int64(widths[block << SHIFT])
                    wide = np.int64(widths[min((block + 1) << SHIFT, len(widths)) - 1])
                    need = _needed(measure, share, degree, narrow)
                    if need > degree if step > 0 else _needed(measure, share, degree, max(wide, 1)) > wide:
                        break
                    if not chained:
                        chained = True
                        if step > 0:
                            _find_homes(rows, edges, degree, block, firsts, blocks, home)
                        for i in range(degree):
                            segment = home[i, (1 - step) >> 1]
                            if segment >= 0:
                                _chain(segment, i, rows, segments, bitmaps, cursor, chain, head, length)
                    if head[block] >= 0:
                        changed = _count(
                            block, step, need, rows, segments, bitmaps, cursor, chain, head, length, counters, high,
                            group,
                        )  # fmt: skip
                        filled, share = _enter(
                            block, v, changed, counters, high, share, measure, degree, widths, word_widths, order, best,
                            values, row, filled,
                        )  # fmt: skip
                    block += step
                while chained and 0 <= block < len(head):
                    head[block], length[block] = -1, 0
                    block += step


@njit(**INNER)
def _share(measure, least):
    """Return the factor of :func:`_needed` of a similarity."""
    if measure == JACCARD:
        return least / (1 + least)
    return least / 2 if measure == SORENSEN else least


@njit(**INNER)
def _needed(measure, share, degree, width):
    """Return common neighbours of vertices of two degrees, 1 or more, below which the similarity is not reached."""
    if measure == OVERLAP:
        scale = 1.0 * min(degree, width)
    else:
        scale = np.sqrt(1.0 * degree * width) if measure == COSINE else 1.0 * (degree + width)
    return max(np.int64(np.ceil(share * scale * NEARLY)), 1)


@njit(**INNER)
def _find_homes(rows, edges, degree, block, firsts, blocks, home):
    """Set the first segment of each neighbour's row in a block or above it, and the last below it; -1: none."""
    for i in range(degree):
        u = np.int64(rows[edges + i])
        home[i, 0], home[i, 1] = firsts[u], firsts[u + 1]
        prefetch(blocks, home[i, 0])
    for i in range(degree):
        begin, end = home[i, 0], home[i, 1]
        segment = _segment(begin, end, block, blocks)
        home[i, 0], home[i, 1] = segment if segment < end else -1, segment - 1 if segment > begin else -1


@njit(**INNER)
def _segment(begin, end, block, blocks):
    """Return the first of a row's segments ``begin`` to ``end`` in a block or above it."""
    low, most = begin, block - np.int64(blocks[begin]) if begin < end else 0
    high = min(end, begin + max(most, 0))  # blocks ascend
    if high < end and np.int64(blocks[high]) < block:
        high = end
    while low < high:
        middle = (low + high) >> 1
        if np.int64(blocks[middle]) < block:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**INNER)
def _chain(segment, i, rows, segments, bitmaps, cursor, chain, head, length):
    """Put neighbour ``i`` of a vertex into the chain of the block of its segment."""
    place = segments[segment, 1]
    block = place >> BLOCK
    cursor[i], chain[i], head[block] = segment, head[block], i
    length[block] += 1
    prefetch(bitmaps[place & BITMAP], 0)
    prefetch(rows, segments[segment, 0])


@njit(**INNER)
def _count(block, step, need, rows, segments, bitmaps, cursor, chain, head, length, counters, high, group):
    """Add the segments of a block, if there are as many as needed; return the words that may have changed, as bits."""
    changed, grouped, entries, i = np.uint64(0), 0, 0, np.int64(head[block])
    ends = LAST if step > 0 else FIRST
    enough = length[block] >= need
    head[block], length[block] = -1, 0
    while i >= 0:
        after, segment = np.int64(chain[i]), cursor[i]
        begin, place, end = segments[segment, 0], segments[segment, 1], segments[segment + 1, 0]
        if not enough:
            pass
        elif place & BITMAP:
            group[grouped] = segment
            grouped += 1
            entries += end - begin
            if grouped == TOGETHER:
                _add_group(group, grouped, segments, bitmaps, counters, high)
                changed, grouped, entries = ~np.uint64(0), 0, 0
        else:
            changed |= add_list(counters, rows, begin, end)
        if not place & ends:
            _chain(segment + step, i, rows, segments, bitmaps, cursor, chain, head, length)
        i = after
    if entries > LISTED:
        _add_group(group, grouped, segments, bitmaps, counters, high)
        return ~np.uint64(0)
    for j in range(grouped):
        changed |= add_list(counters, rows, segments[group[j], 0], segments[group[j] + 1, 0])
    return changed


@njit(**INNER)
def _add_group(group, grouped, segments, bitmaps, counters, high):
    """Add the bitmaps of segments; bitmap 0 is empty."""
    for j in range(TOGETHER):
        group[j] = segments[group[j], 1] & BITMAP if j < grouped else 0
    add_bitmaps(counters, high, bitmaps, group)


@njit(**INNER)
def _enter(
    block, v, changed, counters, high, share, measure, degree, widths, word_widths, order, best, values, row, filled
):
    """Put the vertices of a block that were counted into a row's list, and clear their counters.

    Returns:
        Vertices in the list, and the factor of its least similarity; 0 until it is full.
    """
    for begin in range(0, WORDS, STRIP):
        strip, first = changed >> np.uint64(begin) & np.uint64((1 << STRIP) - 1), (block << SHIFT) + (begin << 6)
        if strip == 0 or first >= len(order):
            continue
        need = _needed(measure, share, degree, np.int64(word_widths[first >> 6]))
        if need <= degree:
            compare(counters, high, need, begin, begin + STRIP)
            for word in range(begin, begin + STRIP):
                if counters[high, word]:
                    filled, share = _enter_word(
                        (block << SHIFT) + (word << 6), v, word, counters, high, share, measure, degree, widths,
                        word_widths, order, best, values, row, filled,
                    )  # fmt: skip
        for p in range(high):
            plane = counters[p]
            for word in range(begin, begin + STRIP):
                plane[word] = np.uint64(0)
    return filled, share


@njit(**INNER)
def _enter_word(
    first, v, word, counters, high, share, measure, degree, widths, word_widths, order, best, values, row, filled
):
    """Put the vertices of a word of counters, from place ``first`` on, into a row's list."""
    k, width = best.shape[1], np.int64(word_widths[first >> 6])
    need = _needed(measure, share, degree, width)
    if filled == k and width == word_widths[(first >> 6) + 1] and order[first] > best[row, k - 1]:
        need += scaled(measure, np.float64(need), degree, width) <= values[row, k - 1]  # equal ones have larger numbers
    reached = reaching(counters, high, need, word) if need <= degree else np.uint64(0)
    changed = False
    while reached:
        bit = np.int64(trailing_zeros(reached))
        reached &= reached - np.uint64(1)
        w, common = first + bit, counter(counters, high, word, bit)
        if w != v:
            value = scaled(measure, np.float64(common), degree, np.int64(widths[w]))
            if filled < k or value >= values[row, k - 1]:
                filled = inserted(best, values, row, filled, np.int64(order[w]), value)
                changed = True
    if changed and filled == k:
        share = _share(measure, values[row, k - 1])
    return filled, share
