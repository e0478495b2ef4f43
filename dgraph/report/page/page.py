"""Self-contained HTML page of one run, or of several with their comparison.

Main entry: :func:`write_page`. Python reduces reports to columns of numbers, which the page holds as JSON; the modules
``drawing.js``, ``figures.js`` and ``page.js`` draw them, and stand in the page as one. The service's page imports
``drawing.js``, too. Neighbouring ranks and rounds are merged where there are many: the page of 64 ranks over 1,000
rounds stays below 1 MB.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from importlib.resources import files

from dgraph.report.comparison import columns, compare, differences, phases
from dgraph.report.fields import RANK, ROUND, SECONDS, TEXT, ReportField, read, shown_in, texts
from dgraph.report.report_file import replacing
from dgraph.report.tables import facts, headline, rounds_run
from dgraph.report.text_lines import printable
from dgraph.report.time_split import NAMES, PARTS, rounds_time, split
from dgraph.report.verdict import verdict

MOST_CELLS = 128
"""Upper bound of rows and columns of the map of rank pairs."""

MOST_ROWS, MOST_COLUMNS = 64, 512
"""Upper bounds of rows and columns of the map of ranks and rounds."""

MOST_ROUNDS = 1024
"""Upper bound of rounds drawn; of more, each group of neighbours is drawn as its longest round."""

MOST_BLOCKS, MOST_KERNELS = 264, 9
"""Upper bounds of columns in a figure of thread blocks, and of kernels with a colour of their own."""


def write_page(reports: Sequence[dict], path: str | os.PathLike) -> None:
    """Write the page of one run, or of several with their comparison, atomically to ``path``.

    Raises:
        OutputError: the file cannot be written; no partial file remains.
    """
    replacing(path, page(reports).encode(), "--html")


def page(reports: Sequence[dict]) -> str:
    """Return the HTML of the page."""
    rows = compare(reports)
    document: dict = {
        "runs": [figures(report) for report in reports],
        "rows": [asdict(row) for row in rows],
        "columns": [column._asdict() for column in columns(rows)],
        "phases": [column._asdict() for column in phases(rows)],
        "differences": differences(rows),
    }
    title = document["runs"][0]["title"] if len(reports) == 1 else f"{len(reports)} runs"
    return filled(title, document, (files("dgraph.report.page") / "page.js").read_text(encoding="utf-8"))


def filled(title: str, values: dict, script: str) -> str:
    """Return the HTML of a page whose ``script`` draws ``data`` with what ``drawing.js`` and ``figures.js`` export.

    All three become one module: a page that is opened from a file may not import others.
    """
    here = files("dgraph.report.page")
    modules = [(here / name).read_text(encoding="utf-8") for name in ("drawing.js", "figures.js")]
    parts = {
        "TITLE": escape(title),
        "STYLE": (here / "page.css").read_text(encoding="utf-8"),
        "SCRIPT": re.sub(r"^(?:import .*\n|export )", "", "".join([*modules, script]), flags=re.MULTILINE),
        # escaped, so that text of the report cannot close the script element
        "DATA": json.dumps(values, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = (here / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], text)


def figures(report: dict) -> dict:
    """Return what the page shows of one run; seconds and bytes, as in the report."""
    ranks, outcome = report["ranks"], report["outcome"]
    compute = [rank["seconds"].get("compute", 0.0) for rank in ranks]
    splits, slowest, most = [split(rank) for rank in ranks], rounds_time(report), max(compute)
    return {
        "title": printable(headline(report), None),
        "verdict": [printable(line, None) for line in verdict(report)],
        "facts": [printable(f"{label}: {text}", None) for label, text in facts(report)],
        "converged": outcome.get("converged", True),
        "created": report["created"],
        "command": shlex.join(report["command"]),
        "wall": report["wall_seconds"],
        "rounds_time": slowest,
        "rounds": rounds_run(report),
        "edges": report["rounds"]["frontier_edges"],
        "imbalance": most * len(compute) / sum(compute) if most else None,
        "compute_share": most / slowest if slowest else None,
        "hosts": [rank["host"] for rank in ranks],
        "parts": {name: [_short(rank["seconds"].get(name, 0.0)) for rank in ranks] for name in PARTS},
        "phases": {name: column for name in NAMES if any(column := [_short(one[name]) for one in splits])},
        "walls": [_short(rank["seconds"]["wall"]) for rank in ranks],
        "memory": [rank["peak_memory_bytes"] for rank in ranks],
        "planned": [rank.get("planned_memory_bytes") for rank in ranks],
        "columns": [
            {"name": field.name, "unit": field.unit, "values": [_figure(field, rank) for rank in ranks]}
            for field in shown_in("page", RANK)
        ],
        "pairs": _pairs(ranks),
        "series": _series(report["rounds"]),
        "map": _map(report),
        "load": _load(ranks),
        "kernels": _kernels(ranks),
        "gpu": _gpu(ranks),
    }


def _pairs(ranks: list[dict]) -> dict:
    """Return bytes and messages by sender and receiver; many ranks are merged into groups of neighbours."""
    group = math.ceil(len(ranks) / MOST_CELLS)
    cells = math.ceil(len(ranks) / group)
    sums = {what: [[0] * cells for _ in range(cells)] for what in ("bytes", "messages")}
    for rank in ranks:
        for peer in rank["sent"]:
            for what, table in sums.items():
                table[rank["rank"] // group][peer["peer"] // group] += peer[what]
    return {"group": group, **sums}


def _series(rounds: dict) -> dict:
    """Return the columns of the rounds that are drawn."""
    kept = rounds["kept"]
    group = math.ceil(len(kept) / MOST_ROUNDS) or 1
    shown = [max(kept[i : i + group], key=lambda row: row["seconds"]) for i in range(0, len(kept), group)]
    series: dict = {"of": rounds["count"]}
    for field in shown_in("drawn", ROUND):
        values = [_figure(field, row) for row in shown]
        if field.always or any(values):
            series[field.place.removeprefix("frontier_")] = values
    others = [f for f in shown_in("page", ROUND) if any(read(f, row) is not None for row in shown)]
    if others:
        cells = [texts(field, [read(field, row) for row in shown]) for field in others]
        names = [field.name for field in others]
        series["lines"] = ["\n".join(map(" ".join, zip(names, row, strict=True))) for row in zip(*cells, strict=True)]
    return series


def _map(report: dict) -> dict | None:
    """Return compute by rank and round: the max over merged ranks, the sum over merged rounds."""
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
    """Return edges of thread blocks on the rank with the most uneven ones."""
    counted = [rank for rank in ranks if "load" in rank]
    if not counted:
        return None
    rank = max(counted, key=lambda rank: rank["load"]["block"]["ratio"] or 0)
    load = rank["load"]
    kept = [profile(f"round {row['round']:,}, {row['schedule']}", row) for row in load["rounds"]]
    shown = {unit: load[unit] for unit in ("block", "warp", "thread")}
    return {"rank": rank["rank"], "profiles": [*kept, profile("all rounds", load)], **shown}


def profile(title: str, load: dict) -> dict:
    """Return edges of thread blocks by kernel; each group of neighbours is its fullest block."""
    kernels, blocks = load["by_block"], max(map(len, load["by_block"].values()))
    padded = {name: edges + [0] * (blocks - len(edges)) for name, edges in kernels.items()}
    totals = [sum(parts) for parts in zip(*padded.values(), strict=True)]
    group = math.ceil(blocks / MOST_BLOCKS)
    fullest = [max(range(i, min(i + group, blocks)), key=totals.__getitem__) for i in range(0, blocks, group)]
    ratio = "" if load["block"]["ratio"] is None else f", max/mean {load['block']['ratio']:.2f}"
    return {
        "title": f"{title}: {load['edges']:,} edges{ratio}",
        "group": group,
        "most": max(totals),
        "columns": {name: [edges[i] for i in fullest] for name, edges in padded.items()},
    }


def _kernels(ranks: list[dict]) -> dict[str, list[float]] | None:
    """Return seconds of every rank by kernel; the smallest kernels are merged."""
    sums: dict[str, list[float]] = {}
    for position, rank in enumerate(ranks):
        for row in rank.get("kernels", ()):
            name = f"{row['schedule']} {row['kernel']}".strip()
            sums.setdefault(name, [0.0] * len(ranks))[position] += row["seconds"]
    names = sorted(sums, key=lambda name: -sum(sums[name]))
    for name in names[MOST_KERNELS:]:
        rest = sums.setdefault("others", [0.0] * len(ranks))
        rest[:] = [a + b for a, b in zip(rest, sums.pop(name), strict=True)]
    return {name: [_short(value) for value in column] for name, column in sums.items()} or None


def _gpu(ranks: list[dict]) -> dict | None:
    if not any("gpu_memory" in rank for rank in ranks):
        return None
    memories = [rank.get("gpu_memory", {}) for rank in ranks]
    return {key: [one.get(f"{key}_bytes", 0) for one in memories] for key in ("peak", "planned")}


def _figure(field: ReportField, entry: dict):
    value = read(field, entry)
    return _short(value or 0.0) if field.unit == SECONDS else 0 if value is None and field.unit != TEXT else value


def _short(seconds: float) -> float:
    return float(f"{seconds:.4g}")
