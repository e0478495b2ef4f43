"""Expressions as Python source for Numba.

Generated functions receive ``F``, the tuple of field arrays followed by original ids and out-degrees; ``P``, the
parameters; and ``G``, the scalars n, m, round and active followed by the globals.
"""

from __future__ import annotations

from dgraph.backend.codegen.expression_lowering import Scope
from dgraph.program import Traced
from dgraph.program.program import BUILTINS
from dgraph.program.traced import GRAPH

WIDE = {"int": "np.int64", "f32": "np.float32", "f64": "np.float64"}
"""Kind → type of the computation."""

NUMPY = {"bool": "uint8"}
"""dtype of a field → dtype of its array where they differ: atomics need whole bytes."""


class NumbaScope(Scope):
    """Spelling of expressions in Python, and the positions of names in F, P and G.

    Attributes:
        F: field or built-in → position in the tuple ``F``.
        P: parameter → position in ``P``.
        G: built-in or global → position in ``G``.
    """

    def __init__(self, traced: Traced):
        super().__init__(traced)
        self.F = {name: i for i, name in enumerate([*traced.fields, *BUILTINS])}
        self.P = {name: i for i, name in enumerate(traced.program.parameters)}
        self.G = {name: i for i, name in enumerate([*GRAPH, *traced.globals])}

    def leaf(self, role: str, name: str) -> str:
        """Return the text that reads ``name`` at ``role``."""
        if role == "p":
            return f"P[{self.P[name]}]"
        if role == "g":
            return f"G[{self.G[name]}]"
        if role == "e":
            return widened(self.traced.weight, "w") if self.traced.weight else "np.int64(1)"
        dtype = self.traced.fields[name].dtype if name in self.traced.fields else "int64"
        return widened(dtype, f"load(F[{self.F[name]}], {role})")

    def number(self, value: int | float) -> str:
        """Return an identity or infinity as a literal."""
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return "np.inf" if value > 0 else "-np.inf"
        return repr(value)

    def literal(self, value: bool | int | float) -> str:
        """Return a constant as a literal."""
        return repr(value)

    def define(self, name: str, kind: str, text: str) -> str:
        """Return an assignment."""
        return f"{name} = {text}"

    def convert(self, kind: str, text: str) -> str:
        """Return a conversion to a NumPy scalar of the kind."""
        return f"{WIDE[kind]}({text})"

    def choice(self, test: str, a: str, b: str) -> str:
        """Return a conditional expression."""
        return f"{a} if {test} else {b}"

    def negated(self, text: str) -> str:
        """Return the negation of a condition."""
        return f"not {text}"

    def call(self, op: str, operands: list[str], kind: str) -> str:
        """Return a call of an operator."""
        name = {"sat+": "saturating_add", "sat-": "saturating_subtract", "sqrt": "np.sqrt"}.get(op, op)
        return f"{name}({', '.join(operands)})"

    def store(self, dtype: str, text: str) -> str:
        """Return ``text`` converted to the dtype of the array."""
        return f"np.{NUMPY.get(dtype, dtype)}({text})"


def widened(dtype: str, text: str) -> str:
    """Return a stored value converted to the type of the computation."""
    if dtype == "bool":
        return f"({text} != 0)"
    return text if dtype[0] == "f" or dtype == "int64" else f"np.int64({text})"
