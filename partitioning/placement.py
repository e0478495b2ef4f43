"""Placement: who owns a vertex, who holds an arc. What every policy returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

CUTS = ("outgoing", "incoming", "vertex")
ASKED = "asked for"


class PolicyError(ValueError):
    """A policy that is unknown, or that cannot place this graph: what was got, why it cannot be, what to do.

    Raised on every rank alike.
    """


class LookUp:
    """A look-up that takes gids of any integer dtype, and gives parts that exist, int32; all of this package's do."""


class Checked(LookUp):
    """A look-up of any other kind, such as a user's: it gets int64 gids, whatever the graph's, and is checked.

    Raises, where it is called:
        PolicyError: the look-up gives something other than one part for each vertex or arc.
    """

    def __init__(self, of: Callable[..., np.ndarray], policy: str, parts: int):
        self.of, self.policy, self.parts = of, policy, parts

    def __call__(self, *gids: np.ndarray) -> np.ndarray:
        wide = [np.asarray(each).astype(np.int64, copy=False) for each in gids]
        found, what = np.asarray(self.of(*wide)), "an arc" if len(wide) == 2 else "a vertex"
        if found.shape != wide[0].shape or found.dtype.kind not in "iu":
            raise PolicyError(
                f"policy {self.policy!r} gives {found.dtype} of shape {found.shape} for {len(wide[0])} gids; "
                f"give an integer for each, the part that has {what}"
            )
        wrong = np.flatnonzero((found < 0) | (found >= self.parts))
        if wrong.size:
            which = " → ".join(str(each[wrong[0]]) for each in wide)
            raise PolicyError(
                f"policy {self.policy!r} gives {what}, {which}, to part {found[wrong[0]]}, but parts are "
                f"0 .. {self.parts - 1}: correct the policy"
            )
        return found.astype(np.int32, copy=False)


@dataclass(frozen=True)
class Placement:
    """Two pure look-ups; any rank may ask about any vertex or arc, without communication.

    Whoever asks may have gids of any integer dtype. A look-up that is not a :class:`LookUp` of this package is wrapped
    (:class:`Checked`): it gets int64 arrays.

    Attributes:
        policy: name of the policy taken, with its options; ``auto`` gives the name of the one it chose.
        cut: ``outgoing``, every arc lies at its source's owner; ``incoming``, at its target's; ``vertex``, elsewhere.
        parts: how many parts there are; they are numbered from 0.
        owner: gids, int64 (k,), to parts, integers (k,).
        holder: source gids and target gids, both int64 (k,), to parts, integers (k,). Belongs to ``vertex`` only.
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
        for name in ("owner", "holder"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, LookUp):
                object.__setattr__(self, name, Checked(given, self.policy, self.parts))

    def because(self, reason: str, warning: str = "") -> Placement:
        """The same, for a reason other than that it was asked for."""
        return replace(self, reason=reason + self.reason.removeprefix(ASKED), warning=warning)

    def edge_owner(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """The parts that hold these arcs, int32 (k,)."""
        if self.holder is not None:
            return self.holder(src, dst)
        return self.owner(src if self.cut == "outgoing" else dst)


@contextmanager
def agreed(comm: Any) -> Iterator[None]:
    """Local work in which a look-up may be refused on some ranks: then all ranks raise the first one's PolicyError.

    The block must not communicate.
    """
    refused = ""
    try:
        yield
    except PolicyError as wrong:
        refused = str(wrong)
    told = [text for text in comm.allgather_json(refused) if text]
    if told:
        raise PolicyError(told[0])
