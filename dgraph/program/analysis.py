"""What a program's texts allow ranks to do before they have heard from each other."""

from __future__ import annotations

from dgraph.program import ADD, Traced
from dgraph.program.expression_tree import Expr


def ends_when_quiet(t: Traced) -> bool:
    """Whether a program goes on for as long as any vertex is active: then a rank may begin a round before it knows what
    the others' last one came to.

    True where ``step`` changes no global and tells the end from the round's number and ``active == 0`` alone, and no
    other text asks how many are active.
    """
    step, asks = t.step or {}, "active" in _read_fields(t)
    return not t.all and not t.globals and not asks and set(step) <= {"done"} and all(map(_quiet, step.values()))


def runs_locally(t: Traced) -> bool:
    """Whether a rank may run several rounds before it exchanges: proposals only improve a value, whenever they come."""
    improves = all(t.fields[k].reduce.idempotent for k in t.proposes)  # type: ignore[union-attr]
    return improves and t.flagged and not (t.apply or t.step or t.globals or _read_fields(t))


def in_any_order(t: Traced) -> bool:
    """Whether proposals of edges and of messages may come as they are found: the order of sums does not show."""
    fields = [t.fields[k] for k in t.proposes]
    return all(field.reduce.idempotent or field.dtype == "int64" for field in fields)  # type: ignore[union-attr]


def sums_sources(t: Traced) -> bool:
    """Whether every vertex adds up one number of floats that is read of sources alone, over all of its edges."""
    plain = t.all and len(t.proposes) == 1 and t.cond is None and not (t.weighted or t.smallest)
    ends = frozenset().union(*(x.loads(handle) for x in t.edge.values() for handle in "ev"))
    field = t.fields[t.proposes[0]] if plain else None
    return bool(plain and not ends and field and field.reduce is ADD and field.dtype.startswith("float"))


def proposes_source(t: Traced) -> bool:
    """Whether all that ranks must hear of a round is who is new: a vertex takes one proposal, the same from each of its
    neighbours over every edge, and nothing is summed."""
    ends = frozenset().union(*(x.loads(handle) for x in t.edge.values() for handle in "uev"))
    return t.once and not (ends or t.sums or t.priority or t.live)


def _read_fields(t: Traced) -> frozenset[str]:
    """Globals and built-ins that texts of a round read."""
    texts = [*t.edge.values(), *(t.apply or {}).values(), t.cond, t.priority, t.live]
    return frozenset().union(*(x.loads("g") for x in texts if x is not None))


def _quiet(x: Expr) -> bool:
    if x.op == "==" and any(_active(a) and b.op == "const" and b.args == (0,) for a, b in (x.args, x.args[::-1])):
        return True
    return not _active(x) and all(_quiet(arg) for arg in x.args if isinstance(arg, Expr))


def _active(x: Expr) -> bool:
    return x.op == "load" and x.args == ("g", "active")
