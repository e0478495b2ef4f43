"""Vertex programs: the public language in which rounds over vertices and edges are written.

Subclass :class:`Program`, declare :class:`Field` and :class:`Global` attributes, write its operators, and pass an
instance to :func:`dgraph.run`. :func:`trace` turns a program into expressions; :mod:`dgraph.backend` compiles them.
"""

from dgraph.program.expression_tree import INF, Expr, TraceError, bit_count, maximum, minimum, mixed, sqrt, where
from dgraph.program.field_declarations import Field, Global
from dgraph.program.monoids import ADD, MAX, MIN, OR, Monoid
from dgraph.program.program import ALL, CHANGED, Program
from dgraph.program.row_reducers import BEST, HINDEX, MEX, MODE, RowReducer
from dgraph.program.trace import Traced, trace

__all__ = [
    "ADD", "ALL", "BEST", "CHANGED", "HINDEX", "INF", "MAX", "MEX", "MIN", "MODE", "OR",
    "Expr", "Field", "Global", "Monoid", "Program", "RowReducer", "TraceError", "Traced",
    "bit_count", "maximum", "minimum", "mixed", "sqrt", "trace", "where",
]  # fmt: skip
