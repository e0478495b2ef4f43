"""Serial compiled loops over vertices and arcs."""

from __future__ import annotations

import numpy as np

from partitioning.arrays.lazy_numba import njit


@njit(cache=True)
def order(owners, starts, positions):
    """Write positions grouped by owner, stably; ``starts`` counts entries of smaller owners, and is overwritten."""
    for i in range(owners.size):
        positions[starts[owners[i]]] = i
        starts[owners[i]] += 1


@njit(cache=True)
def count(targets, first, sums):
    """Add to ``sums[v - first + 1]`` the number of occurrences of v in ``targets``."""
    for i in range(targets.size):
        sums[np.int64(targets[i]) - first + 1] += 1


@njit(cache=True)
def place(sources, targets, first, cursor, entries):
    """Store each source in its target's row at ``cursor``, which advances."""
    for i in range(targets.size):
        row = np.int64(targets[i]) - first
        entries[cursor[row]] = sources[i]
        cursor[row] += 1


@njit(cache=True)
def permuted(gids, n, half, keys):
    """Return each gid's position in a pseudo-random permutation of 0 .. n-1.

    A Feistel network over ``2 half`` bits with cycle walking: repeated until the result is below n (Black, Rogaway,
    CT-RSA 2002).
    """
    mask = (np.uint64(1) << half) - np.uint64(1)
    numbers = np.empty(gids.size, np.int64)
    for i in range(gids.size):
        x = np.uint64(gids[i])
        while True:
            left, right = x >> half, x & mask
            for key in keys:
                z = (right + key) * np.uint64(0xBF58476D1CE4E5B9)
                z = (z ^ (z >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
                left, right = right, left ^ ((z ^ (z >> np.uint64(32))) & mask)
            x = (left << half) | right
            if x < n:
                break
        numbers[i] = x
    return numbers


@njit(cache=True)
def mark(bits, low, src, dst, of_src, of_dst, holder):
    """Set the bits of mirrors on parts ``low …``: ``bits[0]`` if an arc leaves them, ``bits[1]`` if one enters them."""
    one, within, word = np.uint64(1), np.uint64(63), np.uint64(6)
    for i in range(holder.size):
        p = holder[i] - low
        if 0 <= p < bits.shape[1]:
            if of_src[i] != holder[i]:
                v = np.uint64(src[i])
                bits[0, p, v >> word] |= one << (v & within)
            if of_dst[i] != holder[i]:
                v = np.uint64(dst[i])
                bits[1, p, v >> word] |= one << (v & within)


@njit(cache=True)
def ones(words):
    """Return the number of bits set in an array of 64-bit words."""
    total = 0
    for word in words:
        total += bits_set(word)
    return total


@njit(cache=True)
def bits_set(word):
    """Return the number of bits set in a 64-bit word; LLVM compiles it to a population count instruction."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
