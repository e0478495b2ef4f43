"""Label propagation, ten rounds: time of the rounds and of whole calls, on this rank's device."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import dgraph
from benchmarks import record

GRAPHS = {
    "rmat18": "rmat:18,symmetric", "rmat22": "rmat:22,symmetric", "rmat25": "rmat:25,symmetric",
    "road4900": "road:4900x4900",
}  # fmt: skip


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Write ``labels-cpu.json`` and ``.md``; with a GPU, ``labels-gpu``. The first answer is validated."""
    rows = []
    for name in graphs:
        graph = dgraph.Graph.load(GRAPHS[name])
        gpu = dgraph.run("cdlp", graph, validate=True).report["ranks"][0].get("gpu")
        rounds, whole = [], []
        for _ in range(repeat):
            began = time.perf_counter()
            run = dgraph.run("cdlp", graph)
            whole.append(time.perf_counter() - began)
            rounds.append(run.report["ranks"][0]["seconds"]["compute"])
        rows.append({"graph": name, "rounds": run.rounds, "seconds": rounds, "whole": whole})
        print(_line(rows[-1]), flush=True)
    where = record.circumstances(("cupy-cuda13x",) if gpu else ()) | ({"gpu": gpu["name"]} if gpu else {})
    record.write(folder, f"labels-{'gpu' if gpu else 'cpu'}", {"circumstances": where, "rows": rows}, _table(rows))


def _table(rows: list[dict]) -> str:
    return "\n".join(["| graph | rounds | ms (least–most) | whole call, ms |", "|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    median, least, most = (1e3 * statistic(row["seconds"]) for statistic in (statistics.median, min, max))
    whole = 1e3 * statistics.median(row["whole"])
    return f"| {row['graph']} | {row['rounds']} | {median:,.2f} ({least:,.2f}–{most:,.2f}) | {whole:,.2f} |"
