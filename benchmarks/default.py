"""Schedules ``auto``, ``twc`` and ``alb`` in turns on every row of ``gpu``, and the ratios to ``auto``.

``auto`` is what a call takes: with the persistent kernel, and for sssp on graphs with hubs the programs that gather.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks import anchors, record
from benchmarks.gpu import ROWS, program
from benchmarks.gpu import solve as solve_by_default
from benchmarks.schedules import Cut, solve
from dgraph.tools import benchmarking

SCHEDULES = ("twc", "alb")
LIMIT = 1.03
"""Ratio up to which a schedule counts as no slower."""


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Write ``default.json`` and ``default.md``, after each graph."""
    gpu = benchmarking.Gpu()
    document: dict = {"circumstances": record.circumstances(("cupy-cuda13x",)) | {"gpu": gpu.name}, "rows": []}
    for name in [g for g in anchors.RECIPES if g in graphs]:
        rows = [row for row in ROWS if row.graph == name]
        if not rows:
            continue
        drawn = anchors.graph(name)
        graph = benchmarking.GpuGraph(gpu, *drawn.rows, drawn.directed)
        source = anchors.sources(drawn, 1)[0]
        for row in rows:
            document["rows"].append({"graph": name, "work": row.work} | _turns(gpu, graph, row.work, source, repeat))
            print(_line(document["rows"][-1]), flush=True)
        record.write(folder, "default", document, _table(document["rows"]))
        del graph, drawn
        gpu.free_unused()


def _turns(gpu: benchmarking.Gpu, graph: benchmarking.GpuGraph, work: str, source: int, repeat: int) -> dict:
    """Return the median milliseconds of each schedule; None where a run was cut."""
    program_of_work, forced = program(work, source, graph)
    times: dict[str, list[float] | None] = {"auto": [], **{name: [] for name in SCHEDULES}}
    for _ in range(repeat):
        times["auto"] += solve_by_default(graph, work, source, 1)[0]  # type: ignore[operator]
        for name in SCHEDULES:
            taken = times[name]
            if taken is None:
                continue
            try:
                for _ in range(1 if taken else 2):  # the first one loads kernels
                    machine = benchmarking.Rounds(graph, program_of_work, forced, schedule=name)
                    taken.append(solve(gpu, machine))
            except Cut:
                times[name] = None
    medians = {name: None if taken is None else taken[name != "auto" :] for name, taken in times.items()}
    return {name: None if not taken else 1e3 * statistics.median(taken) for name, taken in medians.items()}


def _table(rows: list[dict]) -> str:
    head = "| graph | work | auto ms | twc ms | alb ms | twc ÷ auto | alb ÷ auto |\n|-|-|-|-|-|-|-|"
    alike = sum(bool(row["alb"]) and row["alb"] <= LIMIT * row["auto"] for row in rows)
    text = f"alb is within {LIMIT - 1:.0%} of auto, or faster, on {alike} of {len(rows)} rows."
    return "\n".join([head, *map(_line, rows), "", text]) + "\n"


def _line(row: dict) -> str:
    times = [f"{row[name]:,.2f}" if row[name] else "cut" for name in ("auto", *SCHEDULES)]
    ratios = [f"{row[name] / row['auto']:.2f}" if row[name] else "–" for name in SCHEDULES]
    return f"| {row['graph']} | {row['work']} | {' | '.join([*times, *ratios])} |"
