"""Checks of a traced program: what would make its result depend on the backend, the direction or the rank count."""

from __future__ import annotations

from difflib import get_close_matches
from types import FunctionType

from dgraph.errors import unknown
from dgraph.program.expression_tree import TraceError
from dgraph.program.monoids import ADD, MAX, MIN
from dgraph.program.program import BUILTINS, Program
from dgraph.program.row_reducers import HINDEX, RowReducer
from dgraph.program.traced import KINDS, Traced

OPERATORS = ("init", "edge", "cond", "apply", "priority", "live", "step")
"""Methods that rounds call."""


def check(t: Traced) -> None:
    """Raise a :class:`TraceError` for a program whose result depends on backend, rank count or direction."""
    name, program = type(t.program).__name__, t.program
    _check_names(program)
    if not t.edge:
        raise TraceError(f"{name}.edge proposes nothing; it returns a dict of field → value")
    for key in t.proposes:
        if key not in t.fields:
            raise unknown(f"field proposed by {name}.edge", key, t.fields)
        field = t.fields[key]
        if field.reduce is None:
            raise TraceError(f"{name}.edge proposes {key!r}, but the field has no reduce=; give it MIN, MAX, ADD or OR")
        if isinstance(field.reduce, RowReducer):
            _check_row_reducer(t, key)
            continue
        if not field.reduce.idempotent and key in t.reads_u | t.reads_v | t.cond_reads:
            raise TraceError(
                f"{name} reads {key!r} in edge or cond, but also adds to it: the order of edges would show; "
                "add to another field"
            )
        if field.reduce.name == "add" and field.dtype not in ("int64", "float32", "float64"):
            raise TraceError(f"{name}.{key} adds in {field.dtype}, which can overflow; use int64 (or a float)")
        if field.reduce.name == "or" and field.dtype[0] == "f":
            raise TraceError(f"{name}.{key} combines floats with OR; use bool or an integer dtype")
    if program.ceiling is not None:
        _check_ceiling(t, program.ceiling)
    forwarded = sorted(set(t.proposes) & t.reads_u)
    if forwarded and "round" in set().union(*(x.loads("g") for x in (t.step or {}).values())):
        raise TraceError(
            f"{name}.step reads g.round, but edge forwards {forwarded[0]!r}, which may cross several edges in one "
            "round: the answer would depend on direction and ranks. Count the edges in a field, or leave the limit to "
            "max_rounds"
        )
    for operator, expressions, allowed in (
        ("init", t.init, {*t.fields, *t.sums, "active"}),
        ("apply", t.apply or {}, {*t.fields, *t.sums, "active"}),
        ("step", t.step or {}, {*t.globals, "done", "whole"}),
    ):
        for key in expressions:
            if key not in allowed:
                raise unknown(f"name returned by {name}.{operator}", key, allowed)
    if "active" not in t.init and not t.all and "whole" not in (t.step or {}):
        raise TraceError(
            f"{name}.init does not say which vertices are active, so the first round would walk no edge and the answer "
            "would be the initial values; return active=… (True: every vertex), or set domain = ALL"
        )
    if t.apply is not None and not t.all and "active" not in t.apply:
        raise TraceError(f"{name}.apply does not say which vertices are active; return active=…")
    if program.sparse and not _stays(t):
        raise TraceError(
            f"{name} is sparse, but what its edges propose may change from round to round; see Program.sparse"
        )
    if t.priority is not None:
        _check_priority(t)
    if any(t.globals[k].dtype == "float64" for k in t.sums) and not t.all:
        raise TraceError(
            f"{name} sums floats over a changing set of vertices: the result would depend on their order; "
            "use domain = ALL"
        )
    if t.all and t.step is None:
        raise TraceError(f"{name} visits ALL vertices in every round, so only step can end it; write step(self, g)")
    if t.live is not None and t.apply is None:
        raise TraceError(f"{name}.live says which vertices apply visits, but there is no apply")
    if t.cond is not None and not _cond_holds(t):
        raise TraceError(
            f"{name}.cond reads a value that may change back; mirrors with old values would drop proposals that their "
            "master accepts. Set monotone = True if a vertex that stops accepting proposals never accepts one again"
        )
    unset = set(t.fields) - set(t.init) - {k for k, f in t.fields.items() if f.given or f.reduce}
    if unset:
        raise TraceError(f"{name}.init leaves {sorted(unset)[0]!r} without a value; return it, or declare given=True")
    for direction in program.directions:
        if direction not in ("push", "pull"):
            raise unknown(f"direction of {name}", direction, ("push", "pull"))


def _check_names(program: Program) -> None:
    """Refuse a method that nothing calls, if its name is close to that of an operator which the program lacks."""
    lacking = [operator for operator in OPERATORS if not program.has(operator)]
    for kind in type(program).__mro__[: type(program).__mro__.index(Program)]:
        own = [name for name, value in vars(kind).items() if isinstance(value, FunctionType)]
        for name in own:
            if name not in OPERATORS and not hasattr(Program, name) and (
                close := get_close_matches(name, lacking, 1, 0.75)
            ):  # fmt: skip
                raise TraceError(
                    f"{kind.__name__}.{name} is called by nothing: did you mean {close[0]}? Otherwise rename it"
                )


def _check_priority(t: Traced) -> None:
    """Raise a :class:`TraceError` for a program whose rounds cannot go by buckets."""
    name = type(t.program).__name__
    if t.once or t.all or t.live is not None or "whole" in (t.step or {}):
        raise TraceError(
            f"{name}: priority opens one bucket of changed vertices after the other; leave out cond == INF without "
            "apply, live, domain = ALL and whole"
        )
    if t.apply is None and not all(t.fields[key].reduce in (MIN, MAX) for key in t.proposes):
        raise TraceError(f"{name}: priority without apply goes with MIN and MAX fields; write apply(self, v, g)")


def _check_row_reducer(t: Traced, key: str) -> None:
    """Raise a :class:`TraceError` for a program whose row reducer cannot fold whole rows of old values."""
    name, program = type(t.program).__name__, t.program
    reducer = t.fields[key].reduce
    if reducer.sums:  # type: ignore[union-attr]
        _check_sums(t, key)
    elif len(t.proposes) > 1:
        others = ", ".join(other for other in t.proposes if other != key)
        raise TraceError(f"{name}.edge proposes {others} beside {key!r}, which {reducer!r} folds; propose one field")
    if program.directions != ("pull",):
        raise TraceError(f'{name}.{key}: {reducer!r} folds whole rows, as a pull sees them; set directions = ("pull",)')
    if t.apply is None or key in t.reads_u | t.reads_v | t.cond_reads:
        raise TraceError(
            f"{name}: edges and cond must not read {key!r}, which {reducer!r} folds; let apply(self, v) copy it to a "
            "field that they read"
        )
    if key in t.apply:
        raise TraceError(
            f"{name}.apply returns {key!r}, but {reducer!r} folds into it anew in each round and would lose the value; "
            "return it as another field, which has no reduce"
        )
    if next(iter(t.edge.values())).kind not in ("int", "bool", "inf"):
        raise TraceError(f"{name}.edge gives keys that are not integers for {key!r}; {reducer!r} compares integers")


def _check_sums(t: Traced, key: str) -> None:
    """Raise a :class:`TraceError` for a program that does not propose one value of int64 beside each key."""
    name, reducer = type(t.program).__name__, t.fields[key].reduce
    others = [other for other in t.proposes if other != key]
    if len(others) != 1:
        beside = f"{', '.join(others)} beside it" if others else "no value beside it"
        raise TraceError(
            f"{name}.edge proposes {key!r}, whose values {reducer!r} sums by key, and {beside}; propose the value for "
            'one more field, Field("int64", reduce=ADD)'
        )
    (other,) = others
    field = t.fields.get(other)
    if field is None:
        raise unknown(f"field proposed by {name}.edge", other, t.fields)
    if field.reduce is not ADD or field.dtype != "int64":
        raise TraceError(
            f"{name}.{other} has the values that {reducer!r} sums by key for {key!r}, and reduces {field.dtype} by "
            f'{field.reduce}; make it Field("int64", reduce=ADD)'
        )
    if t.edge[other].kind not in ("int", "bool"):
        raise TraceError(
            f"{name}.edge gives values that are not integers for {other!r}; {reducer!r} sums integers, since sums of "
            "floats depend on their order: scale them to integers"
        )


def _check_ceiling(t: Traced, ceiling: str) -> None:
    """Raise a :class:`TraceError` if ``ceiling`` does not name an integer field beside that of HINDEX."""
    name = type(t.program).__name__
    if ceiling not in t.fields:
        raise unknown(f"ceiling of {name}", ceiling, t.fields)
    if t.row_reducer is not HINDEX or ceiling in t.proposes or KINDS[t.fields[ceiling].dtype][0] != "int":
        raise TraceError(f"{name}.ceiling is {ceiling!r}; it names an integer field that bounds a field of HINDEX")


def _stays(t: Traced) -> bool:
    """Return True if an edge proposes the same value in every round."""
    changing = {*t.proposes, *(t.apply or {})}
    return not (changing & (t.reads_u | t.reads_v) or any(x.loads("g") for x in t.edge.values()))


def _cond_holds(t: Traced) -> bool:
    """Return True if ``cond`` is safe on stale mirrors: it can only turn from True to False.

    Either the author declares it (``monotone``), or it reads fields that only improve by an idempotent monoid.
    """
    if t.program.monotone:
        return True
    encode = set(t.apply or ())
    return all(
        key in BUILTINS or (key in t.proposes and key not in encode and t.fields[key].reduce.idempotent)  # type: ignore[union-attr]
        for key in t.cond_reads
    )
