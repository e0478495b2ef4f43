"""Monoids that combine the proposals for one vertex: MIN, MAX, ADD and OR.

All are commutative and associative, so integer results do not depend on edge order, rank count or backend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Monoid:
    """Commutative, associative operation with an identity.

    Use the instances :data:`MIN`, :data:`MAX`, :data:`ADD` and :data:`OR`.

    Attributes:
        name: "min", "max", "add" or "or".
        idempotent: True if combining a value twice equals combining it once. Such values may be sent repeatedly.
    """

    name: str
    idempotent: bool

    def identity(self, dtype: np.dtype | str) -> int | float:
        """Return the neutral element of the operation in the range of ``dtype``.

        ADD and OR: 0. MIN: the largest value, or +inf. MAX: the smallest value, or -inf.
        """
        dtype = np.dtype(dtype)
        if self.name in ("add", "or"):
            return 0
        if dtype.kind == "f":
            return float("inf") if self.name == "min" else float("-inf")
        if dtype.kind == "b":
            return int(self.name == "min")
        return int(np.iinfo(dtype).max if self.name == "min" else np.iinfo(dtype).min)

    def __repr__(self) -> str:
        return self.name.upper()


MIN = Monoid("min", idempotent=True)
"""Smallest proposal."""

MAX = Monoid("max", idempotent=True)
"""Largest proposal."""

ADD = Monoid("add", idempotent=False)
"""Sum of all proposals, one per edge; int64, float32 or float64 fields."""

OR = Monoid("or", idempotent=True)
"""Bitwise or of all proposals; bool or integer fields."""
