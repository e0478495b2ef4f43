"""The Cartesian vertex-cut: parts form a grid; an arc is in its source owner's row and its target owner's column.

So a vertex has mirrors only in one row (for its out-edges) and one column (for its in-edges). Boman, Devine,
Rajamanickam, Scalable matrix computations on large scale-free graphs using 2D graph partitioning, SC 2013; as in CuSP:
Hoang et al., IPDPS 2019.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partitioning.placement import ASKED, LookUp, Placement
from partitioning.policies.edge_cut import Blocks, bounds_by_out_arcs
from partitioning.policy_register import policy


def grid(size: int) -> tuple[int, int]:
    """Return rows and columns of the most square grid, rows ≤ columns; part p is at ``divmod(p, columns)``."""
    rows = next(r for r in range(math.isqrt(size), 0, -1) if size % r == 0)
    return rows, size // rows


@dataclass(frozen=True)
class GridHolder(LookUp):
    """Part at the row of the source's owner and the column of the target's."""

    owner: Blocks
    columns: int

    def __call__(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the parts that hold these arcs."""
        row = self.owner(src) // self.columns
        return row * self.columns + self.owner(dst) % self.columns


@policy("cvc", "Cartesian vertex-cut: a grid of parts; an arc in its source's row and its target's column")
def cvc(edges, parts, comm) -> Placement:
    """Place arcs on a grid of parts; owners are blocks as in oec; collective."""
    rows, columns = grid(parts)
    owner = Blocks(bounds_by_out_arcs(edges, parts, comm))
    if rows == 1:
        reason = f"{ASKED}; {parts} is prime, so the grid is 1 × {columns}: every arc at its target's owner"
        return Placement("cvc", "incoming", parts, owner, reason=reason)
    reason = f"{ASKED}; grid {rows} × {columns}"
    return Placement("cvc", "vertex", parts, owner, GridHolder(owner, columns), reason)
