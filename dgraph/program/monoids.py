"""How proposals to one vertex combine. The order of combining never shows: every monoid here is commutative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Monoid:
    """A commutative operation with an identity. ``idempotent``: combining a value twice changes nothing."""

    name: str
    idempotent: bool

    def identity(self, dtype: np.dtype | str) -> int | float:
        """The value that combining leaves alone, in the range of ``dtype``."""
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
MAX = Monoid("max", idempotent=True)
ADD = Monoid("add", idempotent=False)
OR = Monoid("or", idempotent=True)
