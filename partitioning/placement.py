"""Placement: who owns a vertex, who holds an arc. What every policy returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

CUTS = ("outgoing", "incoming", "vertex")
ASKED = "asked for"


class PolicyError(ValueError):
    """A policy that is unknown, or that cannot place this graph: what was got, why it cannot be, what to do.

    Raised on every rank alike.
    """


@dataclass(frozen=True)
class Placement:
    """Two pure look-ups; any rank may ask about any vertex or arc, without communication.

    Attributes:
        policy: name of the policy taken, with its options; ``auto`` gives the name of the one it chose.
        cut: ``outgoing``, every arc lies at its source's owner; ``incoming``, at its target's; ``vertex``, elsewhere.
        parts: how many parts there are; they are numbered from 0.
        owner: gids (any integer dtype, shape (k,)) to parts, int32 (k,).
        holder: source gids and target gids, both shape (k,), to parts, int32 (k,). Belongs to ``vertex`` only.
        reason: why, in one sentence.
        warning: what a user should know before he takes the answer's speed for granted; empty if nothing.
    """

    policy: str
    cut: str
    parts: int
    owner: Callable[[np.ndarray], np.ndarray]
    holder: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    reason: str = ASKED
    warning: str = ""

    def __post_init__(self):
        if self.cut not in CUTS:
            raise ValueError(f"policy {self.policy!r}: unknown cut {self.cut!r}; known are {', '.join(CUTS)}")
        if (self.cut == "vertex") == (self.holder is None):
            raise ValueError(f"policy {self.policy!r}: a holder belongs to cut 'vertex', and to no other")

    def because(self, reason: str, warning: str = "") -> Placement:
        """The same, for a reason other than that it was asked for."""
        return replace(self, reason=reason + self.reason.removeprefix(ASKED), warning=warning)

    def edge_owner(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """The parts that hold these arcs, int32 (k,)."""
        if self.holder is not None:
            return self.holder(src, dst)
        return self.owner(src if self.cut == "outgoing" else dst)
