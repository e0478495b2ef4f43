"""Expressions of a trace as text: what every language that programs are rendered to has in common.

``Body`` walks the expressions and decides in which kind each is computed; a ``Scope`` says where names live and how
its language writes numbers, choices and conversions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from dgraph.program import Field, Global, Traced
from dgraph.program.expression_tree import Expr
from dgraph.program.trace import GRAPH, KINDS

LOWEST = {"uint8": 0, "int32": -(2**31), "uint32": 0}
HIGHEST = {"uint8": 2**8 - 1, "int32": 2**31 - 1, "uint32": 2**32 - 1}


class Scope(ABC):
    """Where names live, and how a language writes what ``Body`` composes.

    Class attributes:
        calls: the operators that it writes as calls.
    """

    calls: tuple[str, ...] = ("abs", "min", "max", "mixed", "sat+", "sat-")

    def __init__(self, traced: Traced):
        self.traced = traced

    def kind(self, field: str | None) -> str:
        """The kind that values of a field or global are computed in."""
        return KINDS[self._declared(field).dtype][0] if field else "int"

    def identity(self, field: str) -> str:
        """What an accumulator of this field starts from."""
        return self.number(self.traced.fields[field].identity)

    def infinity(self, field: str | None) -> str:
        """What INF stands for beside this field or global."""
        known = field in self.traced.fields or field in self.traced.globals
        return self.number(self._declared(field if field and known else self.traced.proposes[0]).infinity)

    def _declared(self, name: str) -> Field | Global:
        return self.traced.fields[name] if name in self.traced.fields else self.traced.globals[name]

    @abstractmethod
    def leaf(self, role: str, name: str) -> str:
        """A value read at ``role``: u, v, e, g or p."""

    @abstractmethod
    def number(self, value: int | float) -> str:
        """A Python number as a literal of the kind that it is computed in."""

    @abstractmethod
    def literal(self, value: bool | int | float) -> str:
        """A constant of a program as it was written."""

    @abstractmethod
    def define(self, name: str, kind: str, text: str) -> str:
        """The statement that names a value."""

    @abstractmethod
    def convert(self, kind: str, text: str) -> str:
        """A number as another kind of number."""

    @abstractmethod
    def choice(self, test: str, a: str, b: str) -> str:
        """``a`` where ``test`` holds, else ``b``."""

    @abstractmethod
    def negated(self, text: str) -> str:
        """The truth that ``text`` is not."""

    @abstractmethod
    def call(self, op: str, operands: list[str], kind: str) -> str:
        """One of ``calls``, of operands of one kind."""

    @abstractmethod
    def store(self, dtype: str, text: str) -> str:
        """A value as an array of this dtype holds it (a bool as a byte)."""


class Body:
    """Statements of one function; a node that is used twice is computed once."""

    def __init__(self, scope: Scope, leaves: dict[tuple[str, str], str] | None = None):
        self.scope, self.leaves = scope, leaves or {}
        self.lines: list[str] = []
        self.names: dict[tuple, str] = {}

    def text(self, x: Expr, field: str | None = None) -> str:
        """x in its own kind. ``field``: of which field or global INF is the end."""
        if x.op == "const":
            return self.scope.literal(x.args[0])
        if x.op == "inf":
            return self.scope.infinity(field)
        key = (id(x), field if x.has_inf else None)
        if key not in self.names:
            line = self._compute(x, field)
            self.names[key] = f"x{len(self.names)}"
            self.lines.append(self.scope.define(self.names[key], self.kind(x, field), line))
        return self.names[key]

    def _compute(self, x: Expr, field: str | None) -> str:
        if x.op == "load":
            return self.leaves.get(x.args) or self.scope.leaf(*x.args)
        if x.op in ("<", "<=", ">", ">=", "==", "!="):
            a, b = x.args
            kind = _common_type(a, b)
            field = self._field(a) or self._field(b) or field
            return f"{self.cast(a, kind, field)} {x.op} {self.cast(b, kind, field)}"
        if x.op in ("&", "|"):
            return f"{self.text(x.args[0])} {x.op} {self.text(x.args[1])}"
        if x.op == "~":
            return self.scope.negated(self.text(x.args[0]))
        kind = self.kind(x, field)
        if x.op == "where":
            test, a, b = x.args
            chosen = self.cast(a, kind, field)
            return self.scope.choice(self.text(test), chosen, self.cast(b, kind, field))
        operands = [self.cast(a, kind, field) for a in x.args]
        if x.op in self.scope.calls:
            return self.scope.call(x.op, operands, kind)
        return f"{operands[0]} {x.op} {operands[1]}"

    def kind(self, x: Expr, field: str | None) -> str:
        """What x is computed in: a choice between INF and integers is of its field's kind."""
        takes_it = x.kind == "inf" or (x.kind == "int" and x.has_inf and self.scope.kind(field)[0] == "f")
        return self.scope.kind(field) if takes_it else x.kind

    def cast(self, x: Expr, kind: str, field: str | None = None) -> str:
        """x as a value of this kind."""
        if kind == "weak":
            kind = "f64"
        if x.op == "const" and kind != "bool":
            number = float(x.args[0]) if kind[0] == "f" else int(x.args[0])
            literal = self.scope.literal(number)
            return self.scope.convert(kind, literal) if kind[0] == "f" else literal
        text = self.text(x, field)
        if self.kind(x, field) == kind or kind == "bool":
            return text
        if x.op != "inf" and x.kind == "bool":
            one, nothing = self.scope.convert(kind, "1"), self.scope.convert(kind, "0")
            return f"({self.scope.choice(text, one, nothing)})"
        return self.scope.convert(kind, text)

    def stored(self, x: Expr, field: str) -> str:
        """x as the field stores it; integers that the dtype cannot hold stop at its ends."""
        dtype = self.scope.traced.fields[field].dtype
        kind, bits = KINDS[dtype]
        if kind == "bool":
            return self.scope.store("bool", self.text(x) if x.op != "const" else str(int(x.args[0])))
        text = self.cast(x, kind, field)
        if dtype in HIGHEST and x.kind == "int" and (x.bits > bits or dtype[0] == "u"):
            text = self.clamped(dtype, text)
        return self.scope.store(dtype, text)

    def clamped(self, dtype: str, text: str) -> str:
        """An integer, stopped at the ends of a dtype that cannot hold all of them."""
        low = self.scope.call("min", [text, self.scope.literal(HIGHEST[dtype])], "int")
        return self.scope.call("max", [low, self.scope.literal(LOWEST[dtype])], "int")

    @staticmethod
    def _field(x: Expr) -> str | None:
        named = x.op == "load" and (x.args[0] in "uv" or (x.args[0] == "g" and x.args[1] not in GRAPH))
        return x.args[1] if named else None


def _common_type(a: Expr, b: Expr) -> str:
    kinds = {a.kind, b.kind} - {"inf"}
    if "f64" in kinds or kinds == {"int", "f32"}:
        return "f64"
    if "f32" in kinds:
        return "f32"
    if kinds == {"bool"}:
        return "bool"
    return "f64" if "weak" in kinds else "int"
