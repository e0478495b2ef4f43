"""Vertex programs: the public language in which rounds over vertices and edges are written.

Subclass :class:`Program`, declare :class:`Field` and :class:`Global` attributes, write its operators, and pass an
instance to :func:`dgraph.run`. :func:`trace` turns a program into expressions; :mod:`dgraph.backend` compiles them.
"""

from dgraph.program.expression_tree import INF, Expr, TraceError, maximum, minimum, mixed, where
from dgraph.program.monoids import ADD, MAX, MIN, OR, Monoid
from dgraph.program.program import ALL, CHANGED, Field, Global, Program
from dgraph.program.trace import Traced, trace

__all__ = [
    "ADD", "ALL", "CHANGED", "INF", "MAX", "MIN", "OR",
    "Expr", "Field", "Global", "Monoid", "Program", "TraceError", "Traced",
    "maximum", "minimum", "mixed", "trace", "where",
]  # fmt: skip
