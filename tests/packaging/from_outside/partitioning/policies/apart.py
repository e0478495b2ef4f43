"""Owners by the remainder of the gid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partitioning.placement import LookUp, Placement
from partitioning.policy_register import policy


@dataclass(frozen=True)
class Remainder(LookUp):
    """Remainder of the gid, divided by ``parts``."""

    parts: int

    def __call__(self, gids: np.ndarray) -> np.ndarray:
        """Return the parts that own these gids."""
        return (np.asarray(gids) % self.parts).astype(np.int32)


@policy("apart", "vertex v on rank v mod P, arcs at their source's owner")
def apart(edges, parts, comm) -> Placement:
    """Place vertices by the remainder of their gid."""
    return Placement("apart", "outgoing", parts, Remainder(parts))
