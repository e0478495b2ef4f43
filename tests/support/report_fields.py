"""Write the table of report fields into ``schema.json`` and docs/guide/reports.md; run it when the table changes.

``python tests/support/report_fields.py``; ``tests/report/test_fields.py`` compares them with the table.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEMA, GUIDE = ROOT / "dgraph" / "report" / "schema.json", ROOT / "docs" / "guide" / "reports.md"
HEAD = "|field|unit|of a|meaning|shown in|\n|-|-|-|-|-|\n"
LONGEST = 110


def schema(text):
    """Return the text of the schema with a rule for each field of the table."""
    from dgraph.report.fields import FIELDS, NUMBER, RANK, RANK_ROUND, ROUND, SECONDS, TEXT

    whole = json.loads(text)
    rank = whole["properties"]["ranks"]["items"]
    homes = {RANK: rank, ROUND: whole["$defs"]["round"], RANK_ROUND: rank["properties"]["rounds"]}
    for field in FIELDS:
        node = homes.get(field.per, whole)
        *keys, last = field.place.split(".")
        for key in keys:
            node = node["properties"][key]
            node = node.get("items", node)
        number = "number" if field.unit in (SECONDS, NUMBER) or field.per == RANK_ROUND else "integer"
        kind = {"type": "string"} if field.unit == TEXT else {"type": number, "minimum": 0}
        if field.per == RANK_ROUND:
            kind = {"type": "array", "items": kind}
        rules = node.setdefault("properties", {})
        rules[last] = kind | rules.get(last, {}) | {"description": field.meaning}
        if field.always and last not in node.get("required", ()):
            node.setdefault("required", []).append(last)
    return f"{written(whole)}\n"


def written(value, depth=0):
    """Return JSON with short objects, and those of plain values, on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or not any(isinstance(part, dict) for part in value.values()) or len(line) < LONGEST:
        return line if depth else f"{{\n {line[1:-1]}\n}}"
    rows = [f"{json.dumps(key)}: {written(part, depth + 1)}" for key, part in value.items()]
    margin = " " * (depth + 1)
    return "{\n" + margin + f",\n{margin}".join(rows) + "\n" + " " * depth + "}"


def guide(text):
    """Return the text of the guide's page with a row for each field of the table."""
    from dgraph.report.fields import FIELDS

    rows = [f"|`{field.name}`|{field.unit}|{field.per}|{field.meaning}|{', '.join(field.shown)}|\n" for field in FIELDS]
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: HEAD + "".join(rows), text)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for file, change in ((SCHEMA, schema), (GUIDE, guide)):
        file.write_text(change(file.read_text()))
