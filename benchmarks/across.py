"""Rounds of several GPUs: milliseconds of a solve, what of it is computation, and what a round costs."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import record

GRAPHS = {"grid2500": "grid:2500x2500", "grid4900": "grid:4900x4900", "rmat22": "rmat:22", "rmat24": "rmat:24"}
ALGORITHMS = ("bfs", "sssp", "cc", "pagerank", "kcore", "kcore estimates")
"""Names, some with a variant."""

PARTS = ("compute", "pack", "exchange", "unpack", "agree")
HIDDEN = "hidden"
"""Seconds of exchanges beside edges; no part, since nobody waited for them."""

WAYS: dict[str, dict] = {
    "plain": {},
    "device": {"device_rounds": True},
    "overlap": {"overlap": True},
    "limit21": {"across_limit": 1 << 21},
    "device21": {"device_rounds": True, "across_limit": 1 << 21},
    "overlap21": {"overlap": True, "across_limit": 1 << 21},
    "local": {"local_rounds": True},
}
"""Name → options of :func:`dgraph.run`."""


def measure(graphs: list[str], ways: list[str], repeat: int, folder: Path) -> None:
    """Run under ``mpirun -n P`` with a GPU a rank; rank 0 writes ``across-P.json`` and ``.md``."""
    rows = []
    for name in graphs:
        graph = dgraph.Graph.load(GRAPHS[name], weights="1..255")
        source = _source(graph)
        for work, way in itertools.product(ALGORITHMS, ways):
            algorithm, _, variant = work.partition(" ")
            more: dict = {"source": source, "return_predecessors": False} if algorithm in ("bfs", "sssp") else {}
            more |= WAYS[way] | ({"variant": variant} if variant else {})
            runs = [dgraph.run(algorithm, graph, policy="oec", **more) for _ in range(repeat + 1)][1:]
            rows.append({"graph": name, "algorithm": work, "way": way, "rounds": runs[-1].rounds, **_figures(runs)})
    comm = graph.comm
    if comm.rank == 0:
        known = record.circumstances(("cupy-cuda13x", "mpi4py"))
        known["command"] = f"mpirun -n {comm.size} {known['command']}"
        chosen = [choice for choice in runs[-1].report["choices"] if choice["what"] in ("gpus", "transport")]
        record.write(
            folder, f"across-{comm.size}", {"circumstances": known, "chosen": chosen, "rows": rows}, _table(rows)
        )


def _source(graph) -> int:
    """The vertex of most out-edges, the first of equals."""
    degrees = np.diff(graph.block.offsets)
    at = int(degrees.argmax()) if degrees.size else 0
    mine = [int(degrees[at]) if degrees.size else -1, graph.block.first + at]
    every = graph.comm.allgather(np.array(mine, np.int64))
    return int(every[every[:, 0].argmax(), 1])


def _figures(runs: list) -> dict:
    """Medians: seconds of the slowest rank, and each part's mean over ranks."""
    seconds = [[rank["seconds"] for rank in run.report["ranks"]] for run in runs]
    slowest = [max(sum(rank[part] for part in PARTS) for rank in run) for run in seconds]
    means = {part: statistics.median(statistics.mean(rank[part] for rank in run) for run in seconds) for part in PARTS}
    means[HIDDEN] = statistics.median(statistics.mean(rank.get(HIDDEN, 0.0) for rank in run) for run in seconds)
    sent = sum(peer["bytes"] for rank in runs[-1].report["ranks"] for peer in rank["sent"])
    return {"seconds": statistics.median(slowest), "parts": means, "bytes": sent}


def _table(rows: list[dict]) -> str:
    lines = [
        f"| graph | algorithm | way | rounds | ms | µs a round | {' | '.join(PARTS)} | {HIDDEN} | MB |",
        "|-" * (len(PARTS) + 8) + "|",
    ]
    for row in rows:
        parts = " | ".join(f"{1e3 * row['parts'][part]:.2f}" for part in (*PARTS, HIDDEN))
        each = 1e6 * row["seconds"] / max(row["rounds"], 1)
        lines.append(
            f"| {row['graph']} | {row['algorithm']} | {row['way']} | {row['rounds']:,} | {1e3 * row['seconds']:.2f} | "
            f"{each:.1f} | {parts} | {row['bytes'] / 1e6:.2f} |"
        )
    return "\n".join(lines) + "\n"
