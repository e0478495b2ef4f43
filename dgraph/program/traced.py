"""``Traced``: a program as expressions, which backends render as Numba or CUDA source."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from dgraph.program.expression_tree import Expr
from dgraph.program.field_declarations import Field, Global
from dgraph.program.monoids import ADD, MAX, MIN
from dgraph.program.program import ALL, Program, extended
from dgraph.program.row_reducers import RowReducer

T = TypeVar("T")

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

GRAPH = ("n", "m", "round", "active", "bucket")
"""Built-in integers of ``g``; ``bucket``, the highest one opened so far, only where there is a priority."""


class derived(cached_property[T]):
    """Property of all programs that differ only in values of parameters; it is found once for all of them."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the property, and keep it for the traces that :meth:`Traced.of` makes next."""
        value = super().__get__(instance, owner)
        if instance is not None:
            instance.__dict__.get("like", instance).__dict__[self.attrname] = value
        return value


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
            proposed field, a MIN; ``apply``, if there is one, writes no field, and all edges of a round propose alike.
        flagged: True if a changed vertex needs a flag, because it may change again in the same round.
        key: number; programs with equal keys differ only in values of parameters. None: a user's operators.
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
    key: int | None = field(default=None, compare=False)
    rendered: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def fields(self) -> dict[str, Field]:
        """Fields of the program, by name."""
        return self.program.fields

    @property
    def globals(self) -> dict[str, Global]:
        """Globals of the program, by name."""
        return self.program.globals

    @derived
    def all(self) -> bool:
        """Return True if every vertex and every edge takes part in every round."""
        return self.program.domain == ALL

    @property
    def summary_kind(self) -> type:
        """NumPy's type of the largest value in the program's summary."""
        _, name = self.program.end_figure or ("", "")
        return np.float64 if self.fields[name].dtype[0] == "f" else np.int64

    @derived
    def sums(self) -> list[str]:
        """Globals that are reduced over vertices, by ADD, MIN or MAX."""
        return [name for name, g in self.globals.items() if g.reduce]

    @derived
    def integer_sums(self) -> list[str]:
        """Reduced globals of int64, the :attr:`minima` last."""
        names = [name for name in self.sums if self.globals[name].dtype == "int64"]
        return [name for name in names if name not in self.minima] + self.minima

    @derived
    def minima(self) -> list[str]:
        """Globals that reduce by MIN or MAX. A maximum is kept as the minimum of complements."""
        return [name for name, g in self.globals.items() if g.reduce in (MIN, MAX)]

    @derived
    def float_sums(self) -> list[str]:
        """Reduced globals of float64."""
        return [name for name in self.sums if self.globals[name].dtype == "float64"]

    @derived
    def swaps(self) -> tuple[str, ...]:
        """Return the sum that ``edge`` proposes and the field that it reads, if a round may swap their arrays; else ().

        All vertices pull and apply in every round, and of what edges read ``apply`` writes one field, with the sum's
        dtype. Edges then read values of the last round whatever the order of vertices.
        """
        guards = self.cond, self.live, self.priority, self.row_reducer
        if not self.all or self.apply is None or guards != (None,) * 4 or len(self.proposes) > 1:
            return ()
        (sums,), read = self.proposes, [name for name in self.apply if name in self.reads_u]
        if sums in self.init | self.apply or len(read) != 1:
            return ()
        return (sums, *read) if self.fields[sums] == Field(self.fields[read[0]].dtype, reduce=ADD) else ()

    def of(self, program: Program) -> Traced:
        """Return this trace for a program that differs only in values of parameters; properties found so far stay."""
        other, like = object.__new__(Traced), self.program
        if len(program.fields) != len(like.fields) or len(program.parameters) != len(like.parameters):
            program = extended(program, like.fields, like.parameters)
        other.__dict__.update(self.__dict__, program=program, like=self)
        return other

    @derived
    def filters(self) -> bool:
        """Return True if every proposal is ``where(condition, value, INF)`` for a MIN field: an edge may have none."""
        chosen = all(x.op == "where" and x.args[2].op == "inf" for x in self.edge.values())
        return chosen and all(self.fields[k].reduce is MIN for k in self.proposes)

    @derived
    def prefilters(self) -> bool:
        """Return True if :attr:`filters`, and the source and the edge alone decide, not the destination."""
        return self.filters and not self.reads_v

    @derived
    def ends_at_once(self) -> bool:
        """Return True if the first round is the last, and nothing follows its proposals."""
        done = (self.step or {}).get("done")
        follows = self.apply is not None or self.priority is not None
        return done is not None and done.op == "const" and bool(done.args[0]) and not follows

    @derived
    def smallest(self) -> bool:
        """Return True if the only proposal is the source's id, combined by MIN.

        A pull over in-neighbours in ascending order can stop at the first that proposes.
        """
        if len(self.edge) > 1 or "pull" not in self.program.directions:
            return False
        field = self.fields[self.proposes[0]]
        return field.dtype == "int64" and field.reduce is MIN and _is_id(*self.edge.values())

    @derived
    def levelled(self) -> bool:
        """Return True if a vertex accepts proposals in one round alone, in which it leaves INF.

        ``cond`` is ``v.f == INF``, or ``(v.f == INF) | (v.f == x)``, where f is the first proposed field and x its
        proposal, equal for all edges of a round. Further fields are those of the first proposal, or combined.
        """
        if self.once:
            return True
        cond, key = self.cond, self.proposes[0]
        if cond is None or self.apply is not None or self.all or self.priority is not None or self.row_reducer:
            return False
        fresh, same = cond.args if cond.op == "|" else (cond, None)
        level = self.edge[key]
        return (
            _is_field(fresh, key, "inf")
            and (same is None or (_is_field(same, key, level.op) and same.args[1] is level))
            and not (level.loads("u") | level.loads("v") | level.loads("e"))
            and all(self.fields[k].reduce is MIN for k in self.proposes)
        )

    @derived
    def first_wins(self) -> bool:
        """Return True if a levelled vertex accepts one proposal."""
        return self.levelled and self.cond is not None and self.cond.op == "=="

    @derived
    def finds_smallest(self) -> bool:
        """Return True if :attr:`smallest`, or if a levelled vertex takes the smallest id among those of its round."""
        ids = [x.op == "load" and x.args == ("u", "id") for x in list(self.edge.values())[1:]]
        return self.smallest or (self.levelled and not self.first_wins and bool(ids) and all(ids))

    @derived
    def row_reducer(self) -> RowReducer | None:
        """Row reducer of the first proposed field; None if proposals combine by monoids."""
        reduce = self.fields[self.proposes[0]].reduce
        return reduce if isinstance(reduce, RowReducer) else None

    @derived
    def sorts_applied(self) -> bool:
        """Return True if vertices go to buckets after ``apply``, and those active after ``init`` do, too."""
        return self.priority is not None and self.apply is not None

    @derived
    def dirty(self) -> set[str]:
        """Fields that ``apply`` writes and edges read: they are broadcast even if the vertex is inactive."""
        if self.apply is None or self.all:
            return set()
        return set(self.apply) & set(self.fields) & (self.reads_u | self.reads_v)

    @derived
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
            program.ceiling,
            self.weight,
            tuple(self.fields.items()),
            tuple(self.globals.items()),
            operators,
            tuple(nodes),
        )


def _is_id(x: Expr) -> bool:
    """Return True if ``x`` is ``where(condition, u.id, INF)``."""
    return x.op == "where" and x.args[1].op == "load" and x.args[1].args == ("u", "id") and x.args[2].op == "inf"


def _is_field(x: Expr, key: str, other: str) -> bool:
    """Return True if ``x`` compares the field ``key`` of v with an operand whose operation is ``other``."""
    return x.op == "==" and x.args[0].op == "load" and x.args[0].args == ("v", key) and x.args[1].op == other
