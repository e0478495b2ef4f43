"""Conditions of ``--where``: a column of edges, a comparison, and a value of the column's type.

A column or value in quotation marks may hold signs, and blanks at its ends: ``txt=="=x"``; ``""`` is a mark inside.

:func:`load_chosen` loads a graph with the columns that conditions compare, and takes the edges that fulfil them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from dgraph.errors import UsageError
from dgraph.graph.formats.first_line import is_number
from dgraph.graph.handle import Graph
from dgraph.graph.kept_rules import NAMED, RULES, keep_text, kept_rules
from dgraph.graph.load import has_names
from dgraph.graph.names import ENCODING, NEAREST, decode_names, most_like

SIGNS = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "=": operator.eq, "<": operator.lt,
    ">": operator.gt,
}  # fmt: skip
QUOTED = r'"(?:[^"]|"")*"'
FORM = re.compile(rf"\s*({QUOTED}|.*?)\s*(<=|>=|==|!=|=|<|>)\s*({QUOTED}|.*?)\s*", re.DOTALL)
SPELT = {"true": True, "false": False}
"""Words for values of a column of booleans."""

PADDED = 20
"""Characters of a number below which it is looked for with zeros before it."""

READERS: Mapping[str, Callable[[str], Any]] = {
    "M": lambda word: np.datetime_as_string(np.datetime64(word)), "O": str, "b": lambda word: SPELT[word.lower()],
}  # fmt: skip
"""Readers of values by the kind of a column's dtype; of others, values are numbers. Columns of times read text."""


def parted(condition: str) -> tuple[str, str, str]:
    """Return column, comparison and value of a condition, quoted words without their marks.

    Raises:
        UsageError: a condition of another form.
    """
    match = FORM.fullmatch(condition)
    if match is None or not match[1]:
        raise UsageError(f"--where {condition!r}: write a column, one of {' '.join(SIGNS)}, and a value")
    return _unquoted(match[1], condition), match[2], _unquoted(match[3], condition)


def _unquoted(word: str, condition: str) -> str:
    """Return a word without the marks of a quoted one, as in CSV.

    Raises:
        UsageError: a mark at its beginning that does not quote all of it.
    """
    if not word.startswith('"'):
        return word
    if not re.fullmatch(QUOTED, word):
        raise UsageError(
            f"--where {condition!r}: the quotation mark before {word[1:]!r} does not quote all of the word; close it "
            'at the end, and double marks inside, as in "say ""x"""'
        )
    return word[1:-1].replace('""', '"')


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
    notes = [
        _missed(graph, condition, name, value) for condition, (name, _, value) in zip(conditions, compared, strict=True)
    ]

    def keep(edges: Any) -> np.ndarray:
        chosen = np.ones(len(edges), bool)
        for name, compare, value in compared:
            chosen &= compare(edges[name], value)
        return chosen

    chosen = graph.filter_edges(keep)
    chosen.facts.warnings = [*chosen.facts.warnings, *filter(None, notes)]
    return chosen


def _missed(graph: Graph, condition: str, name: str, value: Any) -> str:
    """Return a warning that no text of a column equals the value that it is compared with, or ""; collective.

    Raises:
        UsageError: the value is a number, which may be meant as one, such as 7 for 007.
    """
    names, attribute = graph.ids.names, graph.block.attributes.get(name)
    if not isinstance(value, str):
        return ""
    padded = [value.lstrip("0").zfill(width) for width in range(1, PADDED)] if is_number(value) else []
    texts = [value, *padded]
    if names is not None and name in ("source", "target"):
        equal = [number >= 0 for number in names.lookup(texts, graph.comm)]
        near = names.nearest(value, graph.comm)
    elif attribute is not None and attribute.words is not None:
        equal = np.isin([text.encode(*ENCODING) for text in texts], attribute.words).tolist()
        near = decode_names(most_like(value, attribute.words)).tolist()
    else:
        return ""
    if equal[0]:
        return ""
    near = list(dict.fromkeys([*compress(padded, equal[1:]), *near]))[:NEAREST]
    nearest = f"nearest to it: {', '.join(map(repr, near))}" if near else "none is near to it"
    text = f"--where {condition!r}: column {name} holds text, and no value of it equals {value!r}; {nearest}"
    if is_number(value):
        raise UsageError(f"{text}; write the text as the column has it{f', such as {near[0]}' if near else ''}")
    return text


def _compared(condition: str, kinds: Mapping[str, np.dtype]) -> tuple[str, Any, Any]:
    name, sign, word = parted(condition)
    kind = kinds[name].kind if name in kinds else "O"
    try:
        value = READERS.get(kind, _number)(word) if word or kind not in "MO" else None  # a missing time or text
    except (ValueError, KeyError):
        holds, wanted = {"M": ("times", "a time, such as 2024-03-01T12:00"), "b": ("booleans", "true or false")}.get(
            kind, ("numbers", "a number")
        )
        raise UsageError(
            f"--where {condition!r}: the column {name} holds {holds}, needs {wanted} to compare with, and got {word!r}"
        ) from None
    if kind == "O" and name in kinds and SIGNS[sign] not in (operator.eq, operator.ne):
        raise UsageError(
            f"--where {condition!r}: the column {name} holds text, which is compared by = and !=; one of numbers "
            "or times has nothing else in any row"
        )
    return name, SIGNS[sign], value


def _number(word: str) -> int | float:
    return int(word) if word.lstrip("+-").isdigit() else float(word)
