"""Slowdown by a busy core: equal work on idle cores, and beside a process that occupies one core."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from pathlib import Path

import dgraph
from benchmarks import record
from benchmarks.cpu import WITHOUT_TREES
from benchmarks.graphs import load
from benchmarks.sizes import SETTINGS


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run every algorithm without and with a busy process, alternating, with all threads and with one.

    Write ``contention.json`` and ``.md``.
    """
    document: dict = {"circumstances": record.circumstances(), "repeat": repeat, "rows": []}
    for name in graphs:
        arrays = load(name)
        for algorithm in WITHOUT_TREES:
            seconds: dict[str, list[float]] = {}
            for _ in range(repeat):
                for threads in (None, 1):
                    seconds.setdefault(f"quiet, {threads or 'all'}", []).append(_run(algorithm, arrays, threads))
                    with _busy():
                        seconds.setdefault(f"busy, {threads or 'all'}", []).append(_run(algorithm, arrays, threads))
            document["rows"].append({"graph": name, "algorithm": algorithm, "seconds": seconds})
            print(name, algorithm, {k: round(statistics.median(v), 4) for k, v in seconds.items()}, flush=True)
    record.write(folder, "contention", document, _table(document["rows"]))


def _run(algorithm: str, arrays, threads: int | None) -> float:
    asked = SETTINGS.get(algorithm, {}) | ({"source": arrays.sources[0]} if algorithm in ("bfs", "sssp") else {})
    graph = arrays.unweighted if algorithm == "pagerank" else arrays.graph
    began = time.perf_counter()
    dgraph.run(algorithm, graph.on(device=dgraph.Cpu(threads)), **asked)
    return time.perf_counter() - began


class _busy:
    """Context manager: a process that keeps a core busy."""

    def __enter__(self) -> None:
        self.process = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
        self.process.start()
        time.sleep(0.5)

    def __exit__(self, *error) -> None:
        self.process.kill()
        self.process.join()


def _spin() -> None:
    while True:
        pass


def _table(rows: list[dict]) -> str:
    kinds = list(rows[0]["seconds"])
    lines = [
        f"| graph | algorithm | {' | '.join(f'{kind} threads s' for kind in kinds)} | busy against quiet | "
        "busy, all threads against one |",
        "|-|-|" + "-|" * (len(kinds) + 2),
    ]
    for row in rows:
        median = {kind: statistics.median(row["seconds"][kind]) for kind in kinds}
        lines.append(
            f"| {row['graph']} | {row['algorithm']} | {' | '.join(f'{median[kind]:.4f}' for kind in kinds)} | "
            f"{median['quiet, all'] / median['busy, all']:.2f}× | {median['busy, 1'] / median['busy, all']:.2f}× |"
        )
    return "\n".join(lines) + "\n"
