"""Conditions of ``--where``: a column of edges, a comparison, and a value of the column's type."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.handle import Graph

SIGNS = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "=": operator.eq, "<": operator.lt,
    ">": operator.gt,
}  # fmt: skip
FORM = re.compile(r"\s*(.*?)\s*(<=|>=|==|!=|=|<|>)\s*(.*?)\s*", re.DOTALL)
SPELT = {"true": True, "false": False}
"""Words for values of a column of booleans."""

READERS: Mapping[str, Callable[[str], Any]] = {
    "M": np.datetime64, "O": str, "b": lambda word: SPELT[word.lower()],
}  # fmt: skip
"""Readers of values by the kind of a column's dtype; of others, values are numbers."""


def parted(condition: str) -> tuple[str, str, str]:
    """Return column, comparison and value of a condition; raise a UsageError if it has another form."""
    match = FORM.fullmatch(condition)
    if match is None or not match[1]:
        raise UsageError(f"--where {condition!r}: write a column, one of {' '.join(SIGNS)}, and a value")
    return match[1], match[2], match[3]


def filtered(graph: Graph, conditions: Sequence[str]) -> Graph:
    """Return the graph of the edges that fulfil all conditions; collective.

    Raises:
        UsageError: a column that the edges do not have, or a value that is not of its type.
    """
    end = np.dtype(np.int64 if graph.ids.names is None else object)
    kinds = {"source": end, "target": end, "weight": graph.weight_type or np.dtype(np.int64), **graph.edge_attributes}
    compared = [_compared(condition, kinds) for condition in conditions]

    def keep(edges: Any) -> np.ndarray:
        chosen = np.ones(len(edges), bool)
        for name, compare, value in compared:
            chosen &= compare(edges[name], value)
        return chosen

    return graph.filter_edges(keep)


def _compared(condition: str, kinds: Mapping[str, np.dtype]) -> tuple[str, Any, Any]:
    name, sign, word = parted(condition)
    kind = kinds[name].kind if name in kinds else "O"
    try:
        value = READERS.get(kind, _number)(word)
    except (ValueError, KeyError):
        wanted = {"M": "a time, such as 2024-03-01T12:00", "b": "true or false"}.get(kind, "a number")
        raise UsageError(f"--where {condition!r}: the column {name} needs {wanted}") from None
    if kind == "O" and name in kinds and SIGNS[sign] not in (operator.eq, operator.ne):
        raise UsageError(f"--where {condition!r}: the column {name} holds text, which is compared by = and !=")
    return name, SIGNS[sign], value


def _number(word: str) -> int | float:
    return int(word) if word.lstrip("+-").isdigit() else float(word)
