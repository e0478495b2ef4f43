"""Changed graphs on 1 and 2 ranks: a batch of edges against a graph built anew, and runs from a previous answer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import record

GRAPHS = {"rmat20": "rmat:20", "uniform20": "uniform:20"}
WEIGHTS, SHARE = "1..255", 1000
"""Weights; a batch has one edge for this many of the graph."""

RANKS = (1, 2)
ALGORITHMS: dict[str, dict] = {"bfs": {"source": 1}, "sssp": {"source": 1}, "cc": {}, "pagerank": {}}
START = {"source": 1, "depth_limit": 0, "return_predecessors": False}
"""A search of no round: partitions the graph, builds the local graph and hashes it."""


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run everything and write ``changes.json`` and ``changes.md``."""
    document: dict = {"circumstances": record.circumstances(), "repeat": repeat, "rows": []}
    for name in graphs:
        for ranks in RANKS:
            document["rows"] += (rows := _ranks(name, ranks, repeat))
            for row in rows:
                print(name, ranks, row["what"], _least(row["before"]), _least(row["after"]), flush=True)
    record.write(folder, "changes", document, _table(document["rows"]))


def _ranks(name: str, ranks: int, repeat: int) -> list[dict]:
    """Return the rows of an MPI job of ``ranks`` ranks."""
    beside = Path(sys.executable).with_name("mpiexec")
    mpiexec = beside if beside.exists() else shutil.which("mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "rows.json")
        words = [mpiexec, "-n", ranks, sys.executable, "-m", "benchmarks.changes", name, repeat, told]
        subprocess.run([str(word) for word in words], check=True)
        return json.loads(told.read_text())


class Timer:
    """Wall and CPU seconds of calls; of several ranks the slowest."""

    def __init__(self, comm) -> None:
        self.comm = comm

    def __call__(self, call, *words, **settings):
        """Return the result of a call, and [wall, CPU] seconds."""
        self.comm.barrier()
        wall, cpu = time.perf_counter(), time.process_time()
        result = call(*words, **settings)
        spent = np.array([time.perf_counter() - wall, time.process_time() - cpu])
        return result, self.comm.allreduce(spent, "max").tolist()


def _rank(name: str, repeat: int, told: Path) -> None:
    """Run as a rank; rank 0 writes the rows: ``before`` is the graph built anew, or the run from scratch."""
    comm = dgraph.communicator()
    timed, rows, rng = Timer(comm), [], np.random.default_rng(1)
    graph = dgraph.Graph.load(GRAPHS[name], weights=WEIGHTS)
    dgraph.bfs(graph, **START)
    size, block = graph.m // SHARE, graph.block
    add, weights = rng.integers(0, graph.n, (size, 2)), rng.integers(1, 256, size)
    first = np.stack([block.sources()[: size // comm.size], block.targets[: size // comm.size]], axis=1)
    for what, gone in (("insertions", None), ("insertions and deletions", first.astype(np.int64))):
        rebuilt, started, alone, changed = [], [], [], graph
        for _ in range(repeat + 1):
            changed, spent = timed(_changed, comm, graph, add, gone, weights)
            _, rest = timed(dgraph.bfs, changed, **START)
            alone.append(spent)
            started.append([one + other for one, other in zip(spent, rest, strict=True)])
        order = rng.permutation(changed.block.targets.size)
        listed = [values[order] for values in (changed.block.sources(), changed.block.targets, changed.block.weights)]
        rebuilt = [timed(_built, graph, *listed)[1] for _ in range(repeat + 1)]
        rows.append({"what": f"{what}, to the first run", "before": rebuilt[1:], "after": started[1:]})
        rows.append({"what": f"{what}, with_edges alone", "before": rebuilt[1:], "after": alone[1:]})
    answers = {work: dgraph.run(work, graph, **settings) for work, settings in ALGORITHMS.items()}
    changed = _changed(comm, graph, add, None, weights)
    for work, settings in ALGORITHMS.items():
        pairs, runs = [], []
        for _ in range(repeat + 1):
            runs = [timed(dgraph.run, work, changed, previous=old, **settings) for old in (None, answers[work])]
            pairs.append([spent for _, spent in runs])
        cold, warm = zip(*pairs[1:], strict=True)
        results = [result for result, _ in runs]
        edges = [result.report["rounds"]["frontier_edges"] for result in results]
        row = {"what": work, "before": cold, "after": warm, "edges": edges, "started": results[1].summary["started"]}
        rows.append(row | {"rounds": [result.rounds for result in results]})
    if comm.rank == 0:
        told.write_text(json.dumps([{"graph": name, "ranks": comm.size, "edges_changed": size, **row} for row in rows]))


def _changed(comm, graph, add, remove, weights):
    """Return the changed graph; rank 0 gives the edges to add."""
    here = comm.rank == 0
    return graph.with_edges(add if here else None, remove, weights=weights if here else None)


def _built(graph, src, dst, weights):
    """Build a graph of each rank's arcs, which are in no order; partition it and start a run."""
    graph_anew = dgraph.Graph.from_edges(src, dst, weights, n=graph.n, directed=True)
    dgraph.bfs(graph_anew, **START)


def _least(times: list[list[float]]) -> tuple[float, float]:
    return tuple(min(time[i] for time in times) for i in (0, 1))  # type: ignore[return-value]


def _table(rows: list[dict]) -> str:
    lines = [
        "| graph | ranks | what | anew, wall s | anew, CPU s | changed or continued, wall s | CPU s | of anew (CPU) | "
        "edges of frontiers | rounds |",
        "|-|-|-|-|-|-|-|-|-|-|",
    ]
    for row in rows:
        (wall, cpu), (wall2, cpu2) = _least(row["before"]), _least(row["after"])
        edges, rounds = (" → ".join(f"{count:,}" for count in row.get(key, ())) for key in ("edges", "rounds"))
        lines.append(
            f"| {row['graph']} | {row['ranks']} | {row['what']} | {wall:.3f} | {cpu:.3f} | {wall2:.3f} | {cpu2:.3f} | "
            f"{100 * cpu2 / cpu:.1f} % | {edges} | {rounds} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _rank(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
