"""Decision from counted violations: the first broken rule, with the violation of the smallest ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgraph.comm import Comm
from dgraph.validate.rule import Rule, printed

Place = int | tuple[int, int]
"""A gid, or an arc: (source, target), or both as 32 bits of one number."""

Found = tuple[int, Place]
"""Number of violations on this rank, and the place of the first."""

NOWHERE: Found = (0, -1)


@dataclass
class Violations:
    """Violations of one rule on this rank.

    Attributes:
        rule: the rule.
        violations: their number and the place of the first, a vertex ``v`` or an arc ``u → v``.
        values: returns values of the message by name, from ``u`` and ``v``; collective, both are None on ranks without
            a violation, and ``u`` is None at a vertex.
        arc: the place is an arc.
    """

    rule: Rule
    violations: Found
    values: Callable[[int | None, int | None], Mapping[str, np.generic]]
    arc: bool = False

    def place(self) -> tuple[int | None, int | None]:
        """Return ``u`` and ``v``."""
        count, place = self.violations
        if not count:
            return None, None
        if isinstance(place, tuple):
            return place
        return (place >> 32, place & (1 << 32) - 1) if self.arc else (None, place)


def _lowest(comm: Comm, u: int | None, v: int | None) -> int:
    """Return the rank of the smallest place; collective. ``v`` is None on ranks without a violation."""
    last = np.iinfo(np.int64).max
    place = [last, last] if v is None else [-1 if u is None else u, v]
    return min(range(comm.size), key=comm.allgather(np.array(place, np.int64)).tolist().__getitem__)


def decide(distributed: Any, *findings: Violations) -> None:
    """Raise for the first rule that is broken on any rank; collective.

    Raises:
        ValidationFailed: on every rank, with the same message.
    """
    totals = distributed.comm.allreduce(np.array([finding.violations[0] for finding in findings], np.int64))
    for finding, total in zip(findings, totals.tolist(), strict=True):
        if not total:
            continue
        u, v = finding.place()
        first = _lowest(distributed.comm, u, v)
        rule = finding.rule
        u, v = (u, v) if first == distributed.comm.rank else (None, None)
        values = finding.values(u, v)
        rule.count = total if first == distributed.comm.rank else 0
        rule.gids = {name: gid for name, gid in (("u", u), ("v", v)) if gid is not None}
        rule.values = {name: printed(value) for name, value in values.items()} if rule.count else {}
        distributed.judge(rule)
