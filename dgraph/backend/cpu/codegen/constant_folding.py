"""Constant folding in generated source: branches decided by a program's constants are removed before Numba sees them.

The rest compiles in about half the time. Entry: :func:`folded`.
"""

from __future__ import annotations

import ast
import threading
from typing import Any

_parsing = threading.Lock()
"""CPython 3.11 may raise SystemError where two threads parse at once (its issue 106905)."""


def folded(text: str, constants: dict[str, Any]) -> str:
    """Return ``text`` with ``constants`` substituted and decided branches removed; comments are lost."""
    with _parsing:
        parsed = ast.parse(text)
    tree = _Fold(constants).visit(parsed)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Fold(ast.NodeTransformer):
    """Substitute constants and resolve ``not``, ``and``, ``or``, ``if``, ``while`` and conditional expressions."""

    def __init__(self, constants: dict[str, Any]):
        self.constants = constants

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self.constants:
            return ast.Constant(self.constants[node.id])
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        rest = []
        for value in node.values:
            if not isinstance(value, ast.Constant):
                rest.append(value)
            elif bool(value.value) is decides:
                return ast.Constant(decides) if not rest else ast.BoolOp(node.op, [*rest, ast.Constant(decides)])
        if not rest:
            return ast.Constant(not decides)
        return rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)

    def visit_If(self, node):
        node.test = self.visit(node.test)
        if isinstance(node.test, ast.Constant):
            taken = node.body if node.test.value else node.orelse
            statements = []
            for statement in taken:
                new = self.visit(statement)
                statements += new if isinstance(new, list) else [new]
            return [s for s in statements if s is not None] or ast.Pass()
        self._bodies(node, "body", "orelse")
        return node

    def visit_While(self, node):
        node.test = self.visit(node.test)
        if isinstance(node.test, ast.Constant) and not node.test.value:
            return ast.Pass()
        self._bodies(node, "body")
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def _bodies(self, node, *names):
        """Visit the statements of these lists; a statement may become none or several."""
        for name in names:
            statements = []
            for statement in getattr(node, name):
                new = self.visit(statement)
                statements += new if isinstance(new, list) else [new]
            setattr(node, name, statements)
