"""Sync plan: the fields and mirrors of each exchange, derived from the program and the direction alone.

The partition policy is not consulted. A mirror sends proposals only if arcs enter it, and receives values only if arcs
leave it, or if edges read their destination. The role of a mirror (``graph/local.py``) records which of these holds.
Under oec no mirror is a row, so a push broadcasts nothing; under cvc a mirror is a row only along its grid row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dgraph.program import Traced
from dgraph.program.program import BUILTINS


class Refresh(NamedTuple):
    """Fields that masters send to the mirrors of a role.

    Attributes:
        fields: names.
        role: role of the mirrors.
        joins: True if active masters are marked, and their mirrors join the frontier.
    """

    fields: tuple[str, ...]
    role: str
    joins: bool


@dataclass(frozen=True)
class SyncPlan:
    """Fields and roles of one direction. A role is ``row``, ``column``, ``any`` or ``none``.

    Attributes:
        reduce: fields whose proposals mirrors send.
        reduce_role: role of the mirrors that edges enter.
        broadcast: fields that masters send after they changed.
        broadcast_role: role of the mirrors that receive them.
        refresh: fields that mirrors must hold when rounds in this direction start, as sources and as destinations.
        frontier: True if mirrors must know which of them are active.
    """

    reduce: tuple[str, ...]
    reduce_role: str
    broadcast: tuple[str, ...]
    broadcast_role: str
    refresh: tuple[Refresh, ...]
    frontier: bool

    @property
    def message_fields(self) -> list[tuple[str, ...]]:
        """Fields of each kind of message."""
        return [self.reduce, self.broadcast, *(refresh.fields for refresh in self.refresh)]


def plan(traced: Traced, direction: str, directed: bool, full: bool = False) -> SyncPlan:
    """Make the plan of a program's rounds in one direction.

    Args:
        traced: the program.
        direction: "push" or "pull".
        directed: True if the graph is; otherwise a pull scans out-edges as in-edges, which swaps the roles.
        full: no elision: every field is sent to and from every mirror.
    """
    frontier, reduce = not traced.all, () if traced.row_reducer else traced.proposes
    if full:
        fields = tuple(traced.fields)
        return SyncPlan(
            reduce, "any" if reduce else "none", fields, "any", (Refresh(fields, "any", frontier),), frontier
        )
    backwards = direction == "pull" and not directed
    source, target = ("column", "row") if backwards else ("row", "column")
    at_source, at_target = traced.reads_u - set(BUILTINS), traced.reads_v - set(BUILTINS)
    by_cond = traced.cond_reads - set(BUILTINS) - set(traced.proposes)
    ends = at_target | by_cond
    refresh = [Refresh(tuple(sorted(at_source)), source, frontier)] * bool(at_source or frontier)
    refresh += [Refresh(tuple(sorted(ends)), target, False)] * bool(ends)
    changing = set(traced.proposes) | set(traced.apply or ())
    role = _join(source if at_source & changing or frontier else "none", target if at_target & changing else "none")
    return SyncPlan(
        reduce=reduce,
        reduce_role=target if reduce else "none",
        broadcast=tuple(sorted((at_source | at_target) & changing)),
        broadcast_role=role,
        refresh=tuple(refresh),
        frontier=frontier,
    )


def _join(a: str, b: str) -> str:
    """Return the role of the mirrors that have role ``a`` or ``b``."""
    if "none" in (a, b):
        return a if b == "none" else b
    return a if a == b else "any"
