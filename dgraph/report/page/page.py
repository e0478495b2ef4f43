"""Reports to the figures that the page shows, and these with style and script into one text.

Everything is in the page, as data that its script draws: so 64 ranks over 1,000 rounds stay below 1 MB. What would grow
beyond that is put together first: neighbouring ranks and rounds share a cell of the maps.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files

from dgraph.report.compare import compare
from dgraph.report.table import headline
from dgraph.report.trace import PARTS
from dgraph.report.write import replacing

MOST_CELLS = 128
"""Rows and columns of the map of rank pairs."""

MOST_ROWS, MOST_COLUMNS = 64, 512
"""Of the map of ranks and rounds."""

MOST_ROUNDS = 1024
"""Drawn one by one; of more the longest of neighbours is."""

PHASES = ("load", "partition", "build", "compile", "init", *PARTS, "validate", "output")


def write_page(reports: Sequence[dict], path: str | os.PathLike) -> None:
    """Write the page of one run, or of several with their comparison, replacing ``path`` in one step.

    Raises:
        OutputError: the system refused; nothing is left behind.
    """
    replacing(path, page(reports).encode(), "--html")


def page(reports: Sequence[dict]) -> str:
    """The text of the page."""
    here = files("dgraph.report.page")
    data = {"runs": [figures(report) for report in reports], "rows": [asdict(row) for row in compare(reports)]}
    title = data["runs"][0]["title"] if len(reports) == 1 else f"{len(reports)} runs"
    parts = {
        "TITLE": escape(title),
        "STYLE": (here / "page.css").read_text(encoding="utf-8"),
        "SCRIPT": "".join((here / name).read_text(encoding="utf-8") for name in ("figures.js", "page.js")),
        # a report's own words cannot end the element that holds them
        "DATA": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = (here / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], text)


def figures(report: dict) -> dict:
    """What the page shows of one run. Seconds and bytes, as in the report."""
    ranks, outcome = report["ranks"], report["outcome"]
    title, *facts = headline(report).splitlines()
    compute = [rank["seconds"].get("compute", 0.0) for rank in ranks]
    solving = [sum(rank["seconds"].get(part, 0.0) for part in PARTS) for rank in ranks]
    most, slowest = max(compute), max(solving)
    return {
        "title": title,
        "facts": [line.strip() for line in facts],
        "converged": outcome.get("converged", True),
        "created": report["created"],
        "command": " ".join(report["command"]),
        "wall": report["wall_seconds"],
        "solving": slowest,
        "rounds": outcome.get("rounds", report["rounds"]["count"]),
        "edges": report["rounds"]["frontier_edges"],
        "balance": sum(compute) / len(compute) / most if most else None,
        "communication": most / slowest if slowest else None,
        "hosts": [rank["host"] for rank in ranks],
        "parts": {name: [_short(rank["seconds"].get(name, 0.0)) for rank in ranks] for name in PARTS},
        "phases": {
            name: column for name in PHASES if any(column := [_short(rank["seconds"].get(name, 0.0)) for rank in ranks])
        },
        "walls": [_short(rank["seconds"]["wall"]) for rank in ranks],
        "memory": [rank["peak_memory_bytes"] for rank in ranks],
        "planned": [rank.get("planned_memory_bytes") for rank in ranks],
        "counts": {name: [rank["counts"].get(name, 0) for rank in ranks] for name in ("masters", "mirrors", "edges")},
        "pairs": _pairs(ranks),
        "series": _series(report["rounds"]),
        "map": _map(report),
    }


def _pairs(ranks: list[dict]) -> dict:
    """Bytes and messages by sender and receiver; with many ranks, of groups of neighbours."""
    group = math.ceil(len(ranks) / MOST_CELLS)
    cells = math.ceil(len(ranks) / group)
    sums = {what: [[0] * cells for _ in range(cells)] for what in ("bytes", "messages")}
    for rank in ranks:
        for peer in rank["sent"]:
            for what, table in sums.items():
                table[rank["rank"] // group][peer["peer"] // group] += peer[what]
    return {"group": group, **sums}


def _series(rounds: dict) -> dict:
    """Columns of the rounds that are drawn."""
    kept = rounds["kept"]
    group = math.ceil(len(kept) / MOST_ROUNDS) or 1
    shown = [max(kept[i : i + group], key=lambda row: row["seconds"]) for i in range(0, len(kept), group)]
    columns = {
        name: [row.get(key) for row in shown]
        for name, key in (
            ("round", "round"), ("direction", "direction"), ("schedule", "schedule"),
            ("vertices", "frontier_vertices"), ("edges", "frontier_edges"),
        )
    }  # fmt: skip
    columns["seconds"] = [_short(row["seconds"]) for row in shown]
    if not any(columns["schedule"]):
        del columns["schedule"]
    return {"of": rounds["count"], **columns}


def _map(report: dict) -> dict | None:
    """Seconds of compute by rank and round: neighbouring ranks by their largest, neighbouring rounds by their sum."""
    ranks, kept = report["ranks"], report["rounds"]["kept"]
    if not kept or not all("rounds" in rank for rank in ranks):
        return None
    tall, wide = math.ceil(len(ranks) / MOST_ROWS), math.ceil(len(kept) / MOST_COLUMNS)
    rows = []
    for first in range(0, len(ranks), tall):
        some = [rank["rounds"]["compute"] for rank in ranks[first : first + tall]]
        sums = [[sum(row[i : i + wide]) for i in range(0, len(kept), wide)] for row in some]
        rows.append([round(max(cell) * 1e6) for cell in zip(*sums, strict=True)])
    return {"ranks": tall, "rounds": wide, "first": [row["round"] for row in kept[::wide]], "microseconds": rows}


def _short(seconds: float) -> float:
    return float(f"{seconds:.4g}")
