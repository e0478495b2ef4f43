"""Programs: what an algorithm says about vertices and edges, for every backend at once."""

from dgraph.program.expression_tree import INF, Expr, TraceError, maximum, minimum, mixed, where
from dgraph.program.monoids import ADD, MAX, MIN, OR, Monoid
from dgraph.program.program import ALL, CHANGED, Field, Global, Program
from dgraph.program.trace import Traced, trace

__all__ = [
    "ADD", "ALL", "CHANGED", "INF", "MAX", "MIN", "OR",
    "Expr", "Field", "Global", "Monoid", "Program", "TraceError", "Traced",
    "maximum", "minimum", "mixed", "trace", "where",
]  # fmt: skip
