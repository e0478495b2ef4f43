"""Tracing: run a program's operators once on symbolic handles and keep the resulting expressions.

:func:`trace` is the entry. It also refuses programs whose result would depend on the backend, the direction or the
rank count. The backends render a :class:`Traced` program as Numba or CUDA source.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dgraph.errors import unknown
from dgraph.program.expression_tree import Expr, TraceError, lift, load
from dgraph.program.monoids import MIN
from dgraph.program.program import ALL, BUILTINS, Field, Global, Program

KINDS = {
    "bool": ("bool", 0),
    "uint8": ("int", 8),
    "int32": ("int", 31),
    "uint32": ("int", 32),
    "int64": ("int", 63),
    "float32": ("f32", 0),
    "float64": ("f64", 0),
}
"""dtype → the kind that its values are computed in, and the bits of their magnitude."""

GRAPH = ("n", "m", "round", "active")
"""Built-in integers of ``g``."""


@dataclass(frozen=True)
class Traced:
    """Program as expressions, with the properties that backends derive from them.

    Attributes:
        program: the program.
        weight: dtype of the graph's weights; None if it has none.
        init: what the operator returned, name → expression. ``edge``, ``apply`` and ``step`` likewise; ``apply`` and
            ``step`` are None if not defined.
        cond: what the operator returned; None if not defined. ``priority`` and ``live`` likewise.
        proposes: fields that ``edge`` proposes values for, in its order.
        reads_u: fields and built-ins that ``edge`` reads at the source.
        reads_v: those that ``edge`` reads at the destination.
        cond_reads: those that ``cond`` reads.
        weighted: True if ``edge`` reads weights and the graph has some.
        once: True if a vertex accepts at most one proposal in the whole run: ``cond`` is ``v.f == INF`` for the only
            proposed field, a MIN.
        flagged: True if a changed vertex needs a flag, because it may change again in the same round.
        rendered: backend → what it made of the operators. Traces that differ only in values of parameters share it.
    """

    program: Program
    weight: str | None
    init: dict[str, Expr]
    edge: dict[str, Expr]
    cond: Expr | None
    apply: dict[str, Expr] | None
    priority: Expr | None
    live: Expr | None
    step: dict[str, Expr] | None
    proposes: tuple[str, ...]
    reads_u: frozenset[str]
    reads_v: frozenset[str]
    cond_reads: frozenset[str]
    weighted: bool
    once: bool
    flagged: bool
    rendered: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def fields(self) -> dict[str, Field]:
        """Fields of the program, by name."""
        return self.program.fields

    @property
    def globals(self) -> dict[str, Global]:
        """Globals of the program, by name."""
        return self.program.globals

    @property
    def all(self) -> bool:
        """True if every vertex and every edge takes part in every round."""
        return self.program.domain == ALL

    @cached_property
    def sums(self) -> list[str]:
        """Globals that are reduced over vertices, by ADD or MIN."""
        return [name for name, g in self.globals.items() if g.reduce]

    @cached_property
    def integer_sums(self) -> list[str]:
        """Reduced globals of int64, the :attr:`minima` last."""
        names = [name for name in self.sums if self.globals[name].dtype == "int64"]
        return [name for name in names if name not in self.minima] + self.minima

    @cached_property
    def minima(self) -> list[str]:
        """Globals that reduce by MIN."""
        return [name for name, g in self.globals.items() if g.reduce is MIN]

    @cached_property
    def float_sums(self) -> list[str]:
        """Reduced globals of float64."""
        return [name for name in self.sums if self.globals[name].dtype == "float64"]

    @property
    def prefilters(self) -> bool:
        """True if the source and the edge alone decide whether the edge proposes anything: the destination is not read.

        Every proposal is ``where(condition, value, INF)`` for a MIN field.
        """
        chosen = all(x.op == "where" and x.args[2].op == "inf" for x in self.edge.values())
        return chosen and not self.reads_v and all(self.fields[k].reduce is MIN for k in self.proposes)

    @property
    def smallest(self) -> bool:
        """True if the only proposal is the source's id, combined by MIN.

        A pull over in-neighbours in ascending order can stop at the first that proposes.
        """
        if len(self.edge) > 1 or "pull" not in self.program.directions:
            return False
        field = self.fields[self.proposes[0]]
        return field.dtype == "int64" and field.reduce is MIN and _is_id(*self.edge.values())

    @property
    def dirty(self) -> set[str]:
        """Fields that ``apply`` writes and edges read: they are broadcast even if the vertex is inactive."""
        if self.apply is None or self.all:
            return set()
        return set(self.apply) & set(self.fields) & (self.reads_u | self.reads_v)

    @cached_property
    def signature(self) -> tuple:
        """Hashable key that determines the generated source: programs with equal keys share compiled code.

        It leaves out the values of parameters, which are kernel arguments.
        """
        numbers: dict[int, int] = {}
        nodes: list[tuple] = []

        def many(values: dict[str, Expr] | None) -> tuple | None:
            return values if values is None else tuple((name, x.encode(numbers, nodes)) for name, x in values.items())

        def one(x: Expr | None) -> int | None:
            return None if x is None else x.encode(numbers, nodes)

        program = self.program
        operators = (
            *map(many, (self.init, self.edge, self.apply, self.step)),
            *map(one, (self.cond, self.priority, self.live)),
        )
        kinds = tuple((name, type(value).__name__) for name, value in program.parameters.items())
        return (
            type(program).__name__,
            program.directions,
            program.domain,
            program.monotone,
            program.kernel,
            kinds,
            program.gathers,
            self.weight,
            tuple(self.fields.items()),
            tuple(self.globals.items()),
            operators,
            tuple(nodes),
        )


def _is_id(x: Expr) -> bool:
    """Return True if ``x`` is ``where(condition, u.id, INF)``."""
    return x.op == "where" and x.args[1].op == "load" and x.args[1].args == ("u", "id") and x.args[2].op == "inf"


class Handle:
    """Symbolic argument of an operator: a vertex, an edge or the globals. Its attributes are load expressions."""

    def __init__(self, nodes: dict, role: str, owner: str, dtypes: Mapping[str, str]):
        self._nodes, self._role, self._owner, self._dtypes = nodes, role, owner, dtypes

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._dtypes:
            raise TraceError(f"{self._owner}: {self._role} has no {name!r}; it has {', '.join(self._dtypes)}")
        kind, bits = KINDS[self._dtypes[name]]
        return load(self._nodes, self._role, name, kind, bits)


def trace(program: Program, weight: np.dtype | None) -> Traced:
    """Trace a program for a graph with weights of this dtype.

    Args:
        program: the program, with its parameters.
        weight: dtype of the weights; None: every edge weighs 1.

    Raises:
        TraceError: an operator that cannot give equal results on every backend; the message names the program, the
            operator and the value.

    Traces of dgraph's own programs are kept. A user's operators may read variables that change between runs, so they
    are traced each time.
    """
    key = _identity(program, weight)
    if key is None:
        return _traced(program, weight)
    if key not in _kept:
        _kept[key] = _traced(program, weight)
    return replace(_kept[key], program=program)


_kept: dict[tuple, Traced] = {}


def _identity(program: Program, weight: np.dtype | None) -> tuple | None:
    """Return what determines the trace of one of dgraph's own programs; None if a user's function may determine it."""
    kind, parameters = type(program), program.parameters
    apart = {"parameters", "fields", "globals", *parameters}
    others = [(name, value) for name, value in vars(program).items() if name not in apart]
    wide = any(isinstance(value, (int, np.integer)) and int(value).bit_length() > 63 for value in parameters.values())
    if wide or not kind.__module__.startswith("dgraph.algorithms.") or any(callable(value) for _, value in others):
        return None
    dtypes = tuple((name, each.dtype) for name, each in program.fields.items())
    return kind, weight, dtypes, tuple(type(value) for value in parameters.values()), tuple(sorted(others))


def _traced(program: Program, weight: np.dtype | None) -> Traced:
    """Trace a program; see :func:`trace`."""
    name = type(program).__name__
    nodes: dict = {}
    fields = {k: f.dtype for k, f in program.fields.items()}
    vertex = {**fields, **dict.fromkeys(BUILTINS, "int64")}
    u, v = Handle(nodes, "u", name, vertex), Handle(nodes, "v", name, vertex)
    weight_name = None if weight is None else np.dtype(weight).name
    e = Handle(nodes, "e", name, {"weight": weight_name or "int32"})
    g = Handle(nodes, "g", name, {**{k: x.dtype for k, x in program.globals.items()}, **dict.fromkeys(GRAPH, "int64")})
    symbolic = copy.copy(program)
    for key, value in program.parameters.items():
        setattr(symbolic, key, _parameter(nodes, name, key, value))

    def one(method: str, *handles: Handle) -> Expr | None:
        return lift(_call(symbolic, method, handles)) if program.has(method) else None

    def many(method: str, *handles: Handle) -> dict[str, Expr] | None:
        if not program.has(method):
            return None
        out = _call(symbolic, method, handles)
        if not isinstance(out, Mapping):
            raise TraceError(f"{name}.{method} returned {type(out).__name__}; it returns a dict of name → value")
        return {k: lift(x) for k, x in out.items()}

    edge = many("edge", u, e, v, g) or {}
    cond, apply = one("cond", v, g), many("apply", v, g)
    traced = Traced(
        program=program,
        weight=weight_name,
        init=many("init", v, g) or {},
        edge=edge,
        cond=cond,
        apply=apply,
        priority=one("priority", v),
        live=one("live", v, g),
        step=many("step", g),
        proposes=tuple(edge),
        reads_u=frozenset().union(*(x.loads("u") for x in edge.values())),
        reads_v=frozenset().union(*(x.loads("v") for x in edge.values())),
        cond_reads=frozenset(cond.loads("v")) if cond is not None else frozenset(),
        weighted=any(x.loads("e") for x in edge.values()) and weight_name is not None,
        once=_once(program, edge, cond, apply),
        flagged=not _once(program, edge, cond, apply) and program.domain != ALL,
    )
    _check(traced)
    return traced


def _call(program: Program, method: str, handles: tuple[Handle, ...]) -> Any:
    """Call an operator with as many handles as it takes."""
    function = getattr(program, method)
    bound = inspect.ismethod(function)
    wanted = _arguments(function.__func__ if bound else function) - bound
    if not 0 < wanted <= len(handles):
        raise TraceError(
            f"{type(program).__name__}.{method} takes {wanted} arguments; it can take at most {len(handles)}"
        )
    return function(*handles[:wanted])


@lru_cache(512)
def _arguments(function: Callable) -> int:
    return len(inspect.signature(function).parameters)


def _parameter(nodes: dict, owner: str, key: str, value: Any) -> Expr:
    """Return the load of a parameter. It is a kernel argument, not a constant, so 64 sources compile once."""
    if isinstance(value, (bool, np.bool_)):
        return load(nodes, "p", key, "bool", 0)
    if isinstance(value, (int, np.integer)):
        if int(value).bit_length() > 63:
            raise TraceError(f"{owner}: parameter {key} = {value} does not fit 64 bits")
        return load(nodes, "p", key, "int", 63)
    if isinstance(value, (float, np.floating)):
        return load(nodes, "p", key, "f64", 0)
    raise TraceError(f"{owner}: parameter {key} = {value!r} is not a number; give a bool, an int or a float")


def _once(program: Program, edge: dict, cond: Expr | None, apply: dict | None) -> bool:
    """Return True if a vertex accepts at most one proposal in the whole run; see :attr:`Traced.once`."""
    if cond is None or apply is not None or len(edge) != 1 or cond.op != "==" or program.domain == ALL:
        return False
    (key,) = edge
    field = program.fields.get(key)
    left, right = cond.args
    return bool(
        field and field.reduce and field.reduce.name == "min"
        and left.op == "load" and left.args == ("v", key) and right.op == "inf"
    )  # fmt: skip


def _check(t: Traced) -> None:
    """Raise a :class:`TraceError` for a program whose result depends on backend, rank count or direction."""
    name, program = type(t.program).__name__, t.program
    if not t.edge:
        raise TraceError(f"{name}.edge proposes nothing; it returns a dict of field → value")
    for key in t.proposes:
        if key not in t.fields:
            raise unknown(f"field proposed by {name}.edge", key, t.fields)
        field = t.fields[key]
        if field.reduce is None:
            raise TraceError(f"{name}.edge proposes {key!r}, but the field has no reduce=; give it MIN, MAX, ADD or OR")
        if not field.reduce.idempotent and key in t.reads_u | t.reads_v | t.cond_reads:
            raise TraceError(
                f"{name} reads {key!r} in edge or cond, but also adds to it: the order of edges would show; "
                "add to another field"
            )
        if field.reduce.name == "add" and field.dtype not in ("int64", "float32", "float64"):
            raise TraceError(f"{name}.{key} adds in {field.dtype}, which can overflow; use int64 (or a float)")
        if field.reduce.name == "or" and field.dtype[0] == "f":
            raise TraceError(f"{name}.{key} combines floats with OR; use bool or an integer dtype")
    forwarded = sorted(set(t.proposes) & t.reads_u)
    if forwarded and "round" in set().union(*(x.loads("g") for x in (t.step or {}).values())):
        raise TraceError(
            f"{name}.step reads g.round, but edge forwards {forwarded[0]!r}, which may cross several edges in one "
            "round: the answer would depend on direction and ranks. Count the edges in a field, or leave the limit to "
            "max_rounds"
        )
    for operator, out, allowed in (
        ("init", t.init, {*t.fields, *t.sums, "active"}),
        ("apply", t.apply or {}, {*t.fields, *t.sums, "active"}),
        ("step", t.step or {}, {*t.globals, "done", "whole"}),
    ):
        for key in out:
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
    if t.priority is not None and (t.apply is not None or t.once or not t.flagged):
        raise TraceError(f"{name}: priority goes with one MIN or MAX field, without apply and without cond == INF")
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
