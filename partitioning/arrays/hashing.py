"""Hash of integers: the finaliser of SplitMix64 [Steele, Lea, Flood: Fast splittable generators, OOPSLA 2014]."""

from __future__ import annotations

import numpy as np


def hash64(values: np.ndarray) -> np.ndarray:
    """Return uint64 hashes of non-negative integers; a bijection of 64 bits."""
    x = values.astype(np.uint64)
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
