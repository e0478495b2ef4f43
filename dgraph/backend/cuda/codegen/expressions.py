"""Expressions of a trace as CUDA C++.

``env`` is the module's constant memory: ``f_NAME`` are field arrays, ``p_NAME`` parameters; ``G.g_NAME`` are globals.
"""

from __future__ import annotations

import math

from dgraph.backend.codegen.expression_lowering import Scope
from dgraph.program.trace import GRAPH

WIDE = {"int": "i64", "f32": "float", "f64": "double", "bool": "bool"}
CALLED = {
    "sat+": "saturating_add", "sat-": "saturating_subtract", "min": "smaller", "max": "larger", "abs": "absolute",
    "mixed": "mixed", "/": "quotient",
}  # fmt: skip
TYPES = {
    "bool": "u8", "uint8": "u8", "int32": "int", "uint32": "u32", "int64": "i64", "float32": "float",
    "float64": "double",
}  # fmt: skip
"""dtype → the C++ type of a field's array."""


class CudaScope(Scope):
    """The names of fields, parameters and globals in ``env`` and ``G``; C++'s spelling."""

    calls = (*Scope.calls, "/")

    def leaf(self, role: str, name: str) -> str:
        if role == "p":
            return f"env.p_{name}"
        if role == "g":
            return f"G.{name}" if name in GRAPH else f"G.g_{name}"
        if role == "e":
            return widened(self.traced.weight, "w") if self.traced.weight else "1ll"
        if name == "id":
            return f"(i64)env.original[{role}]"
        if name == "out_degree":
            return f"(i64)env.degree[{role}]"
        return widened(self.traced.fields[name].dtype, f"LOAD(env.f_{name} + {role})")

    def number(self, value: int | float) -> str:
        if isinstance(value, float):
            return ("INFINITE" if value > 0 else "(-INFINITE)") if math.isinf(value) else repr(value)
        return "(-9223372036854775807ll - 1)" if value == -(2**63) else f"{value}ll"

    def literal(self, value: bool | int | float) -> str:
        return str(value).lower() if isinstance(value, bool) else self.number(value)

    def define(self, name: str, kind: str, text: str) -> str:
        return f"const {WIDE['f64' if kind == 'weak' else kind]} {name} = {text};"

    def convert(self, kind: str, text: str) -> str:
        return f"({WIDE[kind]})({text})"

    def choice(self, test: str, a: str, b: str) -> str:
        return f"({test} ? {a} : {b})"

    def negated(self, text: str) -> str:
        return f"!({text})"

    def call(self, op: str, operands: list[str], kind: str) -> str:
        casts = [f"({WIDE[kind]})({x})" for x in operands]
        return f"{CALLED[op]}({', '.join(casts)})"

    def store(self, dtype: str, text: str) -> str:
        return f"(u8)(({text}) != 0)" if dtype == "bool" else f"({TYPES[dtype]})({text})"


def widened(dtype: str, text: str) -> str:
    """A stored value as it is computed with."""
    if dtype == "bool":
        return f"({text} != 0)"
    return text if dtype[0] == "f" else f"(i64)({text})"
