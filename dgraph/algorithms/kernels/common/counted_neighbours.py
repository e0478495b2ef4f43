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
from dgraph.algorithms.kernels.common.similar_lists import inserted, quotient, scaled
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS, fetch_add, prefetch, trailing_zeros
from dgraph.backend.cpu.threads.plain_kernels import plain_first
from dgraph.graph.rows import edges_of

CHUNK = 4
"""Vertices that a thread takes at a time, hubs first."""

STRIP = 8
"""Words of counters that are compared with one number at first."""

LISTED = 64
"""Entries of the last bitmaps of a block up to which they are added one by one."""

CELLS = 1 << 20
"""Two-hop paths, and counters, of the rows that are counted together by NumPy; one row may have more paths."""

PART = 16
"""Counters of a row whose maximum NumPy takes first."""


def array_counts(
    offsets, targets, shares, measure, first, mine, order, starts, rows, widths, word_widths, firsts, blocks, segments,
    bitmaps, best, values, cursors, chains, heads, planes, groups, taken,
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


@plain_first(most=1 << 20, rounds=array_counts)
@njit(**OPTIONS)
def count_by_blocks(
    t, threads, offsets, targets, shares, measure, first, mine, order, starts, rows, widths, word_widths, firsts,
    blocks, segments, bitmaps, best, values, cursors, chains, heads, planes, groups, taken,
):  # fmt: skip
    """Fill the lists ``best`` and ``values`` of the vertices at the places ``mine``; row 0 is of vertex ``first``."""
    cursor, chain, head, counters, group, k = cursors[t], chains[t], heads[t], planes[t], groups[t], best.shape[1]
    while True:
        begin = fetch_add(taken, 0, CHUNK)
        if begin >= len(mine):
            return
        for number in range(begin, min(begin + CHUNK, len(mine))):
            v = np.int64(mine[number])
            row, edges, degree, high = np.int64(order[v]) - first, starts[v], starts[v + 1] - starts[v], 3
            while degree >> high:
                high += 1
            filled, need = 0, np.int64(1)
            for step in (1, -1):
                block, reached = (v >> SHIFT) + (step >> 1), False
                while 0 <= block < len(head):
                    least = values[row, k - 1] if filled == k else 0.0
                    narrow = np.int64(widths[block << SHIFT])
                    wide = np.int64(widths[min((block + 1) << SHIFT, len(widths)) - 1])
                    need = _needed(measure, need, degree, narrow, least)
                    if need > degree if step > 0 else wide == 0 or scaled(measure, 1.0 * wide, degree, wide) < least:
                        break
                    if not reached:
                        reached = True
                        for i in range(degree):
                            segment, stop = _segment(np.int64(rows[edges + i]), block, step, firsts, blocks)
                            if segment != stop:
                                _chain(segment, i, rows, segments, bitmaps, cursor, chain, head)
                    if head[block] >= 0:
                        changed = _count(
                            block, step, rows, segments, bitmaps, cursor, chain, head, counters, high, group
                        )
                        filled, need = _enter(
                            block, v, changed, counters, high, need, measure, degree, widths, word_widths, order, best,
                            values, row, filled,
                        )  # fmt: skip
                    block += step
                if reached:
                    while 0 <= block < len(head):
                        head[block] = -1
                        block += step


@njit(**INNER)
def _needed(measure, need, degree, width, least):
    """Return the fewest common neighbours, from 1 to ``degree`` + 1, that reach a similarity; near ``need``."""
    while need > 1 and scaled(measure, np.float64(need - 1), degree, width) >= least:
        need -= 1
    while need <= degree and scaled(measure, np.float64(need), degree, width) < least:
        need += 1
    return need


@njit(**INNER)
def _segment(u, block, step, firsts, blocks):
    """Return the first segment of a row in ``block`` or behind it in the direction of ``step``, and the row's end."""
    begin, end, sought = firsts[u], firsts[u + 1], block if step > 0 else block + 1
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        if np.int64(blocks[middle]) < sought:
            low = middle + 1
        else:
            high = middle
    return (low, end) if step > 0 else (low - 1, begin - 1)


@njit(**INNER)
def _chain(segment, i, rows, segments, bitmaps, cursor, chain, head):
    """Put neighbour ``i`` of a vertex into the chain of the block of its segment."""
    place = segments[segment, 1]
    block = place >> BLOCK
    cursor[i], chain[i], head[block] = segment, head[block], i
    if place & BITMAP:
        prefetch(bitmaps[place & BITMAP], 0)
    else:
        prefetch(rows, segments[segment, 0])


@njit(**INNER)
def _count(block, step, rows, segments, bitmaps, cursor, chain, head, counters, high, group):
    """Add the segments of a block; return the words that may have changed, as bits."""
    changed, grouped, entries, i = np.uint64(0), 0, 0, np.int64(head[block])
    ends = LAST if step > 0 else FIRST
    head[block] = -1
    while i >= 0:
        after, segment = np.int64(chain[i]), cursor[i]
        begin, place, end = segments[segment, 0], segments[segment, 1], segments[segment + 1, 0]
        if place & BITMAP:
            group[grouped] = segment
            grouped += 1
            entries += end - begin
            if grouped == TOGETHER:
                _add_group(group, grouped, segments, bitmaps, counters, high)
                changed, grouped, entries = ~np.uint64(0), 0, 0
        else:
            changed |= add_list(counters, rows, begin, end)
        if not place & ends:
            _chain(segment + step, i, rows, segments, bitmaps, cursor, chain, head)
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
    block, v, changed, counters, high, need, measure, degree, widths, word_widths, order, best, values, row, filled
):
    """Put the vertices of a block that were counted into a row's list, and clear their counters.

    Returns:
        Vertices in the list, and the last number of common neighbours that was needed.
    """
    k, n = best.shape[1], len(order)
    for begin in range(0, WORDS, STRIP):
        strip, first = changed >> np.uint64(begin) & np.uint64((1 << STRIP) - 1), (block << SHIFT) + (begin << 6)
        if strip == 0 or first >= n:
            continue
        if filled == k:
            need = _needed(measure, need, degree, np.int64(word_widths[first >> 6]), values[row, k - 1])
        if need <= degree:
            compare(counters, high, need, begin, begin + STRIP)
            for word in range(begin, begin + STRIP):
                if counters[high, word]:
                    filled, need = _enter_word(
                        (block << SHIFT) + (word << 6), v, word, counters, high, need, measure, degree, widths,
                        word_widths, order, best, values, row, filled,
                    )  # fmt: skip
        for p in range(high):
            plane = counters[p]
            for word in range(begin, begin + STRIP):
                plane[word] = np.uint64(0)
    return filled, need


@njit(**INNER)
def _enter_word(
    first, v, word, counters, high, need, measure, degree, widths, word_widths, order, best, values, row, filled
):
    """Put the vertices of a word of counters, from place ``first`` on, into a row's list."""
    k, reached = best.shape[1], counters[high, word]
    if filled == k:
        least, width, next_width = values[row, k - 1], np.int64(word_widths[first >> 6]), word_widths[(first >> 6) + 1]
        need = _needed(measure, need, degree, width, least)
        above = need
        if width == next_width and order[first] > best[row, k - 1]:
            above += scaled(measure, np.float64(need), degree, width) == least  # equal ones have higher numbers
        reached = reaching(counters, high, above, word) if above <= degree else np.uint64(0)
    while reached:
        bit = np.int64(trailing_zeros(reached))
        reached &= reached - np.uint64(1)
        w, common = first + bit, counter(counters, high, word, bit)
        if w != v and common:
            value = scaled(measure, np.float64(common), degree, np.int64(widths[w]))
            filled = inserted(best, values, row, filled, np.int64(order[w]), value)
    return filled, need
