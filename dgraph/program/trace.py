"""Tracing: run a program's operators once on symbolic handles and keep the resulting expressions.

:func:`trace` is the entry. It also refuses programs whose result would depend on the backend, the direction or the
rank count. The backends render a :class:`Traced` program as Numba or CUDA source.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np

from dgraph.program.expression_tree import Expr, TraceError, edge_id, lift, load
from dgraph.program.field_declarations import Field
from dgraph.program.program import ALL, BUILTINS, ID_SPAN, ID_UNORDERED, IN_DEGREE, Program, extended
from dgraph.program.row_reducers import RowReducer
from dgraph.program.trace_checks import check
from dgraph.program.traced import GRAPH, KINDS, Traced


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


class EdgeHandle(Handle):
    """Symbolic edge; ``reverse``: rounds walk it backwards."""

    reverse = False

    @property
    def id(self) -> Expr:
        """The edge's number, see :class:`~dgraph.program.Program`."""
        return edge_id(self._nodes, *("vu" if self.reverse else "uv"))


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
    traced = _kept.get(key)
    if traced is None:
        traced = _kept[key] = replace(_traced(program, weight), key=next(_numbers))
        _ = traced.signature
    return traced.of(program)


LARGEST = (1 << 63) - 1
"""Largest value of a parameter that 64 bits hold with its negative."""

_kept: dict[tuple, Traced] = {}
_numbers = count()


def _identity(program: Program, weight: np.dtype | None) -> tuple | None:
    """Return what determines the trace of one of dgraph's own programs; None if a user's function may determine it."""
    kind, parameters = type(program), program.parameters
    if not kind.__module__.startswith("dgraph.algorithms."):
        return None
    others = []
    if len(vars(program)) > len(parameters) + 3:  # parameters, fields and globals
        apart = {"parameters", "fields", "globals", *parameters}
        others = sorted((name, value) for name, value in vars(program).items() if name not in apart)
    for value in parameters.values():
        if isinstance(value, (int, np.integer)) and not -LARGEST <= value <= LARGEST:
            return None
    for _, value in others:
        if callable(value):
            return None
    dtypes = tuple([field.dtype for field in program.fields.values()])
    return kind, weight, dtypes, tuple(map(type, parameters.values())), tuple(others)


def _traced(program: Program, weight: np.dtype | None) -> Traced:
    """Trace a program; see :func:`trace`."""
    name = type(program).__name__
    nodes: dict = {}
    fields = {k: f.dtype for k, f in program.fields.items()}
    vertex = {**fields, **dict.fromkeys((*BUILTINS, IN_DEGREE), "int64")}
    u, v = Handle(nodes, "u", name, vertex), Handle(nodes, "v", name, vertex)
    weight_name = None if weight is None else np.dtype(weight).name
    e = EdgeHandle(nodes, "e", name, {"weight": weight_name or "int32"})
    e.reverse = program.reverse
    names = GRAPH if program.has("priority") else GRAPH[:-1]
    g = Handle(nodes, "g", name, {**{k: x.dtype for k, x in program.globals.items()}, **dict.fromkeys(names, "int64")})
    symbolic = copy.copy(program)
    for key, value in program.parameters.items():
        setattr(symbolic, key, _parameter(nodes, name, key, value))

    def one(method: str, *handles: Handle) -> Expr | None:
        return lift(_call(symbolic, method, handles)) if program.has(method) else None

    def many(method: str, *handles: Handle) -> dict[str, Expr] | None:
        if not program.has(method):
            return None
        values = _call(symbolic, method, handles)
        if not isinstance(values, Mapping):
            raise TraceError(f"{name}.{method} returned {type(values).__name__}; it returns a dict of name → value")
        return {k: lift(x) for k, x in values.items()}

    edge = many("edge", u, e, v, g) or {}
    if any(_folds_rows(program, key) for key in edge):  # its key is the first proposal
        edge = dict(sorted(edge.items(), key=lambda entry: not _folds_rows(program, entry[0])))
    cond, apply, init = one("cond", v, g), many("apply", v, g), many("init", v, g) or {}
    priority, live, step = one("priority", v), one("live", v, g), many("step", g)
    traced = Traced(
        program=_completed(program, nodes),
        weight=weight_name,
        init=init,
        edge=edge,
        cond=cond,
        apply=apply,
        priority=priority,
        live=live,
        step=step,
        proposes=tuple(edge),
        reads_u=frozenset().union(*(x.loads("u") for x in edge.values())),
        reads_v=frozenset(filter(None, [program.exclusive])).union(*(x.loads("v") for x in edge.values())),
        cond_reads=frozenset(cond.loads("v")) if cond is not None else frozenset(),
        weighted=any(x.loads("e") for x in edge.values()) and weight_name is not None,
        once=_once(program, edge, cond, apply),
        flagged=not _once(program, edge, cond, apply) and program.domain != ALL,
    )
    check(traced)
    return traced


def _completed(program: Program, nodes: dict) -> Program:
    """Return the program with the fields and parameters that the built-in values which it reads need."""
    read = {node.args[1] for node in nodes.values() if node.op == "load"}
    fields = {IN_DEGREE: Field("int64", given=True)} if IN_DEGREE in read else {}
    parameters = {ID_SPAN: 0, ID_UNORDERED: False} if ID_SPAN in read else {}
    return extended(program, fields, parameters) if fields or parameters else program


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


def _folds_rows(program: Program, key: str) -> bool:
    field = program.fields.get(key)
    return field is not None and isinstance(field.reduce, RowReducer)


def _once(program: Program, edge: dict, cond: Expr | None, apply: dict | None) -> bool:
    """Return True if a vertex accepts at most one proposal in the whole run; see :attr:`Traced.once`."""
    if cond is None or len(edge) != 1 or cond.op != "==" or program.domain == ALL:
        return False
    (key,) = edge
    if apply is not None and not _keeps(program, apply, edge[key]):
        return False
    field = program.fields.get(key)
    left, right = cond.args
    return bool(
        field and field.reduce and field.reduce.name == "min"
        and left.op == "load" and left.args == ("v", key) and right.op == "inf"
    )  # fmt: skip


def _keeps(program: Program, apply: dict, proposal: Expr) -> bool:
    """Return True if ``apply`` cannot reopen a vertex, and sees the same value whichever proposal comes first."""
    alike = not any(proposal.loads(role) for role in "uve")
    return alike and not (set(apply) & set(program.fields) or program.has("priority"))
