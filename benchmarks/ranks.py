"""Equal graphs on 1, 2 and 4 ranks of this machine: seconds, and the cost of a round."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import dgraph
from benchmarks import record
from benchmarks.cpu import WITHOUT_TREES
from benchmarks.graphs import GRAPHS

RANKS = (1, 2, 4)
PARTS = ("compute", "pack", "exchange", "unpack", "idle")
PARAMETERS: dict[str, dict] = {
    "bfs": {"return_predecessors": False},
    "sssp": {"return_predecessors": False},
    "pagerank": {"tol": 0, "max_iter": 20},
}


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run everything and write ``ranks.json`` and ``ranks.md``."""
    document: dict = {"circumstances": record.circumstances(), "repeat": repeat, "rows": []}
    for name in graphs:
        for ranks in RANKS:
            for row in _ranks(name, ranks, repeat):
                document["rows"].append(row)
                told = f"{name} {row['algorithm']} {ranks}: {statistics.median(row['seconds']):.4f} s"
                print(told, {part: round(value, 4) for part, value in row["parts"].items()}, flush=True)
    document["rows"].sort(key=lambda row: (graphs.index(row["graph"]), WITHOUT_TREES.index(row["algorithm"])))
    record.write(folder, "ranks", document, _table(document["rows"]))


def _ranks(name: str, ranks: int, repeat: int) -> list[dict]:
    """Return one row per algorithm, from an MPI job of ``ranks`` ranks."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "rows.json")
        words = [mpiexec if mpiexec.exists() else "mpiexec", "-n", ranks, sys.executable, "-m", "benchmarks.ranks"]
        subprocess.run([str(word) for word in [*words, name, repeat, told]], check=True)
        return json.loads(told.read_text())


def _rank(name: str, repeat: int, told: Path) -> None:
    """Run as a rank: load once, run every algorithm once untimed and then timed; rank 0 writes the rows.

    Seconds are those of the slowest rank.
    """
    spec, weights = GRAPHS[name]
    weighted, unweighted = dgraph.Graph.load(spec, weights=weights), dgraph.Graph.load(spec, weights="unit")
    rows = []
    for algorithm in WITHOUT_TREES:
        graph = unweighted if algorithm == "pagerank" else weighted  # as for its peers in cpu.py, which ignore weights
        row: dict = {"graph": name, "algorithm": algorithm, "ranks": graph.comm.size, "seconds": []}
        for i in range(repeat + 1):
            report = dgraph.run(algorithm, graph, **PARAMETERS.get(algorithm, {}), **_source(algorithm, graph)).report
            parts = [{part: rank["seconds"][part] for part in PARTS} for rank in report["ranks"]]
            slowest = max(parts, key=lambda seconds: sum(seconds.values()))
            if i:
                row["seconds"].append(sum(slowest.values()))
            row |= {"parts": slowest, "rounds": report["rounds"]["count"]}
        rows.append(row)
    if graph.comm.rank == 0:
        told.write_text(json.dumps(rows))


def _source(algorithm: str, graph: dgraph.Graph) -> dict:
    """Return a source that all ranks agree on: the target of the graph's first edge."""
    if algorithm not in ("bfs", "sssp"):
        return {}
    block = graph.block
    first = int(block.targets[0]) if block.targets.size else -1
    return {"source": next(vertex for vertex in graph.comm.allgather_json(first) if vertex >= 0)}


def _table(rows: list[dict]) -> str:
    lines = ["| graph | algorithm | ranks | seconds (median) | range | rounds | µs a round |", "|-|-|-|-|-|-|-|"]
    for row in rows:
        median = statistics.median(row["seconds"])
        lines.append(
            f"| {row['graph']} | {row['algorithm']} | {row['ranks']} | {median:.4f} | {min(row['seconds']):.4f}–"
            f"{max(row['seconds']):.4f} | {row['rounds']} | {1e6 * median / max(row['rounds'], 1):.0f} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _rank(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
