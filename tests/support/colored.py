"""Colours of the variants of paper 003 (Che et al.): random numbers in plain Python, rounds by the oracle."""

import numpy as np
import oracles

WORD = 2**64


def splitmix(x, seed):
    """Return SplitMix64's output number ``seed`` + 1 after state ``x``, as a signed integer."""
    z = (x + 0x9E3779B97F4A7C15 * (seed + 1)) % WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    z ^= z >> 31
    return z - WORD * (z >> 63)


def by_hand(n, src, dst, variant, ids, *, state=1, over=None):
    """Return colours (n,) int64 of vertices ``ids``; ``over`` ends the rounds by degree."""
    keys, degree = [splitmix(x, state) for x in ids.tolist()], np.bincount(src, minlength=n)
    random = np.empty(n, np.int64)
    random[sorted(range(n), key=keys.__getitem__)] = np.arange(n)

    def never(turn, colored):
        return False

    def few(turn, colored):
        return colored < n // 1024

    phases = {
        "jones-plassmann": [(random, never)],
        "degree": [(degree * n + random, never)],
        "hybrid": [(degree, over or few), (random, never)],
    }[variant]
    return oracles.coloring(n, src, dst, phases)
