"""The schema of reports, and a check that a report fits it."""

import json
from importlib.resources import files

SCHEMA = json.loads((files("dgraph.report") / "schema.json").read_text())


def violations(value, schema, where="report"):
    """Yield violations of the schema; only the part of JSON Schema that our schema uses is implemented."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    words = {"$schema", "title", "description", "type", "const", "minimum", "required", "properties", "items", "$defs"}
    assert schema.keys() <= words | {"additionalProperties"}, f"{where}: extend this check"
    if "const" in schema and value != schema["const"]:
        yield f"{where} is {value!r}"
    if "type" in schema:
        numbers = {"integer": int, "number": (int, float)}
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        fits = [
            isinstance(value, numbers[name]) and not isinstance(value, bool)
            if name in numbers
            else isinstance(value, kinds[name])
            for name in names
        ]
        if not any(fits):
            yield f"{where} is {value!r}, not {schema['type']}"
            return
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        yield f"{where} is {value!r}"
    if isinstance(value, dict):
        yield from (f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, item in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            yield from violations(item, rule, f"{where}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from violations(item, schema.get("items", {}), f"{where}[{i}]")
