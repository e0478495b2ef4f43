"""First and later calls on a CPU and on a GPU, beside the peers' later calls: the table of README.

*First* is the time of a process with empty caches of machine code, from its start to the answer: imports, making the
graph, compiling and the call. *Later* is the same call again, on GPUs by optimised kernels. A call ends when its
columns are on the host.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import peers, record
from benchmarks.graphs import GRAPHS, load

CALLS = {
    "bfs, tree": "bfs", "sssp, tree": "sssp", "cc": "cc", "pagerank": "pagerank", "kcore": "kcore",
}  # fmt: skip
"""Name of the row, as in :mod:`benchmarks.peers` → algorithm."""
CACHES = ("DGRAPH_CACHE_DIR", "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH")


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run everything and write ``calls.json`` and ``calls.md`` after each row.

    Args:
        graphs: of :data:`benchmarks.graphs.GRAPHS`.
        repeat: later calls of a cell, whose median is kept.
        folder: of the results.
    """
    peers.install()
    devices = ["cpu", "cuda"] if shutil.which("nvidia-smi") else ["cpu"]
    document: dict[str, Any] = {"circumstances": record.circumstances(peers.LIBRARIES), "repeat": repeat, "rows": []}
    if "cuda" in devices:
        document["circumstances"]["gpu"] = _card()
    for name in graphs:
        arrays = load(name, sources=1)
        (source,) = arrays.sources
        libraries = {library: make(arrays) for library, make in peers.PEERS.items()}
        for row_name, algorithm in CALLS.items():
            row = {"graph": name, "algorithm": row_name, "peers": {}}
            for library, tasks in libraries.items():
                if row_name in tasks:
                    row["peers"][library] = _median(partial(tasks[row_name], source), min(repeat, 3))
            for device in devices:
                row[device] = _child(name, algorithm, device, source, repeat)
            document["rows"].append(row)
            print(json.dumps(row), flush=True)
            record.write(folder, "calls", document, table(document["rows"]))


def table(rows: list[dict]) -> str:
    """Return the rows as Markdown, seconds."""
    lines = [
        "| graph | algorithm | CPU, first | CPU, later | GPU, first | GPU, later | fastest peer, later "
        "| CPU, GPU against it |",
        "|-" * 8 + "|",
    ]
    for row in rows:
        peer = min(row["peers"], key=row["peers"].__getitem__)
        cells, ratios = [], []
        for device in ("cpu", "cuda"):
            if device in row:
                cells += [f"{row[device]['command']:.1f}", f"{row[device]['later']:.4f}"]
                ratios.append(f"**{row['peers'][peer] / row[device]['later']:.1f}×**")
            else:
                cells += ["–", "–"]
        cells += [f"{row['peers'][peer]:.3f} {peer}", ", ".join(ratios)]
        lines.append(f"| {row['graph']} | {row['algorithm']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _card() -> str:
    words = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def _median(call, repeat: int) -> float:
    seconds = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _child(graph: str, algorithm: str, device: str, source: int, repeat: int) -> dict:
    """Return seconds of a process with empty caches: ``command``, ``load``, ``first`` and ``later``."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as caches:  # its optimiser may still write
        environment = os.environ | dict.fromkeys(CACHES, caches)
        environment.pop("DGRAPH_COMPILE", None)  # ``benchmarks`` sets it for runs in this process; users do not
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has bytecode
        words = [graph, algorithm, device, str(source), str(repeat), str(time.time())]
        line = [sys.executable, "-m", "benchmarks.calls", *words]
        printed = subprocess.run(line, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(printed.splitlines()[-1])


def _calls(name: str, algorithm: str, device: str, source: int, repeat: int, started: float) -> dict:
    spec, weights = GRAPHS[name]
    parameters = {
        "bfs": {"source": source}, "sssp": {"source": source}, "pagerank": {"tol": 0, "max_iter": peers.ROUNDS},
    }.get(algorithm, {})  # fmt: skip
    began = time.perf_counter()
    graph = dgraph.Graph.load(spec, weights=weights if algorithm == "sssp" else "unit", device=device)
    loaded = time.perf_counter()

    def call():
        columns = dgraph.run(algorithm, graph, **parameters).columns
        return [np.asarray(columns[column]) for column in columns]

    first = _median(call, 1)
    command = time.time() - started
    _wait_for_optimiser()
    return {"command": command, "load": loaded - began, "first": first, "later": _median(call, repeat)}


def _wait_for_optimiser() -> None:
    """Wait until a GPU's kernels of the first call are optimised: later processes find them so."""
    end = time.monotonic() + 60
    while any(Path(os.environ["DGRAPH_CACHE_DIR"]).glob("*.cu")) and time.monotonic() < end:
        time.sleep(0.1)


if __name__ == "__main__":
    name, algorithm, device, source, repeat, started = sys.argv[1:]
    print(json.dumps(_calls(name, algorithm, device, int(source), int(repeat), float(started))))
