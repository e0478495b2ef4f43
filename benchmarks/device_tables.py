"""On one GPU: ``networkx.pagerank`` by dgraph's backend, and a result of 20 million rows as Arrow and CuPy arrays."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import record

EDGES, VERTICES = 10_000_000, 1_000_000
ROWS = "road:4500x4500"


def measure(repeat: int, folder: Path) -> None:
    """Time each step ``repeat`` times, and write ``device_tables.json`` and ``device_tables.md``."""
    import cupy

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    circumstances = record.circumstances(("networkx", "pyarrow", "cupy-cuda13x")) | {"gpu": name}
    rows = [*_networkx(repeat), *_result(repeat, cupy)]
    document = {"circumstances": circumstances, "repeat": repeat, "rows": rows}
    lines = ["| step | first, ms | later, median ms | range |", "|-|-|-|-|"]
    for row in rows:
        later = row["later"]
        lines.append(
            f"| {row['step']} | {row['first']:.1f} | **{statistics.median(later):.1f}** | "
            f"{min(later):.1f}–{max(later):.1f} |"
        )
    record.write(folder, "device_tables", document, "\n".join(lines) + "\n")


def _timed(step: str, repeat: int, work: Callable[[], Any]) -> dict:
    times = []
    for _ in range(repeat + 1):
        began = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - began))
    print(step, times, flush=True)
    return {"step": step, "first": times[0], "later": times[1:]}


def _networkx(repeat: int) -> list[dict]:
    import networkx as nx

    rng = np.random.default_rng(1)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(VERTICES))
    graph.add_edges_from(zip(*rng.integers(0, VERTICES, (2, EDGES)).tolist(), strict=True))
    edges = f"{graph.number_of_edges():,} edges"
    ours = nx.pagerank(graph, backend="dgraph")
    graph.__networkx_cache__.clear()
    rows = [
        _timed(f"networkx.pagerank(backend='dgraph'), {edges}", repeat, lambda: nx.pagerank(graph, backend="dgraph")),
        _timed(f"networkx.pagerank by SciPy, {edges}", 1, lambda: nx.pagerank(graph, backend="networkx")),
    ]
    theirs = nx.pagerank(graph, backend="networkx")
    worst = max(abs(ours[v] - theirs[v]) for v in graph)
    if worst > 1e-6:
        raise SystemExit(f"ranks differ from NetworkX's by up to {worst}")
    return rows


def _result(repeat: int, cupy: Any) -> list[dict]:
    graph = dgraph.build_on_gpus(ROWS)
    rows = []

    def fresh(take: Callable[[dgraph.Result], Any]) -> Callable[[], None]:
        def work() -> None:
            take(dgraph.cc(graph))
            cupy.cuda.Device().synchronize()

        return work

    size = f"{graph.n:,} rows"
    rows.append(_timed(f"cc, {size}: call alone", repeat, fresh(lambda result: None)))
    rows.append(_timed(f"cc, {size}: call and to_arrow()", repeat, fresh(lambda result: result.to_arrow())))
    columns = ("vertex", "labels")
    rows.append(
        _timed(f"cc, {size}: call and CuPy arrays", repeat, fresh(lambda r: [r.device_column(c) for c in columns]))
    )
    label = fresh(lambda result: result.device_column("labels"))
    rows.append(_timed(f"cc, {size}: call and labels as a CuPy array", repeat, label))
    return rows
