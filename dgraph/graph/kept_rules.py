"""The option ``keep``: columns that are kept with the edges, and the value of each where parallel edges merge."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from dgraph.comm.base import Comm
from dgraph.errors import UsageError, shown, unknown

RULES = ("first", "min", "max", "sum")
"""Values of merged parallel edges: that of the edge listed first, the smallest, the largest, the sum."""
ORDERED = RULES[:3]
NAMED = ("source", "target", "weight")
"""Columns that every edge has; no attribute has their names."""


def keep_text(keep: Any) -> str | None:
    """Return the option ``keep`` as text ``NAME[:RULE],…``: of text, of a list of such, of a dict name → rule, or None.

    Raises:
        UsageError: another value.
    """
    if keep is None or isinstance(keep, str):
        return keep
    words = [f"{name}:{rule}" for name, rule in keep.items()] if isinstance(keep, Mapping) else keep
    if not isinstance(words, (list, tuple)) or not words or not all(isinstance(word, str) for word in words):
        raise UsageError(
            f"keep = {shown(keep)} is not valid: give names of columns, as text NAME[:RULE],… or as a list, or a dict "
            f"name → rule; rules of merged parallel edges are {', '.join(RULES)}"
        )
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(words)
    return line.getvalue()


def kept_rules(keep: str | None) -> dict[str, str]:
    """Return name → rule of the columns that the text ``keep`` names; a name with a comma is quoted, as in CSV.

    Raises:
        UsageError: a name that is empty or given twice, or one of :data:`NAMED`.
    """
    rules: dict[str, str] = {}
    for word in next(csv.reader([keep], skipinitialspace=True), []) if keep is not None else ():
        name, _, rule = word.rpartition(":")
        if rule not in RULES:
            name, rule = word, "first"
        if not name or name in rules:
            raise UsageError(
                f"keep {keep!r}: {f'{name} stands there twice' if name else 'a name is empty'}; correct it"
            )
        if name in NAMED:
            raise UsageError(f"keep {name}: every edge has a {name}; rename the column")
        rules[name] = rule
    if keep is not None and not rules:
        raise UsageError("keep names no column; give names, or leave keep out")
    return rules


def keep_note(rules: Mapping[str, str]) -> str:
    """Return the note of the load line on the kept columns."""
    words = [name if rule == "first" else f"{name} ({rule})" for name, rule in rules.items()]
    return f"keeps {', '.join(words)}"


def named_columns(keep: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns and the rules of ``keep`` of ``from_edges``: name → column, or a pair (column, rule).

    Raises:
        UsageError: another value, or an unknown rule.
    """
    if not isinstance(keep, Mapping | None):
        raise UsageError(f"keep = {shown(keep)} is not valid: give a dict name → values, or name → (values, rule)")
    columns, rules = {}, {}
    for name, column in (keep or {}).items():
        paired = isinstance(column, tuple) and len(column) == 2 and isinstance(column[1], str)
        columns[name], rule = column if paired else (column, "first")
        if rule not in RULES:
            raise unknown(f"rule of the kept column {name}", rule, RULES)
        if not isinstance(name, str) or not name or name in NAMED:
            raise UsageError(f"keep {shown(name)}: give each column a name that is not {', '.join(NAMED)}")
        rules[name] = rule
    return columns, rules


def shared_rules(rules: dict[str, str], comm: Comm) -> dict[str, str]:
    """Return the rules of every rank in one order; those of a rank without any are the other ranks'; collective.

    Raises:
        UsageError: two ranks name different columns, or different rules.
    """
    by_rank = [other for other in comm.allgather_json(rules) if other]
    if any(other != by_rank[0] for other in by_rank):
        texts = " and ".join(sorted({str(keep_text(other)) for other in by_rank}))
        raise UsageError(f"keep: ranks pass {texts}; pass the same columns and rules on each, or None without edges")
    return by_rank[0] if by_rank else rules
