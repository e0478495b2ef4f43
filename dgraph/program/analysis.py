"""Static analysis of a traced program: which optimisations preserve its result.

Backends ask these predicates before they run a round ahead of the allreduce, skip exchanges, or combine proposals
in arrival order.
"""

from __future__ import annotations

from dgraph.program import ADD, MAX, MIN, Traced
from dgraph.program.expression_tree import Expr
from dgraph.program.traced import KINDS


def ends_on_empty_frontier(t: Traced) -> bool:
    """Return True if a program runs until the frontier is empty, so a rank may start a round before the allreduce.

    ``step`` must write no global and compute ``done`` from the round number and ``active == 0`` alone. No other
    operator may read ``active``.
    """
    step, reads_active = t.step or {}, "active" in _read_fields(t)
    simple = not (t.all or t.globals or reads_active) and set(step) <= {"done"}
    return simple and all(map(_tests_emptiness, step.values()))


def one_round(t: Traced) -> bool:
    """Return True if ``step`` ends the program after its first round."""
    done = (t.step or {}).get("done")
    return done is not None and done.op == "const" and bool(done.args[0])


def runs_locally(t: Traced) -> bool:
    """Return True if a rank may run several rounds between exchanges: late proposals can only improve a value."""
    improves = all(t.fields[k].reduce.idempotent for k in t.proposes)  # type: ignore[union-attr]
    return improves and t.flagged and not (t.apply or t.step or t.globals or _read_fields(t))


def order_independent(t: Traced) -> bool:
    """Return True if proposals may be combined in arrival order: monoids are idempotent or sum integers."""
    fields = [t.fields[k] for k in t.proposes]
    return all(field.reduce.idempotent or field.dtype == "int64" for field in fields)  # type: ignore[union-attr]


def hands_on_edges(t: Traced) -> bool:
    """Return True if a vertex may append its out-edges to the next list as soon as a proposal improves it."""
    plain = not (t.all or t.row_reducer) and t.apply is None and t.priority is None
    return plain and len(t.proposes) == 1 and all(t.fields[k].reduce in (MIN, MAX) for k in t.proposes)


def falls_below_ceiling(t: Traced) -> bool:
    """Return True if a row needs a new fold only when a key falls below its ceiling, as for core numbers by estimates.

    The keys are sources' values of the field ``ceiling``, which are out-degrees or less at first. ``apply`` copies the
    folded value to it, and vertices are active if it fell; in the first round, all that edges leave.
    """
    ceiling = t.program.ceiling
    others = [operator is not None for operator in (t.cond, t.live, t.priority)]
    if ceiling is None or t.all or any(others) or "whole" in (t.step or {}):
        return False
    ((folded, key),), apply = t.edge.items(), t.apply or {}
    first = t.init.get(ceiling, t.init["active"])
    starts = "v.out_degree" in (_write_python(first), *map(_write_python, first.args if first.op == "min" else ()))
    starts &= _write_python(t.init["active"]) in ("True", "v.out_degree > 0")
    falls = _write_python(apply["active"]) in (f"v.{folded} < v.{ceiling}", f"v.{ceiling} > v.{folded}")
    copies = apply.keys() == {ceiling, "active"} and _write_python(apply[ceiling]) == f"v.{folded}"
    return starts and falls and copies and _write_python(key) == f"u.{ceiling}"


def sums_source_floats(t: Traced) -> bool:
    """Return True if every vertex sums one float per in-edge: a term of the source, or that times the edge's weight.

    PageRank does.
    """
    plain = t.all and len(t.proposes) == 1 and t.cond is None and not t.smallest
    field = t.fields[t.proposes[0]] if plain else None
    if field is None or field.reduce is not ADD or not field.dtype.startswith("float"):
        return False
    (term,) = t.edge.values()
    factors = term.args if term.op == "*" else (term,)
    of_sources = [x for x in factors if not (x.op == "load" and x.args[0] == "e")]
    return len(of_sources) == 1 and not (of_sources[0].loads("e") | of_sources[0].loads("v"))


def weighs_by_integers(t: Traced) -> bool:
    """Return True if every vertex sums terms of sources times integer weights of edges as floats."""
    return t.weighted and t.weight is not None and KINDS[t.weight][0] == "int" and sums_source_floats(t)


def sends_vertex_sets(t: Traced) -> bool:
    """Return True if messages need no values: the set of newly reached vertices says everything, as in BFS.

    A vertex accepts one proposal, and all proposals of a round are equal. No global is summed.
    """
    ends = frozenset().union(*(x.loads(handle) for x in t.edge.values() for handle in "uev"))
    return t.once and not (ends or t.sums or t.priority or t.live)


def _read_fields(t: Traced) -> frozenset[str]:
    """Return the globals and built-ins that the operators of a round read; ``init`` and ``step`` are left out."""
    texts = [*t.edge.values(), *(t.apply or {}).values(), t.cond, t.priority, t.live]
    return frozenset().union(*(x.loads("g") for x in texts if x is not None))


def _tests_emptiness(x: Expr) -> bool:
    """Return True if ``x`` reads ``active`` only in comparisons with 0."""
    if x.op == "==" and any(_active(a) and b.op == "const" and b.args == (0,) for a, b in (x.args, x.args[::-1])):
        return True
    return not _active(x) and all(_tests_emptiness(arg) for arg in x.args if isinstance(arg, Expr))


def _write_python(x: Expr) -> str:
    """Return a load, a constant or a comparison of these as Python has it; "" for another expression."""
    if x.op == "load":
        return ".".join(x.args)
    if x.op == "const":
        return repr(x.args[0])
    return f"{_write_python(x.args[0])} {x.op} {_write_python(x.args[1])}" if x.op in ("<", ">") else ""


def _active(x: Expr) -> bool:
    return x.op == "load" and x.args == ("g", "active")
