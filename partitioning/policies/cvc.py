"""The Cartesian vertex-cut: parts as a grid; an arc lies in the row of its source's owner and the column of its
target's. So a vertex has mirrors in one row (for the arcs that leave it) and one column (for those that enter it) only.

Boman, Devine, Rajamanickam, Scalable matrix computations on large scale-free graphs using 2D graph partitioning,
SC 2013; as in CuSP: Hoang et al., IPDPS 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partitioning.placement import ASKED, LookUp, Placement
from partitioning.policies.edge_cut import Blocks, bounds_by_out_arcs
from partitioning.policy_register import policy


def grid(size: int) -> tuple[int, int]:
    """Rows and columns of the most square grid, rows ≤ columns; part p stands at ``divmod(p, columns)``."""
    rows = next(r for r in range(math.isqrt(size), 0, -1) if size % r == 0)
    return rows, size // rows


@dataclass(frozen=True)
class Crossing(LookUp):
    """The part where the row of the source's owner meets the column of the target's."""

    owner: Blocks
    columns: int

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        row = self.owner(src) // self.columns
        return row * self.columns + self.owner(dst) % self.columns


@policy("cvc", "Cartesian vertex-cut: a grid of parts; an arc in its source's row and its target's column")
def cvc(edges, parts, comm) -> Placement:
    rows, columns = grid(parts)
    owner = Blocks(bounds_by_out_arcs(edges, parts, comm))
    if rows == 1:
        reason = f"{ASKED}; {parts} is prime, so the grid is 1 × {columns}: every arc at its target's owner"
        return Placement("cvc", "incoming", parts, owner, reason=reason)
    reason = f"{ASKED}; grid {rows} × {columns}"
    return Placement("cvc", "vertex", parts, owner, Crossing(owner, columns), reason)
