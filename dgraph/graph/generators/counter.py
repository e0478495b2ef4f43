"""Counter-based random numbers: draw k of item i is output ``64 i + k`` of a splitmix64 sequence.

So an edge is a pure function of its index and the seed, on any rank. A sequence does not repeat below ``MAX_ITEMS``
items. Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

import numpy as np

from dgraph._support.compiled import njit

MAX_ITEMS = 1 << 58
"""Items that one sequence can number."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SCRAMBLE_ROUNDS = 3


@njit(no_cpython_wrapper=True, forceinline=True)
def mix(x):
    """Map 64 bits bijectively; every output bit depends on every input bit (splitmix64's finaliser)."""
    x = np.uint64(x)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(no_cpython_wrapper=True, forceinline=True)
def draw(key, number, k):
    """Return 64 random bits: draw ``k`` < 64 of ``number`` in the sequence of ``key``."""
    return mix(key + (np.uint64(number) * np.uint64(64) + np.uint64(k)) * _GOLDEN)


@njit(no_cpython_wrapper=True, forceinline=True)
def fraction(bits):
    """Convert 64 random bits to a float64 in [0, 1)."""
    return np.float64(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def key(seed: int, purpose: int) -> np.uint64:
    """Return the start of the sequence of ``seed`` for one purpose; purposes are independent of each other."""
    mixed = mix_int(mix_int(seed) + purpose)
    return np.uint64(mixed)


def scramble_keys(seed: int, purpose: int) -> np.ndarray:
    """Return the keys of :func:`scramble`: uint64, an odd factor and a summand for each round."""
    start = int(key(seed, purpose))
    keys = [mix_int(start + i) for i in range(2 * _SCRAMBLE_ROUNDS)]
    return np.array([k | 1 if i % 2 == 0 else k for i, k in enumerate(keys)], np.uint64)


@njit(no_cpython_wrapper=True, forceinline=True)
def scramble(x, bits, keys):
    """Permute [0, 2**bits) by ``keys``: each xor-shift, odd factor and sum is invertible."""
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    half = np.uint64((bits + 1) // 2)
    x = np.uint64(x)
    for i in range(_SCRAMBLE_ROUNDS):
        x ^= x >> half
        x = (x * keys[2 * i] + keys[2 * i + 1]) & mask
    return x ^ (x >> half)


def mix_int(x: int) -> int:
    """Return splitmix64's output after ``x``, in Python integers."""
    low = (1 << 64) - 1
    x = (x + int(_GOLDEN)) & low
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & low
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & low
    return x ^ (x >> 31)
