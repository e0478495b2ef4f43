"""Python functions in the place of the intrinsics of ``atomics.py`` and ``unchecked.py``, for one thread.

Interpreted rounds import them; ``plain_kernels.py`` runs kernels with them. ``BY_NAME`` has those for kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dgraph.graph.generators.counter import mix_int

INLINE: dict[str, Any] = {}
SPLICED: dict[str, Any] = {}
INNER: dict[str, Any] = {}
OPTIONS: dict[str, Any] = {}
LEAST, MOST = -(1 << 63), (1 << 63) - 1


def njit(**_: Any) -> Callable:
    """Return a decorator that changes nothing."""
    return lambda function: function


def offset(array, index):
    """Return ``array`` from entry ``index`` on, as one axis."""
    return array.reshape(-1)[index:]


def pointers(arrays):
    """Return the arrays."""
    return arrays


def load(array, index):
    """Return ``array[index]``."""
    return array[index]


load_acquire = load


def store(array, index, value):
    """Set ``array[index] = value``."""
    array[index] = value


def barrier(*_):
    """Do nothing: there is one thread, and interpreted code gains nothing from a prefetch."""


prefetch = prefetch_to_write = fence = begin = end = barrier


def fetch_add(array, index, value):
    """Add to a number; return the old value."""
    before = array[index]
    array[index] = before + value
    return before


def has_wide_gathers():
    """Return False: there are no vectors."""
    return False


def fetch_min(array, index, value):
    """Take the minimum; return the old value."""
    return swap(array, index, min(array[index], value))


def fetch_umax(array, index, value):
    """Take the maximum of unsigned integers; return the old value."""
    most = max(int(array[index]) % 2**64, int(value) % 2**64)
    return swap(array, index, np.uint64(most).astype(array.dtype))


def add_into(array, index, value, alone):
    """Add to a number; return the old value."""
    return fetch_add(array, index, value)


def or_into(array, index, bits, alone):
    """Or bits into an integer; return the old value."""
    return swap(array, index, array[index] | bits)


def replace_if_equal(array, index, old, new, alone):
    """Replace ``array[index]`` by ``new`` if it is ``old``; return True if replaced."""
    if array[index] != old:
        return False
    array[index] = new
    return True


def set_mark(flags, index, alone):
    """Set a flag; return True if it was clear."""
    return replace_if_equal(flags, index, 0, 1, alone)


def saturating_add(a, b):
    """Return a + b, saturated at the ends of int64."""
    return np.int64(max(LEAST, min(MOST, int(a) + int(b))))


def mixed(a, seed):
    """Return the SplitMix64 hash of ``a`` under ``seed``."""
    return np.int64(_mixed(a, seed))


def _mixed(a, seed):
    bits = mix_int(int(a) + 0x9E3779B97F4A7C15 * int(seed))
    return bits - (bits >> 63 << 64)


def bit_count(a):
    """Return the number of set bits of an int64."""
    return np.int64((int(a) & 0xFFFFFFFFFFFFFFFF).bit_count())


def saturating_subtract(a, b):
    """Return a - b, saturated at the ends of int64."""
    return np.int64(max(LEAST, min(MOST, int(a) - int(b))))


def trailing_zeros(word):
    """Return the index of the lowest set bit."""
    return (int(word) & -int(word)).bit_length() - 1


def swap(array, index, value):
    """Replace a number; return the old value."""
    before = array[index]
    array[index] = value
    return before


def gain(scale, weight, price, mass):
    """Return ``scale * weight - price * mass`` in two halves, as ``exact_gains.py`` does."""
    whole = int(scale) * int(weight) - int(price) * int(mass)
    return whole >> 64, whole & 0xFFFFFFFFFFFFFFFF


BY_NAME: dict[str, Callable] = {
    "add_into": add_into, "barrier": barrier, "bit_count": bit_count, "fetch_add": fetch_add, "gain": gain,
    "load": load, "load_acquire": load_acquire, "mixed": _mixed, "or_into": or_into, "pointers": pointers,
    "prefetch": prefetch, "replace_if_equal": replace_if_equal, "set_mark": set_mark, "store": store, "swap": swap,
}  # fmt: skip
"""Name in a kernel → function."""
