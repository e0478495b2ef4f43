"""What is exchanged: a function of the program, the direction and which way the local arcs are walked.

Nothing here asks for the partition policy. A mirror sends proposals only if arcs enter it, and hears values only if
arcs leave it (or if edges read the destination); which mirrors those are is told by their role (``graph/local.py``):
under oec no mirror is a row, so a push broadcasts nothing; under cvc a mirror is a row only along its grid row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dgraph.program import Traced
from dgraph.program.program import BUILTINS


class Refresh(NamedTuple):
    """Values that masters send to mirrors of a role; ``joins``: and which of them are active, so that these join the
    frontier."""

    fields: tuple[str, ...]
    role: str
    joins: bool


@dataclass(frozen=True)
class SyncPlan:
    """Fields and roles of one direction. A role is ``row``, ``column``, ``any`` or ``none``.

    Attributes:
        reduce: fields whose proposals mirrors send; ``reduce_role``: the mirrors that edges enter.
        broadcast: fields that masters send when they changed; ``broadcast_role``: the mirrors that hear.
        refresh: what mirrors must hold when rounds in this direction begin: as sources of edges, and as ends.
        frontier: whether mirrors must hear which of them are active.
    """

    reduce: tuple[str, ...]
    reduce_role: str
    broadcast: tuple[str, ...]
    broadcast_role: str
    refresh: tuple[Refresh, ...]
    frontier: bool

    @property
    def message_fields(self) -> list[tuple[str, ...]]:
        """Fields of each message."""
        return [self.reduce, self.broadcast, *(told.fields for told in self.refresh)]


def plan(traced: Traced, direction: str, directed: bool, full: bool = False) -> SyncPlan:
    """The plan of a program's rounds in one direction.

    Args:
        direction: "push" or "pull".
        directed: whether the graph is; if not, a pull walks the outgoing arcs backwards, so roles change sides.
        full: no elision: every field to and from every mirror.
    """
    frontier = not traced.all
    if full:
        fields = tuple(traced.fields)
        return SyncPlan(traced.proposes, "any", fields, "any", (Refresh(fields, "any", frontier),), frontier)
    backwards = direction == "pull" and not directed
    source, target = ("column", "row") if backwards else ("row", "column")
    at_source, at_target = traced.reads_u - set(BUILTINS), traced.reads_v - set(BUILTINS)
    by_cond = traced.cond_reads - set(BUILTINS) - set(traced.proposes)
    ends = at_target | by_cond
    refresh = [Refresh(tuple(sorted(at_source)), source, frontier)] * bool(at_source or frontier)
    refresh += [Refresh(tuple(sorted(ends)), target, False)] * bool(ends)
    changing = set(traced.proposes) | set(traced.apply or ())
    told = _join(source if at_source & changing or frontier else "none", target if at_target & changing else "none")
    return SyncPlan(
        reduce=traced.proposes,
        reduce_role=target,
        broadcast=tuple(sorted((at_source | at_target) & changing)),
        broadcast_role=told,
        refresh=tuple(refresh),
        frontier=frontier,
    )


def _join(a: str, b: str) -> str:
    """The role of mirrors that have either."""
    if "none" in (a, b):
        return a if b == "none" else b
    return a if a == b else "any"
