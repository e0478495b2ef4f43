"""Row reducers: folds over all in-edges of a vertex that no monoid can express: MODE, BEST, MEX and HINDEX.

A vertex with an active in-neighbour folds the keys of *all* its in-edges anew. Parts of a row cannot be combined, so
all in-edges of a vertex lie on one rank, and rounds pull.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEFT_OUT = 2**63 - 1
"""Key of an edge that does not count: ``INF`` in an expression."""


@dataclass(frozen=True)
class RowReducer:
    """Fold of the int64 keys of all in-edges of a vertex into one int64; edges whose key is ``INF`` are left out.

    Use the instances :data:`MODE`, :data:`BEST`, :data:`MEX` and :data:`HINDEX`.

    Attributes:
        name: "mode", "best", "mex" or "hindex".
        nothing: result for no keys.
        waits: True if a negative key says that the vertex is not ready: it then gets no proposal in this round.
        sums: True if each key comes with a value, which ``edge`` proposes for another field, int64 with ``ADD``.
    """

    name: str
    nothing: int
    waits: bool = False
    sums: bool = False
    idempotent = False

    def identity(self, dtype: np.dtype | str) -> int:
        """Return the result for a vertex without keys."""
        return self.nothing

    def __repr__(self) -> str:
        return self.name.upper()


MODE = RowReducer("mode", LEFT_OUT)
"""Most frequent key, the smallest of equally frequent ones; INF without keys."""

BEST = RowReducer("best", LEFT_OUT, sums=True)
"""Key with the largest sum of values, the smallest of keys with equal sums; INF without keys.

The second field gets that sum, or 0 without keys. Sums are exact in int64, and wrap beyond it."""

MEX = RowReducer("mex", 0, waits=True)
"""Smallest integer ≥ 0 that is not among the keys; a negative key postpones the vertex."""

HINDEX = RowReducer("hindex", 0)
"""Largest h such that h keys are at least h."""
