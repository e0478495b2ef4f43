"""Data for ``--schedule auto``: seconds of every round under each candidate, on graphs used for no other benchmark.

Each round is timed separately, with a wait at its end. ``tuning.json`` has every round. A table groups large rounds by
vertices and by edges per vertex, and gives each candidate's time over the fastest one's. A second table has whole runs
of ``auto``, by the size up to which rounds stay in the persistent kernel.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks import anchors, record
from benchmarks.gpu import program
from benchmarks.schedules import solve
from dgraph.tools import benchmarking
from dgraph.tools.benchmarking import LOW_DEGREE, PERSISTENT_LIMIT

Recipe = anchors.Recipe
GRAPHS = {
    "rmat21sym": Recipe("rmat", (21, 16 << 21, 31, 0.57, 0.19, 0.19), True, 255, 0, 0),
    "rmat23alb": Recipe("rmat", (23, 16 << 23, 32, 0.61, 0.334, 0.045), False, 255, 0, 0),
    "rmat21gt": Recipe("rmat", (21, 8 << 21, 33, 0.45, 0.22, 0.22), False, 255, 0, 0),
    "er22": Recipe("uniform", (22, 32 << 20, 34), False, 255, 0, 0),
    "road9M": Recipe("road", (3000, 3000, 0.62, 35), True, 1000, 0, 0),
}
CANDIDATES = (
    "vertex", "warp_search", "virtual_warp", "twc", "lb", "alb", "warp_shares", "expand_balanced", "merge_path",
)  # fmt: skip
MOST_ROUNDS = 300
"""Limit of rounds per run; further rounds of a road network are similar."""


HOPELESS = 1 << 20
"""Edges of one vertex above which schedules that give it to one thread are skipped."""


SMALL = tuple(1 << k for k in range(17, 25))


def rounds(gpu: benchmarking.Gpu, graph: benchmarking.GpuGraph, work: str, source: int, schedule: str) -> list[dict]:
    """Return the vertices, edges, largest degree and seconds of each round."""
    program_of_work, forced = program(work, source, graph)
    machine = benchmarking.Rounds(graph, program_of_work, forced, schedule=schedule)
    machine.start()
    rows = []
    while not machine.done and machine.rounds < MOST_ROUNDS:
        row = machine.frontier()
        gpu.wait()
        began = time.perf_counter()
        machine.go(1)
        gpu.wait()
        rows.append(row | {"seconds": time.perf_counter() - began})
    return rows


def whole(gpu: benchmarking.Gpu, graph: benchmarking.GpuGraph, work: str, source: int, small: int) -> float:
    """Return seconds of a run of ``auto``."""
    program_of_work, forced = program(work, source, graph)
    return solve(gpu, benchmarking.Rounds(graph, program_of_work, forced, limit=small))


def measure(repeat: int, folder: Path) -> None:
    """Run everything and write ``tuning.json`` and ``tuning.md``."""
    gpu = benchmarking.Gpu()
    document: dict = {"circumstances": record.circumstances(("cupy-cuda13x",)) | {"gpu": gpu.name}, "runs": []}
    document["small"] = []
    for name, recipe in GRAPHS.items():
        drawn = anchors.drawn(recipe)
        graph = benchmarking.GpuGraph(gpu, *drawn.rows, drawn.directed)
        source = anchors.sources(drawn, 1)[0]
        for work in ("bfs top-down", "sssp"):
            for schedule in CANDIDATES:
                if schedule == "vertex" and graph.largest > HOPELESS:
                    continue
                every = [rounds(gpu, graph, work, source, schedule) for _ in range(repeat + 1)][1:]
                alike = [one for one in every if len(one) == len(every[0])]
                seconds = np.min([[row["seconds"] for row in one] for one in alike], axis=0)
                kept = [row | {"seconds": float(s)} for row, s in zip(every[0], seconds, strict=True)]
                document["runs"].append({"graph": name, "work": work, "schedule": schedule, "rounds": kept})
                print(name, work, schedule, f"{1000 * seconds.sum():.2f} ms", flush=True)
            for small in SMALL:
                least = min(whole(gpu, graph, work, source, small) for _ in range(repeat + 2))
                document["small"].append({"graph": name, "work": work, "small": small, "seconds": least})
        del graph, drawn
        gpu.free_unused()
    record.write(folder, "tuning", document, table(document["runs"]) + "\n" + small_table(document["small"]))


def table(runs: list[dict]) -> str:
    """Return the time of each candidate over the fastest one's, by kind of round.

    Only bfs is compared: its rounds are the same under every schedule.
    """
    sums: dict[tuple, dict[str, float]] = {}
    for graph in GRAPHS:
        searches = [run for run in runs if (run["graph"], run["work"]) == (graph, "bfs top-down")]
        mine = {run["schedule"]: run["rounds"] for run in searches}
        for i, row in enumerate(mine["lb"]):
            if max(row["vertices"], row["edges"]) <= PERSISTENT_LIMIT:
                continue
            degree, skew = row["edges"] / max(row["vertices"], 1), row["largest"] > LOW_DEGREE
            kind = graph, f"2^{int(np.log2(row['vertices'] + 1))}", f"{degree:.0f}", "yes" if skew else "no"
            times = sums.setdefault(kind, dict.fromkeys(mine, 0.0))
            for schedule, rounds_of in mine.items():
                times[schedule] += rounds_of[i]["seconds"] if i < len(rounds_of) else 0.0
    lines = [
        f"| graph | vertices | edges a vertex | above {LOW_DEGREE} | " + " | ".join(CANDIDATES) + " |",
        "|-" * (len(CANDIDATES) + 4) + "|",
    ]
    for kind, times in sums.items():
        least = min(times.values())
        lines.append(
            f"| {' | '.join(kind)} | "
            + " | ".join(f"{times[c] / least:.2f}" if c in times else "–" for c in CANDIDATES)
            + " |"
        )
    return "\n".join(lines) + "\n"


def small_table(rows: list[dict]) -> str:
    """Return milliseconds by graph, algorithm and limit."""
    lines = ["| graph | work | " + " | ".join(f"2^{small.bit_length() - 1}" for small in SMALL) + " |"]
    lines.append("|-" * (len(SMALL) + 2) + "|")
    for graph, work in dict.fromkeys((row["graph"], row["work"]) for row in rows):
        mine = {row["small"]: 1000 * row["seconds"] for row in rows if (row["graph"], row["work"]) == (graph, work)}
        lines.append(f"| {graph} | {work} | " + " | ".join(f"{mine[small]:.2f}" for small in SMALL) + " |")
    return "\n".join(lines) + "\n"
