"""JSON Schema of each algorithm's parameters and result columns, from the register."""

from __future__ import annotations

from typing import Any

from dgraph.algorithms import ALGORITHMS, Algorithm, Parameter, ResultColumn

VERTEX = {"type": ["integer", "string"], "description": "vertex, by its id or its name"}
TYPES: dict[Any, dict[str, Any]] = {
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    "vertex": {**VERTEX, "type": [*VERTEX["type"], "null"]},
    "vertices": {
        "oneOf": [
            {"type": "array", "items": VERTEX},
            {"type": "object", "additionalProperties": {"type": "number"}},
            {"type": "null"},
        ]
    },
}
KINDS = {"integer": ["integer"], "number": ["number"], "vertex": ["integer", "string"]}
"""Kind of a column → types of its values in JSON."""


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = {**TYPES.get(parameter.type, {}), "description": parameter.help}
    if parameter.groups:
        schema = {"type": ["array", "null"], "items": TYPES["vertices"], "description": parameter.help}
    if parameter.name == "source":
        schema |= VERTEX
    elif parameter.default is not None:
        schema["default"] = parameter.default
    elif isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if parameter.choices:
        schema["enum"] = list(parameter.choices)
    if parameter.least is not None:
        schema["minimum"] = parameter.least
    return schema


def _column(column: ResultColumn) -> dict[str, Any]:
    types = [*KINDS[column.kind], *["null"] * column.nullable]
    return {"type": types if len(types) > 1 else types[0], "description": column.help}


def _algorithm(name: str, algorithm: type[Algorithm]) -> dict[str, Any]:
    columns = {"vertex": VERTEX, **{column: _column(row) for column, row in algorithm.columns.items()}}
    return {
        "name": name,
        "help": (algorithm.__doc__ or "").strip().partition("\n")[0],
        "weighted": algorithm.weighted,
        "undirected": algorithm.undirected,
        "residual": algorithm.residual,
        "parameters": {
            "type": "object",
            "properties": {p.name: _parameter(p) for p in algorithm.parameters.values() if not p.on_host},
            "required": ["source"] if algorithm.needs_source else [],
            "additionalProperties": False,
        },
        "columns": {"type": "object", "properties": columns},
    }


def schemas() -> list[dict[str, Any]]:
    """Return the description of every algorithm."""
    return [_algorithm(name, algorithm) for name, algorithm in ALGORITHMS.items()]
