"""Colours that 003's variants come to, from what they say: random numbers in plain Python, rounds by the oracle."""

import numpy as np
import oracles

WORD = 2**64


def random_numbers(ids, state):
    """SplitMix64's output ``state`` after each id, less its last bit."""
    found = []
    for x in ids:
        z = (x + 0x9E3779B97F4A7C15 * state) % WORD
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
        z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
        found.append((z ^ z >> 31) >> 1)
    return found


def by_hand(n, src, dst, variant, ids, *, state=1, over=None):
    """int64 by vertex, of ``ids``; ``over`` ends the rounds by degree."""
    ids, degree = ids.tolist(), np.bincount(src, minlength=n)
    keys = list(zip(random_numbers(ids, state), ids, strict=True))
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
