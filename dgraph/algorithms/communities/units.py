"""Integers for weights and resolution, in which the quality of a partition is exact.

Quality of labels: ``scale W - price Σ M(c)²``, with W the weight of arcs within communities and M(c) the mass of a
community. For modularity the mass of a vertex is the weight of its arcs, scale is their sum times d, and price is p,
for the resolution p/d. For the constant Potts model (CPM) the mass is a number of vertices and the scale is d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dgraph.errors import UsageError

WEIGHT_BITS, SUM_BITS = 31, 52
"""Bits of the largest weight, and of the sum of all weights, at most."""

FINEST = 1 << 20
"""Largest denominator of a resolution."""

LIMIT = 1 << 62
"""Bound of the factors of a gain."""


def integer_weights(costs: np.ndarray | None, arcs: int) -> tuple[np.ndarray, int]:
    """Return weights as int64, or int32 if each is 1, and the power of two by which they were multiplied.

    Args:
        costs: float64 weights, none negative; None: each is 1.
        arcs: their number. The exponent depends on the largest weight and on this number alone, so that no order of
            the edges changes it.
    """
    if costs is None or not costs.size:
        return np.ones(arcs, np.int32 if arcs < 1 << 30 else np.int64), 0
    shift = shift_of(float(costs.max()), not np.any(costs != np.rint(costs)), arcs)
    return np.rint(np.ldexp(costs, shift)).astype(np.int64), shift


def shift_of(largest: float, integers: bool, arcs: int) -> int:
    """Return the power of two that weights are multiplied by, before they are rounded."""
    room = SUM_BITS - (2 * arcs).bit_length()
    exponent = math.frexp(largest)[1]
    return 0 if integers and exponent <= room else min(WEIGHT_BITS, room) - exponent


@dataclass(frozen=True)
class Units:
    """Factors of the quality.

    Attributes:
        cpm: True for the constant Potts model.
        scale: factor of weights.
        price: factor of masses.
        whole: sum of the weights of all arcs, with loops twice.
        shift: weights were multiplied by this power of two.
        resolution: the resolution that these integers stand for.
    """

    cpm: bool
    scale: int
    price: int
    whole: int
    shift: int
    resolution: Fraction

    @classmethod
    def of(cls, cpm: bool, resolution: float, whole: int, shift: int, n: int) -> Units:
        """Return the factors for a graph.

        Raises:
            UsageError: the resolution is too large for 128-bit gains.
        """
        power = Fraction(2) ** shift if cpm else Fraction(1)
        mass = max(n if cpm else whole, 1)
        wanted = Fraction(resolution) * power
        finest = min(FINEST, LIMIT // (mass * max(math.ceil(wanted), 1)))
        if finest < 1:
            raise UsageError(
                f"resolution {resolution} is too large for a graph of {n:,} vertices: every vertex would be a "
                "community of its own; give a smaller one"
            )
        ratio = wanted.limit_denominator(finest)
        scale = ratio.denominator * (1 if cpm else max(whole, 1))
        return cls(cpm, scale, ratio.numerator, whole, shift, ratio / power)

    def kind(self, n: int) -> type[np.integer]:
        """Return the type of weights and their sums: int32 where twice the sum of all has 31 bits, and a gain 62.

        Args:
            n: vertices of the graph.
        """
        mass = n if self.cpm else self.whole
        return np.int32 if max(self.whole << 32, self.scale * self.whole, self.price * mass**2) < LIMIT else np.int64

    def quality(self, inner: int, masses: np.ndarray) -> int:
        """Return the exact quality of communities.

        Args:
            inner: weight of arcs within communities, with loops twice.
            masses: mass of each community, int64, with a sum below 2^53.
        """
        return self.scale * inner - self.price * sum_of_squares(masses)

    def modularity(self, quality: int) -> float:
        """Return a quality as modularity."""
        return float(Fraction(quality, self.scale * self.whole)) if self.whole else 0.0

    def potts(self, quality: int) -> float:
        """Return a quality as NetworkX's constant Potts model."""
        return float(Fraction(quality, 2 * self.scale) / Fraction(2) ** self.shift)


def sum_of_squares(values: np.ndarray) -> int:
    """Return the exact sum of squares of int64 values ≥ 0 with a sum below 2^53."""
    high, low = values >> 26, values & (1 << 26) - 1
    squares = low * low
    least = int((squares & 0xFFFFFFFF).sum()) + (int((squares >> 32).sum()) << 32)
    return (int((high * high).sum()) << 52) + (int((high * low).sum()) << 27) + least
