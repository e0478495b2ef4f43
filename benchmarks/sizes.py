"""Seconds against size, by R-MAT scale, with one plot per algorithm; and the cost of a round without work."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dgraph
from benchmarks import record
from benchmarks.cpu import ALGORITHMS
from benchmarks.peers import install

SCALES = range(12, 23)
PATH = 20_000
"""Vertices of a path: its bfs has one active vertex per round."""

SETTINGS = {"bfs": {"return_predecessors": False}, "sssp": {"return_predecessors": False}}
SETTINGS["pagerank"] = {"tol": 0, "max_iter": 20}


def measure(scales: range, repeat: int, folder: Path) -> None:
    """Run everything; write ``sizes.json``, ``sizes.md`` and ``sizes-ALGORITHM.svg``."""
    install(("matplotlib",))
    document: dict = {"circumstances": record.circumstances(), "repeat": repeat, "rows": [], "rounds": _rounds()}
    for scale in scales:
        spec = f"rmat:{scale},symmetric,seed=42"
        graph = dgraph.Graph.load(spec, weights="1..255")
        unweighted = dgraph.Graph.load(spec, weights="unit")
        source = int(graph.block.targets[0])
        for algorithm in ALGORITHMS:
            row = {"scale": scale, "n": graph.n, "m": graph.m, "algorithm": algorithm}
            row["seconds"] = _seconds(algorithm, unweighted if algorithm == "pagerank" else graph, source, repeat)
            document["rows"].append(row)
            print(f"rmat:{scale} {algorithm}: {statistics.median(row['seconds']):.5f} s", flush=True)
    _plot(document["rows"], folder)
    record.write(folder, "sizes", document, _table(document))


def _seconds(algorithm: str, graph: dgraph.Graph, source: int, repeat: int) -> list[float]:
    asked = SETTINGS.get(algorithm, {}) | ({"source": source} if algorithm in ("bfs", "sssp") else {})
    dgraph.run(algorithm, graph, **asked)
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        dgraph.run(algorithm, graph, **asked)
        seconds.append(time.perf_counter() - began)
    return seconds


def _rounds() -> dict[str, float]:
    """Return microseconds per round of bfs along a path, by number of ranks; one thread each."""
    costs = {}
    for ranks in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.json")
            words = [Path(sys.executable).with_name("mpiexec"), "-n", ranks, sys.executable, "-m", "dgraph", "bfs"]
            words += [
                f"path:{PATH}",
                "--source",
                0,
                "--threads",
                1,
                "--no-return-predecessors",
                "-q",
                "--report",
                report,
            ]
            subprocess.run([str(word) for word in words], check=True)
            told = json.loads(report.read_text())
        parts = ("compute", "pack", "exchange", "unpack", "idle")
        spent = max(sum(rank["seconds"][part] for part in parts) for rank in told["ranks"])
        costs[str(ranks)] = 1e6 * spent / told["rounds"]["count"]
    return costs


def _plot(rows: list[dict], folder: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    for algorithm in ALGORITHMS:
        mine = [row for row in rows if row["algorithm"] == algorithm]
        figure, axes = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
        edges, seconds = [row["m"] for row in mine], [statistics.median(row["seconds"]) for row in mine]
        axes.loglog(edges, seconds, marker="o")
        axes.set(
            xlabel="edges", ylabel="seconds", title=f"{algorithm}, R-MAT {mine[0]['scale']} to {mine[-1]['scale']}"
        )
        axes.grid(which="both", alpha=0.3)
        figure.savefig(folder / f"sizes-{algorithm}.svg", metadata={"Date": None})
        pyplot.close(figure)


def _table(document: dict) -> str:
    rows = document["rows"]
    scales = sorted({row["scale"] for row in rows})
    lines = [f"| seconds (median) | {' | '.join(ALGORITHMS)} |", "|-|" + "-|" * len(ALGORITHMS)]
    for scale in scales:
        medians = {row["algorithm"]: statistics.median(row["seconds"]) for row in rows if row["scale"] == scale}
        lines.append(f"| rmat:{scale} | {' | '.join(f'{medians[name]:.4f}' for name in ALGORITHMS)} |")
    costs = ", ".join(f"{cost:.1f} at {ranks}" for ranks, cost in document["rounds"].items())
    return "\n".join(lines) + f"\n\nA round of bfs along a path, which has no work, in µs by ranks: {costs}.\n"
