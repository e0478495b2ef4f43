"""Expressions of a trace as Python text for Numba.

``F`` is the tuple of field arrays, then original ids and out-degrees; ``P`` the parameters; ``G`` the globals as
scalars, after n, m, round and active.
"""

from __future__ import annotations

from dgraph.backend.codegen.expression_lowering import Scope
from dgraph.program import Traced
from dgraph.program.program import BUILTINS
from dgraph.program.trace import GRAPH

WIDE = {"int": "np.int64", "f32": "np.float32", "f64": "np.float64"}
NUMPY = {"bool": "uint8"}
"""Fields of bool are stored as bytes: atomics need whole ones."""


class NumbaScope(Scope):
    """The positions of fields, parameters and globals in F, P and G; Python's spelling."""

    def __init__(self, traced: Traced):
        super().__init__(traced)
        self.F = {name: i for i, name in enumerate([*traced.fields, *BUILTINS])}
        self.P = {name: i for i, name in enumerate(traced.program.parameters)}
        self.G = {name: i for i, name in enumerate([*GRAPH, *traced.globals])}

    def leaf(self, role: str, name: str) -> str:
        if role == "p":
            return f"P[{self.P[name]}]"
        if role == "g":
            return f"G[{self.G[name]}]"
        if role == "e":
            return widened(self.traced.weight, "w") if self.traced.weight else "np.int64(1)"
        dtype = self.traced.fields[name].dtype if name in self.traced.fields else "int64"
        return widened(dtype, f"load(F[{self.F[name]}], {role})")

    def number(self, value: int | float) -> str:
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return "np.inf" if value > 0 else "-np.inf"
        return repr(value)

    def literal(self, value: bool | int | float) -> str:
        return repr(value)

    def define(self, name: str, kind: str, text: str) -> str:
        return f"{name} = {text}"

    def convert(self, kind: str, text: str) -> str:
        return f"{WIDE[kind]}({text})"

    def choice(self, test: str, a: str, b: str) -> str:
        return f"{a} if {test} else {b}"

    def negated(self, text: str) -> str:
        return f"not {text}"

    def call(self, op: str, operands: list[str], kind: str) -> str:
        name = {"sat+": "saturating_add", "sat-": "saturating_subtract"}.get(op, op)
        return f"{name}({', '.join(operands)})"

    def store(self, dtype: str, text: str) -> str:
        return f"np.{NUMPY.get(dtype, dtype)}({text})"


def widened(dtype: str, text: str) -> str:
    """A stored value as it is computed with."""
    if dtype == "bool":
        return f"({text} != 0)"
    return text if dtype[0] == "f" or dtype == "int64" else f"np.int64({text})"
