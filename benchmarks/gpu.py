"""One GPU on the graphs that Gunrock and cuGraph were measured on: milliseconds beside theirs.

Only the rounds are timed: from ``init`` to the end of the last round, with the answer in GPU memory. Loading, building
and compiling are not timed, as they were not for the peers.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import anchors, record
from dgraph.program import Program
from dgraph.tools import benchmarking


@dataclass(frozen=True)
class Row:
    """One algorithm on one graph, and the peers' milliseconds: (least, most), or None without an answer."""

    graph: str
    work: str
    sources: int
    gunrock: tuple[float, float] | None
    cugraph: tuple[float, float] | None


ROWS = (
    Row("rmat25", "bfs", 4, (32, 39), (22.5, 24)),
    Row("rmat25", "sssp", 4, (66, 113), (123, 168)),
    Row("rmat25", "pagerank", 1, (148, 148), (100, 100)),
    Row("rmat25alb", "bfs", 1, (28.7, 28.7), (37, 37)),
    Row("rmat25alb", "sssp", 1, (103, 103), (495, 514)),
    Row("rmat25alb", "pagerank", 1, None, (195, 195)),
    Row("rmat24sym", "bfs top-down", 4, (27, 45), (17, 19)),
    Row("rmat24sym", "bfs", 4, None, (6.2, 7.1)),
    Row("rmat22sym", "bfs", 4, None, (3.1, 4.0)),
    Row("road24M", "bfs", 2, (1199, 1558), (1841, 2357)),
    Row("rmat24sym", "sssp", 4, (55, 84), (108, 114)),
    Row("road24M", "sssp", 2, (2175, 2905), (6624, 8736)),
    Row("rmat24sym", "cc", 1, None, (53, 53)),
    Row("road24M", "cc", 1, None, (129, 129)),
    Row("rmat24sym", "pagerank", 1, None, (78.5, 78.5)),
    Row("road24M", "pagerank", 1, None, (13.2, 13.2)),
    Row("rmat24sym", "kcore", 1, (11273, 11273), (561, 561)),
    Row("road24M", "kcore", 1, (18.4, 18.4), (21.8, 21.8)),
)
"""pylibcugraph 26.10.0 and Gunrock 2.1.0 on one H200, 2026-11-20; ranges over sources."""

NO_PEERS = {"gunrock": None, "cugraph": None}
"""Their milliseconds on a graph of another size."""


def program(work: str, source: int, graph: benchmarking.GpuGraph) -> tuple[Program, str]:
    """Return the program of an algorithm, and the direction to force."""
    if work.startswith("bfs"):
        return benchmarking.program("bfs", source=source), "push" if work.endswith("top-down") else "auto"
    if work == "sssp":
        delta = 4 * float(graph.weights.mean(dtype=np.float64)) / (graph.arcs / graph.n)
        return benchmarking.program("sssp", source=source, delta=delta).retype(dist="int32"), "auto"
    if work == "pagerank":
        return benchmarking.program("pagerank", tol=0.0, max_iter=20).retype(**benchmarking.SINGLE), "auto"
    return benchmarking.program(work), "auto"


def solve(graph: benchmarking.GpuGraph, work: str, source: int, repeat: int) -> tuple[list[float], int]:
    """Return seconds of ``repeat`` runs after a first one that does not count, and rounds of the last."""
    if work == "sssp" and graph.has_hubs:
        return benchmarking.gathered_sssp(graph, source, repeat)
    fields, forced = program(work, source, graph)
    times = []
    for _ in range(repeat + 1):
        machine = benchmarking.Rounds(graph, fields, forced)
        times.append(machine.seconds())
    return times[1:], machine.rounds


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run everything; replace rows in ``gpu.json`` and ``gpu.md``."""
    gpu = benchmarking.Gpu()
    document: dict = {"circumstances": record.circumstances(("cupy-cuda13x",)) | {"gpu": gpu.name}, "rows": []}
    for name in [g for g in anchors.RECIPES if g in graphs]:
        rows = [row for row in ROWS if row.graph == name]
        if not rows:
            continue
        drawn = anchors.graph(name)
        began = time.perf_counter()
        graph = benchmarking.GpuGraph(gpu, *drawn.rows, drawn.directed)
        gpu.wait()
        built = time.perf_counter() - began
        for row in rows:
            medians = []
            for source in anchors.sources(drawn, row.sources):
                times, rounds = solve(graph, row.work, source, repeat)
                medians.append(1000 * statistics.median(times))
                print(f"{name} {row.work} {source}: {medians[-1]:.2f} ms, {rounds} rounds", flush=True)
            beside = {"gunrock": row.gunrock, "cugraph": row.cugraph} if anchors.RECIPES[name].checksum else NO_PEERS
            document["rows"].append(
                {"graph": name, "work": row.work, "milliseconds": medians, **beside, "build_seconds": built}
            )
        del graph, drawn
        gpu.free_unused()
    keep(folder, [document])


def keep(folder: Path, runs: list[dict]) -> None:
    """Add the rows of these runs, newest first, in place of older ones."""
    record.add(folder, "gpu", runs, ("graph", "work"), TOLD, _table)


TOLD = (
    "Of `sssp` on graphs with hubs seconds of `init` and of rounds of all its programs; between them arrays are made, "
    "which is\nin `call` of [across](across-1.md). On directed graphs `bfs`, which ran before, left edges by target. "
    "A row is the last that\nwas measured."
)


def _table(rows: list[dict]) -> str:
    lines = [
        "| graph | work | Gunrock 2.1 ms | cuGraph 26.10 ms | dgraph ms | against the faster peer |",
        "|-|-|-|-|-|-|",
    ]
    for row in rows:
        peers = [peer for peer in (row["gunrock"], row["cugraph"]) if peer]
        slowest = max(row["milliseconds"])
        ratio = f"**{min(peer[0] for peer in peers) / slowest:.1f}×**" if peers else "–"
        cells = [_span(row[peer]) for peer in ("gunrock", "cugraph")]
        ours = _span((min(row["milliseconds"]), slowest))
        lines.append(f"| {row['graph']} | {row['work']} | {' | '.join(cells)} | {ours} | {ratio} |")
    return "\n".join(lines) + "\n"


def _span(values) -> str:
    if not values:
        return "–"
    low, high = (f"{v:,.2f}" if v < 10 else f"{v:,.1f}" for v in values)
    return low if low == high else f"{low}–{high}"
