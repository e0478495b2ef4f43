"""Counters of vertices of a block, in binary planes: bit i of a plane's word w belongs to vertex 64 w + i.

Seven bitmaps are added to all counters of a block at a time by carry-save adders [Harley–Seal; Muła, Kurz and Lemire
2018, "Faster Population Counts Using AVX2 Instructions"], some 45 operations a word in place of an addition for each of
their bits. A list of vertices is added one by one. All counters are compared with one number in an operation a plane.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INNER

SHIFT = 12
"""Logarithm of the vertices of a block; 64 words, of which a word can say which are not zero."""

WORDS = 1 << SHIFT - 6
"""Words of a plane, and of a bitmap."""

LOW = 3
"""Planes that an addition of 1 changes without a branch."""

TOGETHER = 7
"""Bitmaps that are added at a time."""


@njit(**INNER)
def add_bitmaps(planes, high, bitmaps, numbers):
    """Add seven bitmaps, by number, to counters of ``high`` planes, three or more; plane ``high`` is scratch."""
    a, b, c, d = bitmaps[numbers[0]], bitmaps[numbers[1]], bitmaps[numbers[2]], bitmaps[numbers[3]]
    e, f, g = bitmaps[numbers[4]], bitmaps[numbers[5]], bitmaps[numbers[6]]
    ones, twos, fours, carry = planes[0], planes[1], planes[2], planes[high]
    for i in range(WORDS):
        half = a[i] ^ b[i]
        one, carried = half ^ c[i], (a[i] & b[i]) | (half & c[i])
        half = d[i] ^ e[i]
        two, second = half ^ f[i], (d[i] & e[i]) | (half & f[i])
        half = one ^ two
        low, third = half ^ g[i], (one & two) | (half & g[i])
        half = carried ^ second
        middle, upper = half ^ third, (carried & second) | (half & third)
        total = ones[i]
        ones[i], into = total ^ low, total & low
        half = twos[i] ^ middle
        into, twos[i] = (twos[i] & middle) | (half & into), half ^ into
        half = fours[i] ^ upper
        carry[i], fours[i] = (fours[i] & upper) | (half & into), half ^ into
    for p in range(3, high):
        plane = planes[p]
        for i in range(WORDS):
            total = plane[i]
            plane[i], carry[i] = total ^ carry[i], total & carry[i]


@njit(**INNER)
def add_list(planes, vertices, begin, end):
    """Add 1 to the counters of ``vertices[begin:end]``, whose low bits are places in the block.

    Returns:
        The words of a plane that were changed, as bits.
    """
    changed, one = np.uint64(0), np.uint64(1)
    for j in range(begin, end):
        vertex = np.int64(vertices[j]) & ((1 << SHIFT) - 1)
        word, bit = vertex >> 6, one << np.uint64(vertex & 63)
        changed |= one << np.uint64(word)
        for p in range(LOW):
            total = planes[p, word]
            planes[p, word] = total ^ bit
            bit &= total
        p = LOW
        while bit:
            total = planes[p, word]
            planes[p, word] = total ^ bit
            bit &= total
            p += 1
    return changed


@njit(**INNER)
def compare(planes, high, least, begin, end):
    """Set the bits of plane ``high`` of the counters that are ``least``, a number of ``high`` bits, or more."""
    reached = planes[high]
    for i in range(begin, end):
        reached[i] = ~np.uint64(0)
    for p in range(high):
        plane = planes[p]
        if least >> p & 1:
            for i in range(begin, end):
                reached[i] &= plane[i]
        else:
            for i in range(begin, end):
                reached[i] |= plane[i]


@njit(**INNER)
def counter(planes, high, word, bit):
    """Return a counter."""
    count = np.int64(0)
    for p in range(high):
        count |= np.int64(planes[p, word] >> np.uint64(bit) & np.uint64(1)) << p
    return count


@njit(**INNER)
def reaching(planes, high, least, word):
    """Return the bits of the counters of one word that are ``least``, a number of ``high`` bits, or more."""
    reached = ~np.uint64(0)
    for p in range(high):
        if least >> p & 1:
            reached &= planes[p, word]
        else:
            reached |= planes[p, word]
    return reached
