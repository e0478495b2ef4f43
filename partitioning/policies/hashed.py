"""Owners computed from the gid alone: by a hash, or by a random permutation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partitioning.arrays.hashing import hash64
from partitioning.placement import LookUp, Placement
from partitioning.policy_register import policy


@dataclass(frozen=True)
class Hashed(LookUp):
    """Hash of the gid, scaled to ``parts``."""

    parts: int

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        """Return the parts that own these gids."""
        x = hash64(gids)
        return ((x >> np.uint64(32)) * np.uint64(self.parts) >> np.uint64(32)).astype(np.int32)


@dataclass(frozen=True)
class Shuffled(LookUp):
    """Equal shares of a pseudo-random permutation of 0 .. n-1."""

    n: int
    parts: int
    keys: np.ndarray

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        """Return the parts that own these gids."""
        from partitioning.arrays.kernels import permuted

        half = np.uint64(max(1, -(-(self.n - 1).bit_length() // 2)))
        place = permuted(np.asarray(gids), np.uint64(self.n), half, self.keys)
        return (place * self.parts // self.n).astype(np.int32) if self.n else place.astype(np.int32)


@policy("hash", "vertices by a hash of their gid, arcs at their source's owner")
def hashed(edges, parts, comm) -> Placement:
    """Place vertices by a hash of their gid."""
    return Placement("hash", "outgoing", parts, Hashed(parts))


@policy("random", "vertices in random order, equally many each; arcs at their source's owner")
def random(edges, parts, comm, *, seed: int = 1) -> Placement:
    """Place vertices by a random permutation of the gids, equally many a part."""
    keys = np.random.default_rng(abs(seed)).integers(0, 1 << 63, 6, dtype=np.uint64)
    return Placement("random", "outgoing", parts, Shuffled(edges.n, parts, keys))
