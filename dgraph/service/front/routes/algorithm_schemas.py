"""JSON Schema of each algorithm's parameters and result columns, from the register."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms import ALGORITHMS, Algorithm, Parameter

VERTEX = {"type": ["integer", "string"], "description": "vertex, by its id or its name"}
TYPES: dict[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    "vertices": {
        "oneOf": [
            {"type": "array", "items": VERTEX},
            {"type": "object", "additionalProperties": {"type": "number"}},
            {"type": "null"},
        ]
    },
}

NUMBER_OR_NULL = {"type": ["number", "null"]}
COLUMNS: dict[str, dict[str, Any]] = {
    "distance": {**NUMBER_OR_NULL, "description": "hops, or sum of weights, from the source; null: unreached"},
    "predecessor": {"type": ["integer", "string", "null"], "description": "vertex before; null: none"},
    "labels": {**VERTEX, "description": "smallest id of the component"},
    "pagerank": {"type": "number", "description": "share of time of the random walk"},
    "core_number": {"type": "integer", "description": "largest k of a k-core with the vertex"},
    "color": {"type": "integer", "description": "colour, from 0"},
}
RESULTS: dict[str, tuple[str, ...]] = {
    "bfs": ("distance", "predecessor"),
    "sssp": ("distance", "predecessor"),
    "cc": ("labels",),
    "pagerank": ("pagerank",),
    "kcore": ("core_number",),
    "color": ("color",),
}
"""Columns of each algorithm's result with the default parameters; of an algorithm not named here, any."""


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = {**TYPES.get(parameter.type, {}), "description": parameter.help}
    if parameter.name == "source":
        schema |= VERTEX
    elif parameter.default is not None:
        schema["default"] = parameter.default
    elif "type" in schema:
        schema["type"] = [schema["type"], "null"]
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.least is not None:
        schema["minimum"] = parameter.least
    return schema


def _algorithm(name: str, algorithm: type[Algorithm]) -> dict[str, Any]:
    columns = {"vertex": VERTEX, **{column: COLUMNS[column] for column in RESULTS.get(name, ())}}
    return {
        "name": name,
        "help": (algorithm.__doc__ or "").strip().partition("\n")[0],
        "weighted": algorithm.weighted,
        "undirected": algorithm.undirected,
        "parameters": {
            "type": "object",
            "properties": {each.name: _parameter(each) for each in algorithm.parameters.values()},
            "required": ["source"] if algorithm.needs_source else [],
            "additionalProperties": False,
        },
        "columns": {"type": "object", "properties": columns},
    }


def schemas() -> list[dict[str, Any]]:
    """Return the description of every algorithm."""
    return [_algorithm(name, algorithm) for name, algorithm in ALGORITHMS.items()]
