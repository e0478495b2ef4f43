"""Signatures of the typed functions ``dgraph.bfs``, ``dgraph.sssp`` …, from the register of algorithms.

:func:`signature` and :func:`docstring` describe a function at run time; ``dgraph/tools/typed_functions.py`` writes the
same for type checkers.
"""

from __future__ import annotations

from inspect import Parameter as Argument
from inspect import Signature, cleandoc
from typing import Any

from dgraph.algorithms.base import Algorithm, Parameter

TYPES = {int: "int", float: "float", bool: "bool", str: "str", "vertex": "int | str", "vertices": "Vertices"}
"""Type of a parameter → its annotation."""

SETTINGS = {
    "options": ("Options | None", None, "how the rounds go"),
    "validate": ("bool", False, "check the answer by a certificate"),
    "checkpoint": ("Checkpoint | str | None", None, "folder and times of checkpoints"),
}
"""Arguments that every function has: name → annotation, default, help."""

WEIGHT = {"weight": ("str | None", None, "a kept attribute of the edges that is their weight; None: the graph's own")}
"""Argument of algorithms that use weights."""

CONTINUES = {"previous": ("Result | None", None, "an earlier result to start from, see dgraph.run")}
"""Arguments of algorithms that may start from an earlier answer."""


def signature(algorithm: type[Algorithm]) -> Signature:
    """Return the signature of an algorithm's function: graph, source, then keywords."""
    arguments = [Argument("graph", Argument.POSITIONAL_OR_KEYWORD, annotation="GraphLike")]
    rows = sorted(algorithm.parameters.values(), key=lambda row: row.name != "source")
    for row in rows:
        kind = Argument.POSITIONAL_OR_KEYWORD if row.name == "source" else Argument.KEYWORD_ONLY
        default = Argument.empty if _required(algorithm, row) else row.default
        arguments.append(Argument(row.name, kind, default=default, annotation=_annotation(algorithm, row)))
    for name, (annotation, default, _) in _settings(algorithm).items():
        arguments.append(Argument(name, Argument.KEYWORD_ONLY, default=default, annotation=annotation))
    return Signature(arguments, return_annotation="Result")


def docstring(algorithm: type[Algorithm]) -> str:
    """Return the text of ``help(dgraph.NAME)``."""
    rows = [f"    {row.name}: {row.help}." for row in algorithm.parameters.values()]
    rows += [f"    {name}: {text}." for name, (_, _, text) in _settings(algorithm).items()]
    text = [cleandoc(algorithm.__doc__ or ""), "", "Args:"]
    text += ["    graph: a Graph, or a file or generator to load with defaults.", *rows]
    return "\n".join(text)


def _settings(algorithm: type[Algorithm]) -> dict[str, tuple[str, Any, str]]:
    weight = WEIGHT if algorithm.weighted or "weighted" in algorithm.parameters else {}
    return weight | (SETTINGS | CONTINUES if algorithm.continues else SETTINGS)


def _required(algorithm: type[Algorithm], row: Parameter) -> bool:
    return row.name == "source" and algorithm.needs_source


def _annotation(algorithm: type[Algorithm], row: Parameter) -> str:
    if _required(algorithm, row):
        return "int | str"
    if row.choices and all(isinstance(choice, str) for choice in row.choices):
        text = f"Literal[{', '.join(repr(choice) for choice in row.choices)}]"
    else:
        text = f"Sequence[{TYPES[row.type]}]" if row.groups else TYPES.get(row.type, "Any")
    return text if row.default is not None or text == "Any" else f"{text} | None"
