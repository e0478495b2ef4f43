"""Traced expressions as CUDA C++ text.

``env`` is the module's constant memory, with field arrays ``f_NAME`` and parameters ``p_NAME``; ``G.g_NAME`` are
globals.
"""

from __future__ import annotations

import math

from dgraph.backend.codegen.expression_lowering import Scope
from dgraph.program.traced import GRAPH

WIDE = {"int": "i64", "f32": "float", "f64": "double", "bool": "bool"}
"""Kind of an expression → C++ type that it is computed in."""
CALLED = {
    "sat+": "saturating_add", "sat-": "saturating_subtract", "min": "smaller", "max": "larger", "abs": "absolute",
    "mixed": "mixed", "bit_count": "bit_count", "sqrt": "square_root", "/": "quotient",
}  # fmt: skip
"""Operator → device function."""
TYPES = {
    "bool": "u8", "uint8": "u8", "int32": "int", "uint32": "u32", "int64": "i64", "float32": "float",
    "float64": "double",
}  # fmt: skip
"""dtype → the C++ type of a field's array."""


class CudaScope(Scope):
    """Names of fields, parameters and globals in ``env`` and ``G``, and the syntax of C++."""

    calls = (*Scope.calls, "/")

    def leaf(self, role: str, name: str) -> str:
        """Return the text that reads a field, parameter, global, edge weight or id."""
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
        """Return a number as a 64-bit literal."""
        if isinstance(value, float):
            return ("INFINITE" if value > 0 else "(-INFINITE)") if math.isinf(value) else repr(value)
        return "(-9223372036854775807ll - 1)" if value == -(2**63) else f"{value}ll"

    def literal(self, value: bool | int | float) -> str:
        """Return a constant of any kind as a literal."""
        return str(value).lower() if isinstance(value, bool) else self.number(value)

    def define(self, name: str, kind: str, text: str) -> str:
        """Return the definition of a local constant."""
        return f"const {WIDE['f64' if kind == 'weak' else kind]} {name} = {text};"

    def convert(self, kind: str, text: str) -> str:
        """Return a cast to the C++ type of a kind."""
        return f"({WIDE[kind]})({text})"

    def choice(self, test: str, a: str, b: str) -> str:
        """Return a conditional expression."""
        return f"({test} ? {a} : {b})"

    def negated(self, text: str) -> str:
        """Return a logical negation."""
        return f"!({text})"

    def call(self, op: str, operands: list[str], kind: str) -> str:
        """Return a call of a device function, with operands cast to the kind."""
        casts = [f"({WIDE[kind]})({x})" for x in operands]
        return f"{CALLED[op]}({', '.join(casts)})"

    def store(self, dtype: str, text: str) -> str:
        """Return a value cast to the type of a field's array."""
        return f"(u8)(({text}) != 0)" if dtype == "bool" else f"({TYPES[dtype]})({text})"


def widened(dtype: str, text: str) -> str:
    """Return a stored value in the type that expressions compute with."""
    if dtype == "bool":
        return f"({text} != 0)"
    return text if dtype[0] == "f" else f"(i64)({text})"
