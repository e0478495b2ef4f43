"""Algorithms of structure on one GPU: rounds and whole calls, on the graphs that the best published codes ran on.

The graph is on the GPU after the first call, which is not timed; its totals must be those that were found apart from
dgraph. Peers' figures are kernel times (ECL 1.0 and 1.1, WeTriC, on one H200).
"""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import anchors, record
from dgraph.tools import benchmarking


@dataclass(frozen=True)
class Row:
    """One algorithm on one graph; ``totals``: figures that its summary must have; ``best``: the best known, ms."""

    algorithm: str
    graph: str
    best: float | None
    totals: dict[str, int]


ROWS = {
    f"{row.algorithm}-{row.graph}": row
    for row in (
        Row("cc", "road24M", 2.1, {"components": 812251}),
        Row("mst", "road24M", 12.0, {"weight": 9795031665, "edges": 23197749}),
        Row("mis", "road24M", 1.8, {}),
        Row("color", "road24M", 1.7, {}),
        Row("scc", "road24Mdir", 660, {"components": 5148151, "largest": 6159}),
        Row("triangles", "rmat22sym", 30.8, {}),
        Row("triangles", "rmat24sym", 206, {}),
        Row("mst", "rmat24sym", 74.7, {"weight": 518780307, "edges": 8868108}),
        Row("mis", "rmat24sym", 2.4, {}),
        Row("color", "rmat24sym", 95, {}),
        Row("scc", "rmat25", 136, {"components": 22352737, "largest": 11201696}),
        Row("lcc", "rmat25sym", None, {}),
        Row("cdlp", "rmat25sym", None, {}),
    )
}
"""Rows of one graph follow each other, so that it is made once."""


def measure(names: list[str], repeat: int, folder: Path) -> None:
    """Write ``structure-gpu.json`` and ``.md``."""
    gpu = benchmarking.Gpu()
    rows, graph, graph_name = [], None, ""
    for row in (ROWS[name] for name in names):
        if graph_name != row.graph:
            graph = None
            gc.collect()
            gpu.free_unused()
            graph, graph_name = _graph(row.graph, gpu), row.graph
        rows.append(_timed(row, graph, repeat))
        print(_line(rows[-1]), flush=True)
    where = record.circumstances(("cupy-cuda13x",)) | {"gpu": gpu.name}
    record.write(folder, "structure-gpu", {"circumstances": where, "rows": rows}, _table(rows))


def _graph(name: str, gpu: benchmarking.Gpu) -> dgraph.Graph:
    """Return a graph of the peers; ``road24Mdir`` is road24M without every fifth arc, by a hash of its ends."""
    if name != "road24Mdir":
        return anchors.shared(name, 1, gpu, dgraph.communicator())[0]
    offsets, targets, _ = (column.get() for column in anchors.graph("road24M").rows)
    gpu.free_unused()
    source = np.repeat(np.arange(offsets.size - 1), np.diff(offsets)).astype(np.uint64)
    mixed = source * np.uint64(11400714819323198485) + targets.astype(np.uint64) * np.uint64(14029467366897019727)
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(anchors.GOLDEN)
    mixed ^= mixed >> np.uint64(29)
    kept = mixed % np.uint64(5) != 0
    stops = np.concatenate([[0], np.cumsum(kept)])[offsets]
    return dgraph.Graph.from_csr(
        stops, targets[kept], directed=True, comm=dgraph.communicator(), keep_loops=True, keep_parallel=True
    )


def _timed(row: Row, graph: dgraph.Graph, repeat: int) -> dict:
    """Return milliseconds of the rounds and of whole calls."""
    began = time.perf_counter()
    summary = dict(dgraph.run(row.algorithm, graph).summary)
    first = time.perf_counter() - began
    wrong = {name: (summary.get(name), value) for name, value in row.totals.items() if summary.get(name) != value}
    if wrong:
        raise SystemExit(f"{row.algorithm} of {row.graph} found {wrong}: ours, right")
    rounds, calls = [], []
    for _ in range(repeat):
        began = time.perf_counter()
        report = dgraph.run(row.algorithm, graph).report
        calls.append(1e3 * (time.perf_counter() - began))
        rounds.append(1e3 * report["ranks"][0]["seconds"]["compute"])
    told = {name: str(value) for name, value in summary.items()}
    return {
        "graph": row.graph, "algorithm": row.algorithm, "best": row.best, "summary": told, "first_s": first,
        "rounds": rounds, "calls": calls,
    }  # fmt: skip


def _table(rows: list[dict]) -> str:
    head = "| algorithm | graph | rounds ms | range | whole call ms | first call s | best known ms | answer |"
    return "\n".join([head, "|-|-|-|-|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    rounds, calls = statistics.median(row["rounds"]), statistics.median(row["calls"])
    answer = ", ".join(f"{name} {value}" for name, value in row["summary"].items())
    best = "–" if row["best"] is None else f"{row['best']:g}"
    spread = f"{min(row['rounds']):,.2f}–{max(row['rounds']):,.2f}"
    cells = f"**{rounds:,.2f}**", spread, f"{calls:,.2f}", f"{row['first_s']:.1f}", best, answer
    return f"| {row['algorithm']} | {row['graph']} | {' | '.join(cells)} |"
