"""Answers of counting triangles: those at each master, and the share of its pairs of neighbours that are joined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dgraph.engine.rounds.context import Context


@dataclass(frozen=True)
class HostCounts:
    """Counts in host memory.

    Attributes:
        counts: triangles at each master, int64.
        corners: their sum.
        degrees: counts the distinct neighbours of each master.
    """

    ctx: Context
    counts: np.ndarray
    corners: int
    degrees: Callable[[], np.ndarray]

    def triangles(self) -> tuple[np.ndarray, int]:
        """Return the triangles and their sum."""
        return self.counts, self.ctx.total(self.corners)

    def shares(self) -> tuple[np.ndarray, float]:
        """Return the shares and their sum."""
        return joined_shares(self.ctx, 2.0 * self.counts, self.degrees())


def joined_shares(ctx: Context, joined: np.ndarray, degrees: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the share of ordered pairs of neighbours that are joined, 0 without a pair, and its sum; collective."""
    pairs = degrees * (degrees - 1)
    shares = np.divide(joined, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    return shares, ctx.total(float(shares.sum()))
