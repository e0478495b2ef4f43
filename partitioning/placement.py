"""``Placement``: the owner of each vertex and the holder of each arc, as functions. Every policy returns one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

CUTS = ("outgoing", "incoming", "vertex")
"""Kinds of placement: see :class:`Placement`."""
ASKED = "asked for"
"""Reason of a placement that the user chose."""


class PolicyError(ValueError):
    """Policy that is unknown, or that cannot place this graph: what was got, why it cannot be, what to do.

    Raised on every rank alike.
    """


class LookUp:
    """Function from gids of any integer dtype to existing parts, int32; all look-ups of this package are such."""


class Checked(LookUp):
    """Wrapper of any other look-up, such as a user's: passes int64 gids, and checks the result.

    Raises, when called:
        PolicyError: the look-up gives something other than one part for each vertex or arc.
    """

    def __init__(self, of: Callable[..., np.ndarray], policy: str, parts: int):
        self.of, self.policy, self.parts = of, policy, parts

    def __call__(self, *gids: np.ndarray) -> np.ndarray:
        """Return the checked parts, int32, of vertices or of arcs (sources, targets)."""
        wide = [np.asarray(array).astype(np.int64, copy=False) for array in gids]
        parts, what = np.asarray(self.of(*wide)), "an arc" if len(wide) == 2 else "a vertex"
        if parts.shape != wide[0].shape or parts.dtype.kind not in "iu":
            raise PolicyError(
                f"policy {self.policy!r} gives {parts.dtype} of shape {parts.shape} for {len(wide[0])} gids; "
                f"give an integer for each, the part that has {what}"
            )
        wrong = np.flatnonzero((parts < 0) | (parts >= self.parts))
        if wrong.size:
            which = " → ".join(str(numbers[wrong[0]]) for numbers in wide)
            raise PolicyError(
                f"policy {self.policy!r} gives {what}, {which}, to part {parts[wrong[0]]}, but parts are "
                f"0 .. {self.parts - 1}: correct the policy"
            )
        return parts.astype(np.int32, copy=False)


@dataclass(frozen=True)
class Placement:
    """Two pure functions that any rank may call for any vertex or arc, without communication.

    Callers may pass gids of any integer dtype. A look-up that is not a :class:`LookUp` of this package is wrapped in
    :class:`Checked`, and gets int64 arrays.

    Attributes:
        policy: name of the policy, with its options; for ``auto`` that of the policy chosen.
        cut: ``outgoing``, every arc is at its source's owner; ``incoming``, at its target's; ``vertex``, elsewhere.
        parts: number of parts, numbered from 0.
        owner: gids, int64 (k,), to parts, integers (k,).
        holder: source gids and target gids, both int64 (k,), to parts, integers (k,). Only for ``vertex``.
        reason: reason for this placement, in one sentence.
        warning: performance warning for the user; empty if there is none.
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
            function = getattr(self, name)
            if function is not None and not isinstance(function, LookUp):
                object.__setattr__(self, name, Checked(function, self.policy, self.parts))

    def because(self, reason: str, warning: str = "") -> Placement:
        """Return the same placement with another reason."""
        return replace(self, reason=reason + self.reason.removeprefix(ASKED), warning=warning)

    def edge_owner(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the parts that hold these arcs, int32 (k,)."""
        if self.holder is not None:
            return self.holder(src, dst)
        return self.owner(src if self.cut == "outgoing" else dst)


@contextmanager
def errors_on_all_ranks(comm: Any) -> Iterator[None]:
    """Run local work; if look-ups are refused on some ranks, raise the first one's PolicyError on all ranks.

    The block must not communicate.
    """
    refused = ""
    try:
        yield
    except PolicyError as wrong:
        refused = str(wrong)
    refusals = [text for text in comm.allgather_json(refused) if text]
    if refusals:
        raise PolicyError(refusals[0])
