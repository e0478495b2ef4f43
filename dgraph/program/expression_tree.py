"""Expression trees: the symbolic values that a program's operators compute with while they are traced.

Integers are computed in 64 bits, and each node carries a bound on the bits that its magnitude needs: a sum that may
exceed 63 bits saturates, a product that may is refused. Equal nodes are shared (hash-consing), so that generated code
computes them once. :func:`where`, :func:`minimum`, :func:`maximum`, :func:`mixed`, :func:`bit_count`, :func:`sqrt` and
:data:`INF` are public.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.errors import UsageError, shown


class TraceError(UsageError):
    """Raised by :func:`dgraph.program.trace` for an operator that cannot give equal results on every backend.

    The message names the program, the operator and the value, and says what to write instead.
    """


class Expr:
    """Node of an expression tree: a value of a vertex, an edge or a global, known only when rounds run.

    Attributes:
        op: "load", "const", "inf", "where", "cast" or the symbol of an arithmetic operator.
        args: operands; for "load" (role, name), for "const" (value,).
        kind: type of the computation: "bool", "int" (64 bits), "f32" or "f64"; "weak" for a float constant, which takes
            the kind of the other operand; "inf" for :data:`INF`.
        bits: upper bound on the bits of the magnitude, for "int".
        nodes: table of shared nodes of the trace; None for constants.
        has_inf: True if INF occurs in the tree.
    """

    __slots__ = ("args", "bits", "has_inf", "kind", "nodes", "op")

    def __init__(self, op: str, args: tuple, kind: str, bits: int = 0, nodes: dict | None = None):
        self.op, self.args, self.kind, self.bits, self.nodes = op, args, kind, bits, nodes
        self.has_inf: bool = op == "inf" or any(isinstance(a, Expr) and a.has_inf for a in args)

    def __bool__(self):
        raise TraceError(
            "a value of a vertex, an edge or a global has no truth value while a program is traced; "
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
        """Return the names that this tree loads at ``role``: "u", "v", "e", "g" (globals) or "p" (parameters)."""
        names, todo, seen = set(), [self], set()
        while todo:
            node = todo.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if node.op == "load":
                if node.args[0] == role:
                    names.add(node.args[1])
            else:
                todo += [a for a in node.args if isinstance(a, Expr)]
        return names

    def encode(self, numbers: dict[int, int], nodes: list[tuple]) -> int:
        """Append this tree to ``nodes`` in a form that is comparable between traces; return its index there.

        Args:
            numbers: ``id`` of a node → its index, for nodes that are appended already.
            nodes: nodes as (op, args, kind, bits), where operands are indices.
        """
        if id(self) not in numbers:
            args = tuple(
                a.encode(numbers, nodes) if isinstance(a, Expr) else (type(a).__name__, repr(a)) for a in self.args
            )
            nodes.append((self.op, args, self.kind, self.bits))
            numbers[id(self)] = len(nodes) - 1
        return numbers[id(self)]


INF = Expr("inf", (), "inf")
"""Largest value of the field or global that it is stored in or compared with; the smallest value for a MAX field.

For floats it is ±infinity. ``v.level == INF`` means that ``v`` has no value yet; a proposal of INF has no effect.
"""


def lift(value: Any, name: str = "value") -> Expr:
    """Return an expression unchanged and a Python or NumPy number as a constant.

    Args:
        value: the expression or number.
        name: of the argument, for the message.

    Raises:
        TraceError: not a number, or an integer of more than 63 bits.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Expr("const", (value,), "bool")
    if isinstance(value, int):
        if value.bit_length() > 63:
            raise TraceError(f"{name}: the constant {shown(value)} does not fit 64 bits")
        return Expr("const", (value,), "int", value.bit_length())
    if isinstance(value, float):
        return Expr("const", (value,), "weak")
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
        return lift(value.item(), name)
    raise TraceError(
        f"{name}: got {shown(value)}, which is not a number; a program computes with numbers, fields and globals"
    )


def load(nodes: dict, role: str, name: str, kind: str, bits: int) -> Expr:
    """Return the shared leaf that reads ``name`` at ``role``."""
    return _intern(nodes, "load", (role, name), kind, bits)


def where(condition: Any, a: Any, b: Any) -> Expr:
    """Return ``a`` if the condition holds, else ``b``: the ``if`` of a program. Both sides are computed.

    Args:
        condition: a condition, such as ``v.level == INF``.
        a: expression or number.
        b: expression or number. The result has the common type of both: float if either is.

    Raises:
        TraceError: ``condition`` is not a condition.
    """
    condition, a, b = lift(condition, "condition"), lift(a, "a"), lift(b, "b")
    _need("bool", "where(condition, a, b)", condition)
    return _node("where", (condition, a, b), _join(a, b), max(a.bits, b.bits))


def minimum(a: Any, b: Any) -> Expr:
    """Return the smaller of two expressions or numbers, in their common type."""
    a, b = lift(a, "a"), lift(b, "b")
    return _node("min", (a, b), _join(a, b), max(a.bits, b.bits))


def maximum(a: Any, b: Any) -> Expr:
    """Return the larger of two expressions or numbers, in their common type."""
    a, b = lift(a, "a"), lift(b, "b")
    return _node("max", (a, b), _join(a, b), max(a.bits, b.bits))


def mixed(x: Any, seed: Any = 0) -> Expr:
    """Return a pseudorandom int64 for each ``x``, equal on every backend and rank count.

    For one seed, different ``x`` have different results, so ``mixed(v.id, seed)`` is a random total order of vertices.

    Args:
        x: integer expression.
        seed: integer; another seed gives another sequence.

    Raises:
        TraceError: an argument that is not an integer.

    Reference: SplitMix64 [Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014].
    """
    x, seed = lift(x, "x"), lift(seed, "seed")
    _need("int", "mixed(x, seed)", x, seed)
    return _node("mixed", (x, seed), "int", 63)


def sqrt(x: Any) -> Expr:
    """Return the square root of an expression or number, rounded correctly, as a float; NaN below 0."""
    x = lift(x, "x")
    return _node("sqrt", (x,), x.kind if x.kind in ("f32", "f64") else "f64")


def bit_count(x: Any) -> Expr:
    """Return the number of set bits of an integer expression, in two's complement of 64 bits.

    Raises:
        TraceError: not an integer.
    """
    x = lift(x, "x")
    _need("int", "bit_count", x)
    return _node("bit_count", (x,), "int", 7)


def edge_id(nodes: dict, source: str, target: str) -> Expr:
    """Return the number of an edge: first end · span + second end, in 63 bits since ids are below the square root.

    Args:
        nodes: table of shared nodes.
        source: role of the first end, "u" or "v".
        target: role of the second end. The smaller id comes first if edges have no direction.
    """
    a, b = load(nodes, source, "id", "int", 63), load(nodes, target, "id", "int", 63)
    turned = load(nodes, "p", "id_unordered", "bool", 0) & (b < a)
    head = _intern(nodes, "*", (where(turned, b, a), load(nodes, "p", "id_span", "int", 63)), "int", 63)
    return _intern(nodes, "+", (head, where(turned, a, b)), "int", 63)


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
    """Return the common kind of two operands: int with f32 gives f64, a weak float takes f32 or f64."""
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
