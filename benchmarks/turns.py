"""Two schedules on one GPU in alternation, to resolve differences of a few per cent."""

from __future__ import annotations

import statistics
from pathlib import Path

from benchmarks import anchors, record
from benchmarks.schedules import Entry, solve, works
from dgraph.tools import benchmarking

PAIR = ("twc", "alb")
UNCOUNTED = 2
"""Untimed runs of each schedule, which load kernels and warm caches."""


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run both ``repeat`` times on every graph with every algorithm, and write ``turns.json`` and ``turns.md``."""
    gpu = benchmarking.Gpu()
    rows = []
    for name in graphs:
        drawn = anchors.graph(name)
        graph = benchmarking.GpuGraph(gpu, *drawn.rows, drawn.directed)
        source = anchors.sources(drawn, 1)[0]
        for short, work in works(drawn.directed).items():
            times: dict[str, list[float]] = {schedule: [] for schedule in PAIR}
            for turn in range(repeat + UNCOUNTED):
                for schedule in PAIR if turn % 2 else PAIR[::-1]:
                    times[schedule].append(solve(gpu, Entry(schedule).machine(graph, work, source)))
            rows.append({"graph": name, "work": short} | {key: times_of[UNCOUNTED:] for key, times_of in times.items()})
            print(_line(rows[-1]), flush=True)
        del graph, drawn
        gpu.free_unused()
    where = record.circumstances(("cupy-cuda13x",)) | {"gpu": gpu.name}
    record.write(folder, "turns", {"circumstances": where, "rows": rows}, _table(rows))


def _table(rows: list[dict]) -> str:
    first, second = PAIR
    head = f"| graph | work | {first} ms (least) | {second} ms (least) | {second} ÷ {first} |"
    return "\n".join([head, "|-|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    medians = [1e3 * statistics.median(row[schedule]) for schedule in PAIR]
    cells = [f"{median:,.2f} ({1e3 * min(row[key]):,.2f})" for key, median in zip(PAIR, medians, strict=True)]
    return f"| {row['graph']} | {row['work']} | {' | '.join(cells)} | {medians[1] / medians[0]:.3f} |"
