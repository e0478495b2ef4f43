"""Conditions of ``--where``: a column of edges, a comparison, and a value of the column's type.

:func:`load_chosen` loads a graph with the columns that conditions compare, and takes the edges that fulfil them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.handle import Graph
from dgraph.graph.kept_rules import NAMED, RULES, keep_text, kept_rules
from dgraph.graph.load import has_names

SIGNS = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "=": operator.eq, "<": operator.lt,
    ">": operator.gt,
}  # fmt: skip
FORM = re.compile(r"\s*(.*?)\s*(<=|>=|==|!=|=|<|>)\s*(.*?)\s*", re.DOTALL)
SPELT = {"true": True, "false": False}
"""Words for values of a column of booleans."""

READERS: Mapping[str, Callable[[str], Any]] = {
    "M": lambda word: np.datetime_as_string(np.datetime64(word)), "O": str, "b": lambda word: SPELT[word.lower()],
}  # fmt: skip
"""Readers of values by the kind of a column's dtype; of others, values are numbers. Columns of times read text."""


def parted(condition: str) -> tuple[str, str, str]:
    """Return column, comparison and value of a condition; raise a UsageError if it has another form."""
    match = FORM.fullmatch(condition)
    if match is None or not match[1]:
        raise UsageError(f"--where {condition!r}: write a column, one of {' '.join(SIGNS)}, and a value")
    return match[1], match[2], match[3]


def load_chosen(
    load: Callable[..., Graph], spec: str, conditions: Sequence[str], options: Mapping[str, Any],
    weight: str | None = None, **placing: Any,
) -> Graph:  # fmt: skip
    """Load a graph and return that of the edges that fulfil all conditions; collective.

    Columns that the conditions compare, and the one that is the ``weight`` of a run, are kept with the edges even if
    ``keep`` does not name them. Where it names none and rows merge by the smallest weight, rows are compared before
    parallel ones merge: the answer is that of a file of these rows.

    Args:
        load: ``Graph.load``.
        spec: file, store or generator.
        conditions: of ``--where``.
        options: of the load, by name.
        weight: column of edges.
        placing: further keywords of ``load``.
    """
    options, rule, compared = dict(options), options.get("merge", "min"), [parted(text)[0] for text in conditions]
    rules = kept_rules(options.get("keep"))
    missing = [name for name in (*compared, weight) if name not in (None, *NAMED, *rules)]
    whole = False
    if missing and has_names(spec, options.get("format")):
        whole = not rules and not {*missing}.isdisjoint(compared) and not options.get("keep_parallel") and rule == "min"
        kept = dict.fromkeys(missing, "first") | ({weight: rule} if weight in missing and rule in RULES else {})
        options |= {"keep": keep_text(rules | kept)} | ({"keep_parallel": True} if whole else {})
    graph = load(spec, **placing, **options)
    if conditions:
        graph = filtered(graph, conditions)
    return graph.simplified(loops=False, parallel=True) if whole else graph


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
        value = READERS.get(kind, _number)(word) if word or kind not in "MO" else None  # a missing time or text
    except (ValueError, KeyError):
        wanted = {"M": "a time, such as 2024-03-01T12:00", "b": "true or false"}.get(kind, "a number")
        raise UsageError(f"--where {condition!r}: the column {name} needs {wanted}") from None
    if kind == "O" and name in kinds and SIGNS[sign] not in (operator.eq, operator.ne):
        raise UsageError(
            f"--where {condition!r}: the column {name} holds text, which is compared by = and !=; one of numbers "
            "or times has nothing else in any row"
        )
    return name, SIGNS[sign], value


def _number(word: str) -> int | float:
    return int(word) if word.lstrip("+-").isdigit() else float(word)
