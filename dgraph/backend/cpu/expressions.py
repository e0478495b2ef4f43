"""Expressions of a trace as Python text for Numba.

``F`` is the tuple of field arrays, then original ids and out-degrees; ``P`` the parameters; ``G`` the globals as
scalars, after n, m, round and active.
"""

from __future__ import annotations

from dgraph.program import Traced
from dgraph.program.expr import Expr
from dgraph.program.program import BUILTINS
from dgraph.program.trace import GRAPH, KINDS

WIDE = {"int": "np.int64", "f32": "np.float32", "f64": "np.float64"}
LOWEST = {"int32": -(2**31), "uint32": 0}
HIGHEST = {"int32": 2**31 - 1, "uint32": 2**32 - 1}


class Body:
    """Statements of one function; a node that is used twice is computed once."""

    def __init__(self, scope: Scope, leaves: dict[tuple[str, str], str] | None = None):
        self.scope, self.leaves = scope, leaves or {}
        self.lines: list[str] = []
        self.names: dict[tuple, str] = {}

    def text(self, x: Expr, field: str | None = None) -> str:
        """x in its own kind. ``field``: whose identity INF stands for."""
        if x.op == "const":
            return repr(x.args[0])
        if x.op == "inf":
            return self.scope.infinity(field)
        key = (id(x), field if _has_inf(x) else None)
        if key not in self.names:
            line = self._compute(x, field)
            self.names[key] = f"x{len(self.names)}"
            self.lines.append(f"{self.names[key]} = {line}")
        return self.names[key]

    def _compute(self, x: Expr, field: str | None) -> str:
        if x.op == "load":
            return self.leaves.get(x.args) or self.scope.leaf(*x.args)
        if x.op in ("<", "<=", ">", ">=", "==", "!="):
            a, b = x.args
            kind = _meet(a, b)
            field = self._field(a) or self._field(b) or field
            return f"{self.cast(a, kind, field)} {x.op} {self.cast(b, kind, field)}"
        if x.op in ("&", "|"):
            return f"{self.text(x.args[0])} {x.op} {self.text(x.args[1])}"
        if x.op == "~":
            return f"not {self.text(x.args[0])}"
        kind = self.kind(x, field)
        if x.op == "where":
            test, a, b = x.args
            return f"{self.cast(a, kind, field)} if {self.text(test)} else {self.cast(b, kind, field)}"
        operands = [self.cast(a, kind, field) for a in x.args]
        if x.op in ("abs", "min", "max"):
            return f"{x.op}({', '.join(operands)})"
        if x.op in ("sat+", "sat-"):
            return f"saturating_{'add' if x.op == 'sat+' else 'subtract'}({', '.join(operands)})"
        return f"{operands[0]} {x.op} {operands[1]}"

    def kind(self, x: Expr, field: str | None) -> str:
        """What x is computed in: a choice between INF and integers is of its field's kind."""
        takes_it = x.kind == "inf" or (x.kind == "int" and _has_inf(x) and self.scope.kind(field)[0] == "f")
        return self.scope.kind(field) if takes_it else x.kind

    def cast(self, x: Expr, kind: str, field: str | None = None) -> str:
        """x as a value of this kind."""
        if kind == "weak":
            kind = "f64"
        if x.op == "const" and kind != "bool":
            number = float(x.args[0]) if kind[0] == "f" else int(x.args[0])
            return f"{WIDE[kind]}({number!r})" if kind[0] == "f" else repr(number)
        text = self.text(x, field)
        if self.kind(x, field) == kind or kind == "bool":
            return text
        if x.op == "inf":
            return f"{WIDE[kind]}({text})"
        if x.kind == "bool":
            return f"({WIDE[kind]}(1) if {text} else {WIDE[kind]}(0))"
        return f"{WIDE[kind]}({text})"

    def stored(self, x: Expr, field: str) -> str:
        """x as the field stores it; integers that the dtype cannot hold stop at its ends."""
        dtype = self.scope.traced.fields[field].dtype
        kind, bits = KINDS[dtype]
        if kind == "bool":
            return f"np.uint8({self.text(x)})" if x.op != "const" else f"np.uint8({int(x.args[0])})"
        text = self.cast(x, kind, field)
        if dtype in HIGHEST and x.kind == "int" and (x.bits > bits or dtype == "uint32"):
            text = f"max(min({text}, {HIGHEST[dtype]}), {LOWEST[dtype]})"
        return f"np.{dtype}({text})"

    @staticmethod
    def _field(x: Expr) -> str | None:
        return x.args[1] if x.op == "load" and x.args[0] in "uv" else None


def _has_inf(x: Expr) -> bool:
    return x.op == "inf" or any(_has_inf(a) for a in x.args if isinstance(a, Expr))


def _meet(a: Expr, b: Expr) -> str:
    kinds = {a.kind, b.kind} - {"inf"}
    if "f64" in kinds or kinds == {"int", "f32"}:
        return "f64"
    if "f32" in kinds:
        return "f32"
    if kinds == {"bool"}:
        return "bool"
    return "f64" if "weak" in kinds else "int"


class Scope:
    """Where names live: the positions of fields, parameters and globals in F, P and G."""

    def __init__(self, traced: Traced):
        self.traced = traced
        self.F = {name: i for i, name in enumerate([*traced.fields, *BUILTINS])}
        self.P = {name: i for i, name in enumerate(traced.program.parameters)}
        self.G = {name: i for i, name in enumerate([*GRAPH, *traced.globals])}

    def leaf(self, role: str, name: str) -> str:
        if role == "p":
            return f"P[{self.P[name]}]"
        if role == "g":
            return f"G[{self.G[name]}]"
        if role == "e":
            return self.weight()
        dtype = self.traced.fields[name].dtype if name in self.traced.fields else "int64"
        return widened(dtype, f"load(F[{self.F[name]}], {role})")

    def weight(self) -> str:
        return widened(self.traced.weight, "w") if self.traced.weight else "np.int64(1)"

    def kind(self, field: str | None) -> str:
        return KINDS[self.traced.fields[field].dtype][0] if field else "int"

    def identity(self, field: str) -> str:
        return _number(self.traced.fields[field].identity)

    def infinity(self, field: str | None) -> str:
        if field not in self.traced.fields:
            field = self.traced.proposes[0]
        return _number(self.traced.fields[field].infinity)


def _number(value: int | float) -> str:
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def widened(dtype: str, text: str) -> str:
    """A stored value as it is computed with."""
    if dtype == "bool":
        return f"({text} != 0)"
    return text if dtype[0] == "f" or dtype == "int64" else f"np.int64({text})"
