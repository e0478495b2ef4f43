"""From files and arrays to the first answer on one GPU: built on the host, and on the GPU where it can be.

Each file is loaded by a process of its own, several times: the first load compiles and pins memory. It is in the page
cache, since it was just written.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import record

FILES = ("g.wel", "g.csv", "g.parquet", "g.npz", "g.wsg", "store")
SCRIPT = """
import json, sys, time
import numpy as np
import dgraph
source, build, algorithm, laps = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
device = dgraph.Cuda()
if source.startswith("rmat"):
    block = dgraph.Graph.load(source, device="cpu").block
    arrays = np.array(block.offsets), np.array(block.targets)
    def load(): return dgraph.Graph.from_csr(*arrays, directed=False, device=device if build == "auto" else "cpu")
else:
    def load(): return dgraph.Graph.load(source, build=build, device=device)
def solve(): return dgraph.run(algorithm, graph, **({"source": 1} if algorithm in ("bfs", "sssp") else {}))
for lap in range(laps):
    clock = [time.perf_counter()]
    graph = load()
    if build == "host": graph = graph.on(device=device)
    clock.append(time.perf_counter())
    solve(); clock.append(time.perf_counter())
    solve(); clock.append(time.perf_counter())
    parts = dict(zip(("load", "first", "again"), np.diff(clock).tolist()))
    print(json.dumps(parts | {"fingerprint": graph.fingerprint(), "on_gpu": graph.built_on is not None}), flush=True)
    graph.close()
"""
ARRAYS = "rmat:23,symmetric"


def measure(scale: int, repeat: int, folder: Path) -> None:
    """Write the files of ``rmat:scale`` and load each ``repeat`` times; write ``gpu-load.json`` and ``gpu-load.md``."""
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for name in FILES:
            store = ["--to", "store"] if name == "store" else []
            words = ["convert", f"rmat:{scale}", f"{place}/{name}", "--weights", "1..255", "-q", *store]
            subprocess.run([sys.executable, "-m", "dgraph", *words], check=True)
        asked = [(f"{place}/{name}", "sssp") for name in FILES] + [(f"{place}/g.wel", "cc"), (ARRAYS, "bfs")]
        for source, algorithm in asked:
            for build in ("host", "auto"):
                rows.append(_row(source, build, algorithm, repeat))
                print(_line(rows[-1]), flush=True)
    circumstances = record.circumstances(("cupy-cuda13x", "pyarrow")) | {"scale": scale}
    record.write(folder, "gpu-load", {"circumstances": circumstances, "rows": rows}, _table(rows))


def _row(source: str, build: str, algorithm: str, repeat: int) -> dict:
    """Load a file, or arrays, in a process of its own; return what each load took."""
    words = [sys.executable, "-c", SCRIPT, source, build, algorithm, str(repeat)]
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{source} {build}\n{ran.stdout}\n{ran.stderr}")
    laps = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return {"source": Path(source).name, "build": build, "algorithm": algorithm, "laps": laps}


def _line(row: dict) -> str:
    first, *later = row["laps"]
    best = min(later or [first], key=lambda lap: lap["load"] + lap["first"])
    seconds = " | ".join(f"{lap[part]:.3f}" for lap in (first, best) for part in ("load", "first"))
    built = "GPU" if best["on_gpu"] else "host"
    return f"| {row['source']} | {row['algorithm']} | {row['build']} | {built} | {seconds} | {best['again']:.4f} |"


def _table(rows: list[dict]) -> str:
    head = (
        "| source | algorithm | build= | built on | first load s | its first call s | quickest later load s | "
        "its first call s | second call s |"
    )
    return "\n".join([head, "|-" * (head.count("|") - 1) + "|", *map(_line, rows)]) + "\n"
