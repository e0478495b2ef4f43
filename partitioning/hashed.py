"""Owners by a hash of the gid: no structure, even shares of the vertices, no knowledge needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partitioning.placement import Placement
from partitioning.register import policy


@dataclass(frozen=True)
class Hashed:
    """A well-mixed function of the gid, scaled to ``size`` ranks.

    The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    """

    size: int

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        x = gids.astype(np.uint64)
        x += np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
        return ((x >> np.uint64(32)) * np.uint64(self.size) >> np.uint64(32)).astype(np.int32)


@policy("hash", "vertices by a hash of their gid, arcs at their source's owner")
def hashed(edges, comm) -> Placement:
    return Placement("hash", "asked for", "outgoing", Hashed(comm.size))
