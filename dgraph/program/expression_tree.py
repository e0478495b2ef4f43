"""Expr: the value that a program's text computes with while it is traced.

Integers are carried in 64 bits, with a bound on how many they need; a sum that may need more saturates, a product
that may is refused. A node written twice is one node, so the renderers compute it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dgraph.errors import UsageError


class TraceError(UsageError):
    """A program's text says something that cannot be made true on every backend."""


class Expr:
    """One node of a trace.

    Attributes:
        op: "load", "const", "inf", "where", "cast" or an operator's symbol.
        args: operands; for "load" (role, name), for "const" (value,).
        kind: "bool", "int", "f32", "f64"; "weak" for a float constant, which takes the other side's kind.
        bits: of an "int": how many bits its magnitude may need.
        has_inf: whether INF is somewhere in it.
    """

    __slots__ = ("args", "bits", "has_inf", "kind", "nodes", "op")

    def __init__(self, op: str, args: tuple, kind: str, bits: int = 0, nodes: dict | None = None):
        self.op, self.args, self.kind, self.bits, self.nodes = op, args, kind, bits, nodes
        self.has_inf: bool = op == "inf" or any(isinstance(a, Expr) and a.has_inf for a in args)

    def __bool__(self):
        raise TraceError(
            "a value of a vertex, an edge or a global has no truth while a program is traced; "
            "write where(condition, a, b) for a choice, and & | ~ for and, or, not"
        )

    def __hash__(self):
        return id(self)

    def __add__(self, other):
        return _sum("+", self, other)

    def __radd__(self, other):
        return _sum("+", other, self)

    def __sub__(self, other):
        return _sum("-", self, other)

    def __rsub__(self, other):
        return _sum("-", other, self)

    def __neg__(self):
        return _sum("-", 0, self)

    def __mul__(self, other):
        return _product(self, other)

    def __rmul__(self, other):
        return _product(other, self)

    def __truediv__(self, other):
        return _quotient(self, other)

    def __rtruediv__(self, other):
        return _quotient(other, self)

    def __rshift__(self, other):
        a, b = lift(self), lift(other)
        _need("int", ">>", a, b)
        return _node(">>", (a, b), "int", a.bits)

    def __and__(self, other):
        return _logic("&", self, other)

    __rand__ = __and__

    def __or__(self, other):
        return _logic("|", self, other)

    __ror__ = __or__

    def __invert__(self):
        _need("bool", "~", self)
        return _node("~", (self,), "bool")

    def __abs__(self):
        return _node("abs", (self,), self.kind, self.bits)

    def __lt__(self, other):
        return _compare("<", self, other)

    def __le__(self, other):
        return _compare("<=", self, other)

    def __gt__(self, other):
        return _compare(">", self, other)

    def __ge__(self, other):
        return _compare(">=", self, other)

    def __eq__(self, other):
        return _compare("==", self, other)

    def __ne__(self, other):
        return _compare("!=", self, other)

    def __floordiv__(self, other):
        raise TraceError("// rounds differently in Python and CUDA; use >> for powers of two, or / and a float field")

    __mod__ = __rfloordiv__ = __rmod__ = __floordiv__

    def loads(self, role: str) -> set[str]:
        """The names that this value reads at ``role``: u, v, e, g or p."""
        found, todo, seen = set(), [self], set()
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.op == "load":
                if node.args[0] == role:
                    found.add(node.args[1])
            else:
                todo += [a for a in node.args if isinstance(a, Expr)]
        return found

    def written(self, numbers: dict[int, int], nodes: list[tuple]) -> int:
        """This value's number among ``nodes``, where it and what it is made of are written without identities;
        ``numbers``: of nodes that are, by ``id``."""
        if id(self) not in numbers:
            args = tuple(
                a.written(numbers, nodes) if isinstance(a, Expr) else (type(a).__name__, repr(a)) for a in self.args
            )
            nodes.append((self.op, args, self.kind, self.bits))
            numbers[id(self)] = len(nodes) - 1
        return numbers[id(self)]


INF = Expr("inf", (), "inf")
"""The largest value of the field or global that it meets; the smallest of a MAX field."""


def lift(value: Any) -> Expr:
    """A traced value as it is, a Python number as a constant."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Expr("const", (value,), "bool")
    if isinstance(value, int):
        if value.bit_length() > 63:
            raise TraceError(f"the constant {value} does not fit 64 bits")
        return Expr("const", (value,), "int", value.bit_length())
    if isinstance(value, float):
        return Expr("const", (value,), "weak")
    if hasattr(value, "item"):
        return lift(value.item())
    raise TraceError(f"got {value!r}, which is no number; a program computes with numbers, fields and globals")


def load(nodes: dict, role: str, name: str, kind: str, bits: int) -> Expr:
    """The leaf that reads ``name`` at ``role``."""
    return _intern(nodes, "load", (role, name), kind, bits)


def where(condition: Any, a: Any, b: Any) -> Expr:
    """``a`` where the condition holds, else ``b``; both are computed."""
    condition, a, b = lift(condition), lift(a), lift(b)
    _need("bool", "where", condition)
    return _node("where", (condition, a, b), _join(a, b), max(a.bits, b.bits))


def minimum(a: Any, b: Any) -> Expr:
    """The smaller of two values."""
    a, b = lift(a), lift(b)
    return _node("min", (a, b), _join(a, b), max(a.bits, b.bits))


def maximum(a: Any, b: Any) -> Expr:
    """The larger of two values."""
    a, b = lift(a), lift(b)
    return _node("max", (a, b), _join(a, b), max(a.bits, b.bits))


def mixed(x: Any, seed: Any = 0) -> Expr:
    """An integer of 64 bits that looks random: by one seed another one for each ``x``, and the same on every backend.

    What SplitMix64 comes to. [Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014]
    """
    x, seed = lift(x), lift(seed)
    _need("int", "mixed", x, seed)
    return _node("mixed", (x, seed), "int", 63)


def _sum(op: str, a: Any, b: Any) -> Expr:
    a, b = lift(a), lift(b)
    kind = _join(a, b)
    if kind == "bool":
        kind = "int"
    bits = max(a.bits, b.bits, 1) + 1
    if kind == "int" and bits > 63:
        op, bits = "sat" + op, 63
    return _node(op, (a, b), kind, bits)


def _product(a: Any, b: Any) -> Expr:
    a, b = lift(a), lift(b)
    kind = _join(a, b)
    bits = a.bits + b.bits
    if kind == "int" and bits > 63:
        raise TraceError(
            f"a product of {a.bits}-bit and {b.bits}-bit integers may pass 64 bits; use int32 fields, or float64"
        )
    return _node("*", (a, b), "int" if kind == "bool" else kind, bits)


def _quotient(a: Any, b: Any) -> Expr:
    a, b = lift(a), lift(b)
    kind = _join(a, b)
    return _node("/", (a, b), kind if kind in ("f32", "f64") else "f64")


def _logic(op: str, a: Any, b: Any) -> Expr:
    a, b = lift(a), lift(b)
    _need("bool", op, a, b)
    return _node(op, (a, b), "bool")


def _compare(op: str, a: Any, b: Any) -> Expr:
    a, b = lift(a), lift(b)
    _join(a, b)
    return _node(op, (a, b), "bool")


def _need(kind: str, op: str, *values: Expr) -> None:
    for value in values:
        if value.kind != kind:
            raise TraceError(f"{op} takes {kind} values, got {value.kind}; compare first, as in (v.x > 0) {op} …")


def _join(a: Expr, b: Expr) -> str:
    """The kind that two operands meet in."""
    kinds = {a.kind, b.kind} - {"inf"}
    if not kinds:
        return "inf"
    if len(kinds) == 1:
        return kinds.pop()
    if "f64" in kinds or kinds == {"int", "f32"} or kinds == {"bool", "f32"}:
        return "f64"
    if "f32" in kinds:
        return "f32"
    return "f64" if "weak" in kinds else "int"


def _node(op: str, args: tuple, kind: str, bits: int = 0) -> Expr:
    nodes = next((a.nodes for a in args if a.nodes is not None), None)
    return _intern(nodes, op, args, kind, bits if kind == "int" else 0)


def _intern(nodes: dict | None, op: str, args: tuple, kind: str, bits: int) -> Expr:
    if nodes is None:
        return Expr(op, args, kind, bits)
    key = (op, kind, *(_key(a) for a in args))
    if key not in nodes:
        nodes[key] = Expr(op, args, kind, bits, nodes)
    return nodes[key]


def _key(a: Any) -> Any:
    if not isinstance(a, Expr):
        return a
    return ("const", a.kind, repr(a.args[0])) if a.op == "const" else id(a)


Text = Callable[..., Any]
"""A method of a Program: handles in, a number or a dict of numbers out."""
