"""Synthetic weights: the weight of an edge is a pure function of its ends and a seed.

A rule is ``LO..HI`` (integers: uniform in [LO, HI]; with a decimal point or exponent in either: uniform float64 in [LO,
HI)), ``hash`` (1..255), ``unit`` (1), or ``dimacs``: distributed like the road lengths of DIMACS's 9th challenge.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from dgraph._support.compiled import njit, plain
from dgraph.errors import UsageError
from dgraph.graph.generators.counter import fraction, key, mix

_WEIGHT = 16
_HASH = (1, 255)
_UNIT = (1, 1)
_PER_MILLE = np.array([0, 1, 5, 26, 29, 64, 142, 218, 241, 155, 72, 33, 12, 2], np.int64)
"""Of 1,000 arcs of rome99.gr, the number of length 2**k .. 2**(k + 1) - 1, by k."""
OCTAVES = np.repeat(np.arange(_PER_MILLE.size), _PER_MILLE)
_NUMBER = r"[-+]?[0-9]{1,99}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"


class WeightRule(NamedTuple):
    """A parsed rule, for kernels that make the same weights on other devices.

    Attributes:
        kind: "integers" (``low + bits % width``), "reals" (``low + (high - low) * fraction``, at most ``below``) or
            "skewed" (an octave drawn from ``octaves``, and a number within it).
        dtype: of the weights.
        start: initial hash state, from the seed.
        low, high: bounds, int or float.
    """

    kind: str
    dtype: np.dtype
    start: int
    low: int | float = 0
    high: int | float = 0

    @property
    def below(self) -> float:
        """Largest float64 below ``high``."""
        return float(np.nextafter(self.high, self.low))


def read_rule(rule: str, seed: int) -> WeightRule:
    """Parse a rule of weights.

    Raises:
        UsageError: it is malformed.
    """
    start = int(key(seed, _WEIGHT))
    if rule == "dimacs":
        return WeightRule("skewed", np.dtype(np.int32), start)
    low, high = _bounds(rule)
    if isinstance(low, float):
        return WeightRule("reals", np.dtype(np.float64), start, low, high)
    narrow = low >= -(1 << 31) and high < 1 << 31
    return WeightRule("integers", np.dtype(np.int32 if narrow else np.int64), start, low, high)


CACHED = 1 << 14
"""Edges that NumPy weighs at a time: its arrays fit the cache of a core."""


def hashed_weights(src_gid: np.ndarray, dst_gid: np.ndarray, rule: str, seed: int, directed: bool) -> np.ndarray:
    """Return the weight of every edge ``src_gid[i] → dst_gid[i]``, of the unordered pair unless ``directed``.

    Integer rules give int32 if LO and HI fit, else int64; others float64. An edge from the smaller to the larger gid
    weighs the same in a directed and in an undirected graph.

    Raises:
        UsageError: the rule is malformed.
    """
    read = read_rule(rule, seed)
    start, weights = np.uint64(read.start), np.empty(len(src_gid), read.dtype)
    if read.kind == "skewed":
        _fill_skewed(src_gid, dst_gid, directed, start, OCTAVES, weights)
    elif read.kind == "reals":
        _fill_reals(src_gid, dst_gid, directed, start, read.low, read.high, read.below, weights)
    else:
        _fill_integers(src_gid, dst_gid, directed, start, read.low, np.uint64(read.high - read.low + 1), weights)
    return weights


def check_rule(rule: str) -> None:
    """Raise a UsageError if the rule is malformed, empty, or beyond the range of a weight."""
    if rule != "dimacs":
        _bounds(rule)


def _bounds(rule: str) -> tuple[int, int] | tuple[float, float]:
    if rule in ("unit", "hash"):
        return _UNIT if rule == "unit" else _HASH
    ends = re.fullmatch(rf"({_NUMBER})\.\.({_NUMBER})", rule)
    if not ends:
        raise UsageError(
            f"weights {rule!r}: not a rule; write unit, hash, dimacs, or LO..HI, such as 1..255 or 0.5..2.0; a "
            "column of weights is named by --columns SOURCE,TARGET,WEIGHT (columns=)"
        )
    whole = all(re.fullmatch("[-+]?[0-9]+", end) for end in ends.groups())
    low, high = (int(end) if whole else float(end) for end in ends.groups())
    if low > high:
        raise UsageError(f"weights {rule!r}: LO is above HI; write {ends[2]}..{ends[1]}")
    fits = max(-1 - low, high, high - low) < 1 << 63 if whole else math.isfinite(high - low)
    if not fits:
        raise UsageError(f"weights {rule!r}: the range does not fit 64 bits; bring LO and HI closer to 0")
    return low, high


@njit(no_cpython_wrapper=True, forceinline=True)
def _bits(u, v, directed, start):
    u, v = np.uint64(u), np.uint64(v)
    if not directed and u > v:
        u, v = v, u
    return _pair_bits(u, v, start)


@njit(no_cpython_wrapper=True, forceinline=True)
def _pair_bits(u, v, start):
    return mix(mix(start + u) + v)


def _fill_few_integers(src, dst, directed, start, low, width, weights):
    for begin in range(0, weights.size, CACHED):
        piece = slice(begin, min(begin + CACHED, weights.size))
        u, v = (ends[piece].astype(np.uint64) for ends in (src, dst))
        if not directed:
            u, v = np.minimum(u, v), np.maximum(u, v)
        weights[piece] = low + (plain(_pair_bits)(u, v, start) % width).astype(np.int64)


@njit(cache=True, few=_fill_few_integers, most=1 << 22)
def _fill_integers(src, dst, directed, start, low, width, weights):
    for i in range(weights.size):
        weights[i] = low + np.int64(_bits(src[i], dst[i], directed, start) % width)


@njit(cache=True)
def _fill_skewed(src, dst, directed, start, octaves, weights):
    """Draw an octave from ``octaves``, then a uniform number within it."""
    for i in range(weights.size):
        bits = _bits(src[i], dst[i], directed, start)
        octave = octaves[(bits >> np.uint64(32)) % np.uint64(octaves.size)]
        weights[i] = (1 << octave) + np.int64((bits & np.uint64(0xFFFFFFFF)) % np.uint64(1 << octave))


@njit(cache=True)
def _fill_reals(src, dst, directed, start, low, high, below, weights):
    for i in range(weights.size):
        # Rounding may reach HI.
        weights[i] = min(low + (high - low) * fraction(_bits(src[i], dst[i], directed, start)), below)
