"""Lowering of expression trees to source text, shared by Numba and CUDA C++.

:class:`Body` walks the trees, decides the kind in which each node is computed and emits one statement per shared node.
A :class:`Scope`, one per target language, says how names, numbers, selections and conversions are spelled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from dgraph.program import Field, Global, Traced
from dgraph.program.expression_tree import Expr
from dgraph.program.traced import GRAPH, KINDS

LOWEST = {"uint8": 0, "int32": -(2**31), "uint32": 0}
"""Smallest values of the integer dtypes that are narrower than the 64 bits of the computation."""

HIGHEST = {"uint8": 2**8 - 1, "int32": 2**31 - 1, "uint32": 2**32 - 1}
"""Largest values of those dtypes."""


class Scope(ABC):
    """Target language: the location of names and the spelling of operations.

    Attributes:
        traced: the program.
        calls: operators that the language spells as function calls.
    """

    calls: tuple[str, ...] = ("abs", "min", "max", "mixed", "bit_count", "sqrt", "sat+", "sat-")

    def __init__(self, traced: Traced):
        self.traced = traced

    def kind(self, field: str | None) -> str:
        """Return the kind in which values of a field or global are computed; "int" for None."""
        return KINDS[self._declared(field).dtype][0] if field else "int"

    def identity(self, field: str) -> str:
        """Return the identity of the field's monoid as a literal."""
        return self.number(self.traced.fields[field].identity)

    def infinity(self, field: str | None) -> str:
        """Return INF for this field or global as a literal; for None, that of the first proposed field."""
        declared = field in self.traced.fields or field in self.traced.globals
        return self.number(self._declared(field if field and declared else self.traced.proposes[0]).infinity)

    def _declared(self, name: str) -> Field | Global:
        return self.traced.fields[name] if name in self.traced.fields else self.traced.globals[name]

    @abstractmethod
    def leaf(self, role: str, name: str) -> str:
        """Return the text that reads ``name`` at ``role``: "u", "v", "e", "g" or "p"."""

    @abstractmethod
    def number(self, value: int | float) -> str:
        """Return an identity or infinity as a literal."""

    @abstractmethod
    def literal(self, value: bool | int | float) -> str:
        """Return a constant of a program as a literal."""

    @abstractmethod
    def define(self, name: str, kind: str, text: str) -> str:
        """Return the statement that binds a value of this kind to ``name``."""

    @abstractmethod
    def convert(self, kind: str, text: str) -> str:
        """Return ``text`` converted to another numeric kind."""

    @abstractmethod
    def choice(self, test: str, a: str, b: str) -> str:
        """Return the selection of ``a`` if ``test`` holds, else ``b``."""

    @abstractmethod
    def negated(self, text: str) -> str:
        """Return the negation of a condition."""

    @abstractmethod
    def call(self, op: str, operands: list[str], kind: str) -> str:
        """Return a call of an operator in ``calls``; all operands have this kind."""

    @abstractmethod
    def store(self, dtype: str, text: str) -> str:
        """Return ``text`` converted to the storage type of ``dtype``; a bool is stored as a byte."""


class Body:
    """Statements of one generated function; a shared node is computed once.

    Args:
        scope: target language.
        leaves: (role, name) → text, for loads that the function receives as arguments.
    """

    def __init__(self, scope: Scope, leaves: dict[tuple[str, str], str] | None = None):
        self.scope, self.leaves = scope, leaves or {}
        self.lines: list[str] = []
        self.names: dict[tuple, str] = {}

    def text(self, x: Expr, field: str | None = None) -> str:
        """Return the text of ``x`` in its own kind, and append the statements that it needs.

        Args:
            x: expression.
            field: field or global whose value INF stands for.
        """
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
        """Return the kind of ``x``; one that mixes INF and integers takes the kind of a float field."""
        takes_it = x.kind == "inf" or (x.kind == "int" and x.has_inf and self.scope.kind(field)[0] == "f")
        return self.scope.kind(field) if takes_it else x.kind

    def cast(self, x: Expr, kind: str, field: str | None = None) -> str:
        """Return the text of ``x`` converted to ``kind``."""
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
        """Return the text of ``x`` as the field stores it; integers saturate at the ends of the dtype."""
        dtype = self.scope.traced.fields[field].dtype
        kind, bits = KINDS[dtype]
        if kind == "bool":
            return self.scope.store("bool", self.text(x) if x.op != "const" else str(int(x.args[0])))
        text = self.cast(x, kind, field)
        if dtype in HIGHEST and x.kind == "int" and (x.bits > bits or dtype[0] == "u"):
            text = self.clamped(dtype, text)
        return self.scope.store(dtype, text)

    def clamped(self, dtype: str, text: str) -> str:
        """Return a 64-bit integer saturated at the ends of ``dtype``."""
        low = self.scope.call("min", [text, self.scope.literal(HIGHEST[dtype])], "int")
        return self.scope.call("max", [low, self.scope.literal(LOWEST[dtype])], "int")

    @staticmethod
    def _field(x: Expr) -> str | None:
        named = x.op == "load" and (x.args[0] in "uv" or (x.args[0] == "g" and x.args[1] not in GRAPH))
        return x.args[1] if named else None


def _common_type(a: Expr, b: Expr) -> str:
    """Return the kind in which two operands are compared."""
    kinds = {a.kind, b.kind} - {"inf"}
    if "f64" in kinds or kinds == {"int", "f32"}:
        return "f64"
    if "f32" in kinds:
        return "f32"
    if kinds == {"bool"}:
        return "bool"
    return "f64" if "weak" in kinds else "int"
