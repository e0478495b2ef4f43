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

from dgraph.engine.rounds.timings import PARTS
from dgraph.report.comparison import compare
from dgraph.report.report_file import replacing
from dgraph.report.tables import headline

MOST_CELLS = 128
"""Rows and columns of the map of rank pairs."""

MOST_ROWS, MOST_COLUMNS = 64, 512
"""Of the map of ranks and rounds."""

MOST_ROUNDS = 1024
"""Drawn one by one; of more the longest of neighbours is."""

MOST_BLOCKS, MOST_KERNELS = 264, 9
"""Columns of a load figure; kernels that are told apart."""

PHASES = ("load", "partition", "build", "prepare", "compile", "init", *PARTS, "validate", "output")


def write_page(reports: Sequence[dict], path: str | os.PathLike) -> None:
    """Write the page of one run, or of several with their comparison, replacing ``path`` in one step.

    Raises:
        OutputError: the system refused; nothing is left behind.
    """
    replacing(path, page(reports).encode(), "--html")


def page(reports: Sequence[dict]) -> str:
    """The text of the page."""
    data = {"runs": [figures(report) for report in reports], "rows": [asdict(row) for row in compare(reports)]}
    title = data["runs"][0]["title"] if len(reports) == 1 else f"{len(reports)} runs"
    return filled(title, data, (files("dgraph.report.page") / "page.js").read_text(encoding="utf-8"))


def filled(title: str, data: dict, script: str) -> str:
    """A page whose ``script`` draws ``data`` with the figures of ``figures.js``."""
    here = files("dgraph.report.page")
    parts = {
        "TITLE": escape(title),
        "STYLE": (here / "page.css").read_text(encoding="utf-8"),
        "SCRIPT": (here / "figures.js").read_text(encoding="utf-8") + script,
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
        "load": _load(ranks),
        "kernels": _kernels(ranks),
        "gpu": _gpu(ranks),
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


def _load(ranks: list[dict]) -> dict | None:
    """Edges of thread blocks on the rank where they lie least even."""
    counted = [rank for rank in ranks if "load" in rank]
    if not counted:
        return None
    rank = max(counted, key=lambda rank: rank["load"]["block"]["ratio"] or 0)
    load = rank["load"]
    kept = [profile(f"round {row['round']:,}, {row['schedule']}", row) for row in load["rounds"]]
    shown = {unit: load[unit] for unit in ("block", "warp", "thread")}
    return {"rank": rank["rank"], "profiles": [*kept, profile("all rounds", load)], **shown}


def profile(title: str, load: dict) -> dict:
    """Edges of thread blocks by kernel, neighbours put together: of each group the fullest block."""
    kernels, blocks = load["by_block"], max(map(len, load["by_block"].values()))
    padded = {name: edges + [0] * (blocks - len(edges)) for name, edges in kernels.items()}
    totals = [sum(parts) for parts in zip(*padded.values(), strict=True)]
    group = math.ceil(blocks / MOST_BLOCKS)
    fullest = [max(range(i, min(i + group, blocks)), key=totals.__getitem__) for i in range(0, blocks, group)]
    ratio = "" if load["block"]["ratio"] is None else f", fullest ÷ mean {load['block']['ratio']:.2f}"
    return {
        "title": f"{title}: {load['edges']:,} edges{ratio}",
        "group": group,
        "most": max(totals),
        "columns": {name: [edges[i] for i in fullest] for name, edges in padded.items()},
    }


def _kernels(ranks: list[dict]) -> dict[str, list[float]] | None:
    """Seconds of every rank by kernel, those of least put together."""
    sums: dict[str, list[float]] = {}
    for at, rank in enumerate(ranks):
        for row in rank.get("kernels", ()):
            name = f"{row['schedule']} {row['kernel']}".strip()
            sums.setdefault(name, [0.0] * len(ranks))[at] += row["seconds"]
    names = sorted(sums, key=lambda name: -sum(sums[name]))
    for name in names[MOST_KERNELS:]:
        rest = sums.setdefault("others", [0.0] * len(ranks))
        rest[:] = [a + b for a, b in zip(rest, sums.pop(name), strict=True)]
    return {name: [_short(value) for value in column] for name, column in sums.items()} or None


def _gpu(ranks: list[dict]) -> dict | None:
    if not any("gpu_memory" in rank for rank in ranks):
        return None
    known = [rank.get("gpu_memory", {}) for rank in ranks]
    return {key: [one.get(f"{key}_bytes", 0) for one in known] for key in ("peak", "planned")}


def _short(seconds: float) -> float:
    return float(f"{seconds:.4g}")
