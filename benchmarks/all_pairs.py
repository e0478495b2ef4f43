"""All-pairs shortest paths by method and size, on the CPU against SciPy, igraph and NetworkX, or on a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import record
from benchmarks.peers import install

VARIANTS = ("johnson", "blocked", "floyd-warshall", "recursive", "squaring", "separators")
"""Methods of ``dgraph.apsp`` that are compared."""

SHAPES: dict[str, Callable[[int], str]] = {
    "sparse": lambda n: f"uniform:{n.bit_length() - 1},symmetric",
    "road": lambda n: f"road:{round(n**0.5)}x{round(n**0.5)}",
    "dense": lambda n: f"complete:{n}",
}
"""Shape → graph of about n vertices."""

SIZES = (256, 1024, 4096)
ON_GPU = (4096, 16384)
"""Sizes on a GPU, in float32."""

MOST = {"networkx": 256, "scipy floyd_warshall": 1024, "igraph": 4096, "scipy dijkstra": 4096, "floyd-warshall": 1024}
"""Largest size of methods that take minutes beyond it; graphs of ``DENSE`` arcs have no searches and no parts."""

DENSE = 5_000_000


def measure(scale: int | None, repeat: int, folder: Path) -> None:
    """Write ``all-pairs-cpu.json``, ``.md`` and ``.svg``; with a GPU, ``all-pairs-gpu``.

    Args:
        scale: log2 of the vertices; None: ``SIZES``, or ``ON_GPU``.
        repeat: timed runs.
        folder: of the results.
    """
    gpu = dgraph.run("apsp", "path:64", variant="blocked").report["ranks"][0].get("gpu")
    install(("matplotlib",) if gpu else ("matplotlib", "scipy", "igraph", "networkx"))
    rows: list[dict] = []
    for shape, spec in SHAPES.items():
        for n in (ON_GPU if gpu else SIZES) if scale is None else (1 << scale,):
            if shape == "dense" and n > max(SIZES):
                continue
            graph = dgraph.Graph.load(spec(n), weights="1..100")
            tasks = dict(_ours(graph, n)) | ({} if gpu else dict(_peers(graph, n)))
            answers = {name: _sum(task()) for name, task in tasks.items()}
            for name, total in answers.items():
                if total != answers["blocked"]:
                    raise SystemExit(f"{spec(n)}: the distances of {name} add up to {total}, not {answers['blocked']}")
            for name, task in tasks.items():
                seconds = []
                for _ in range(repeat if n < max(SIZES) else 1):
                    began = time.perf_counter()
                    task()
                    seconds.append(time.perf_counter() - began)
                rows.append({"shape": shape, "n": graph.n, "m": graph.m, "method": name, "seconds": seconds})
                print(f"{spec(n)} {name}: {statistics.median(seconds):.4f} s", flush=True)
    where = record.circumstances(() if gpu else ("scipy", "igraph", "networkx")) | ({"gpu": gpu["name"]} if gpu else {})
    name = f"all-pairs-{'gpu' if gpu else 'cpu'}"
    _plot(rows, folder, name)
    record.write(folder, name, {"circumstances": where, "rows": rows}, _table(rows))


def _ours(graph: dgraph.Graph, n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    for variant in VARIANTS:
        if n <= MOST.get(variant, n) and (variant not in ("johnson", "separators") or len(graph.block.targets) < DENSE):
            yield variant, lambda variant=variant: dgraph.apsp(graph, variant=variant).matrix


def _peers(graph: dgraph.Graph, n: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    import igraph
    import networkx as nx
    from scipy.sparse import csgraph, csr_array

    block = graph.block
    weights = block.weights.astype(float)
    matrix = csr_array((weights, block.targets.astype(np.int32), block.offsets), (graph.n, graph.n))
    source, target = matrix.nonzero()
    peers: dict[str, Callable[[], Any]] = {
        "scipy floyd_warshall": lambda: csgraph.floyd_warshall(matrix),
        "scipy dijkstra": lambda: csgraph.dijkstra(matrix),
    }
    if n <= MOST["igraph"] and len(weights) < DENSE:
        other = igraph.Graph(graph.n, np.column_stack([source, target]), directed=True)
        peers["igraph"] = lambda: np.array(other.distances(weights=weights, mode="out"))
    if n <= MOST["networkx"]:
        drawn = nx.from_scipy_sparse_array(matrix, create_using=nx.DiGraph)
        peers["networkx"] = lambda: np.array(
            [[row.get(v, np.inf) for v in range(graph.n)] for _, row in nx.all_pairs_dijkstra_path_length(drawn)]
        )
    for name, task in peers.items():
        if n <= MOST.get(name, n) and (name != "scipy dijkstra" or len(weights) < DENSE):
            yield name, task


def _sum(distances: Any) -> float:
    """Return the sum of the finite distances; those on a GPU are copied to the host, after the time was taken."""
    distances = getattr(distances, "here", distances)
    return float(distances.sum(dtype=np.float64, where=distances < np.inf))


def _table(rows: list[dict]) -> str:
    lines = ["| graph | n | m | method | s (least–most) | pairs / s |", "|-|-|-|-|-|-|"]
    for row in rows:
        median, least, most = (statistic(row["seconds"]) for statistic in (statistics.median, min, max))
        lines.append(
            f"| {row['shape']} | {row['n']:,} | {row['m']:,} | {row['method']} | {median:.4f} ({least:.4f}–{most:.4f}) "
            f"| {row['n'] ** 2 / median:.3g} |"
        )
    return "\n".join(lines) + "\n"


def _plot(rows: list[dict], folder: Path, name: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SHAPES), figsize=(13, 4.5), sharey=True, layout="constrained")
    for axis, shape in zip(axes, SHAPES, strict=True):
        for method in dict.fromkeys(row["method"] for row in rows):
            points = [(row["n"], statistics.median(row["seconds"])) for row in rows
                      if (row["shape"], row["method"]) == (shape, method)]  # fmt: skip
            ours = method in VARIANTS
            axis.loglog(*zip(*points, strict=True), "o-" if ours else "s--", label=method) if points else None
        axis.set(title=shape, xlabel="vertices")
    axes[0].set_ylabel("seconds")
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
