"""One rank with two threads against the libraries of ``peers.py``: alternating runs, medians, ratios."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

from benchmarks import peers, record
from benchmarks.graphs import Arrays, load

SEARCHES = ("bfs", "bfs, tree", "sssp", "sssp, tree")
"""Searches; ``tree``: with every vertex's predecessor."""

ALGORITHMS = (*SEARCHES, "cc", "pagerank", "kcore")

WITHOUT_TREES = tuple(name for name in ALGORITHMS if not name.endswith(", tree"))
"""Names that :func:`dgraph.run` knows."""


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run everything and write ``cpu.json`` and ``cpu.md``."""
    peers.install()
    document = {"circumstances": record.circumstances(peers.LIBRARIES), "repeat": repeat, "rows": []}
    for name in graphs:
        arrays = load(name)
        tasks = {"dgraph": peers.ours(arrays)} | {peer: make(arrays) for peer, make in peers.PEERS.items()}
        print(f"{name}: {arrays.n:,} vertices, {arrays.targets.size:,} arcs", flush=True)
        for algorithm in ALGORITHMS:
            row = _measure_row(arrays, algorithm, {k: t[algorithm] for k, t in tasks.items() if algorithm in t}, repeat)
            document["rows"].append(row)
            print(f"  {algorithm}: {row['ratio']:.2f} × {row['fastest']}", flush=True)
    record.write(folder, "cpu", document, _table(document["rows"]))


def _measure_row(arrays: Arrays, algorithm: str, tasks: dict[str, peers.Task], repeat: int) -> dict:
    """Return one row: every library runs once per round, each in turn first; a search is the mean over sources."""
    sources = arrays.sources if algorithm in SEARCHES else arrays.sources[:1]
    _check(algorithm, {name: task(sources[0]) for name, task in tasks.items()})
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    names = list(tasks)
    for i in range(repeat):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            began = time.perf_counter()
            for source in sources:
                tasks[name](source)
            seconds[name].append((time.perf_counter() - began) / len(sources))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    fastest = min((name for name in median if name != "dgraph"), key=median.__getitem__)
    ratios = [theirs / mine for theirs, mine in zip(seconds[fastest], seconds["dgraph"], strict=True)]
    return {
        "graph": arrays.name,
        "algorithm": algorithm,
        "seconds": seconds,
        "median": median,
        "fastest": fastest,
        "ratio": statistics.median(ratios),
        "ratio_range": [min(ratios), max(ratios)],
    }


def _check(algorithm: str, answers: dict) -> None:
    """Stop if the libraries' answers differ: a wrong answer is not timed."""
    mine = answers["dgraph"]
    reached = {
        "bfs": lambda a: len(a[0]) if isinstance(a, tuple) else np.count_nonzero(np.asarray(a, float) < 1e15),
        "sssp": lambda a: round(float(np.asarray(a, float)[np.asarray(a, float) < 1e15].sum())),
        "cc": lambda a: len(np.unique(a)) if isinstance(a, np.ndarray) else int(a),
        "pagerank": lambda a: round(float(np.max(a)), 9),
        "kcore": lambda a: int(np.max(a)),
    }[algorithm.partition(",")[0]]
    for name, answer in answers.items():
        if name == "networkit" and algorithm == "pagerank":
            continue  # its rounds drop the mass of sinks
        if reached(answer) != reached(mine):
            raise SystemExit(
                f"{algorithm}: {name} says {reached(answer)}, dgraph {reached(mine)}; nothing was measured"
            )


def _table(rows: list[dict]) -> str:
    names = ["dgraph", *peers.PEERS]
    lines = [
        f"| graph | algorithm | {' | '.join(f'{name} s' for name in names)} | dgraph against the fastest peer |",
        "|-|-|" + "-|" * (len(names) + 1),
    ]
    for row in rows:
        cells = [f"{row['median'][name]:.4f}" if name in row["median"] else "–" for name in names]
        low, high = row["ratio_range"]
        lines.append(
            f"| {row['graph']} | {row['algorithm']} | {' | '.join(cells)} | "
            f"**{row['ratio']:.1f}×** ({low:.1f}–{high:.1f}) {row['fastest']} |"
        )
    return "\n".join(lines) + "\n"
