"""Memory of a rank: its peak on 4 ranks over that on 1, on one R-MAT graph, by algorithm.

Counted is what comes on top of the process that has run the algorithm on a small graph, so of Python, libraries and
compiled code nothing. Each figure is that of the rank that used most, in a job of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import dgraph
from benchmarks import record
from dgraph.tools.benchmarking import peak_memory

RANKS = (1, 4)
AIM = 0.45
ALGORITHMS: dict[str, dict] = {
    "triangles": {}, "lcc": {}, "ktruss": {"k": 4}, "cdlp": {}, "mst": {}, "scc": {}, "mis": {}, "color": {},
    "hits": {}, "cc": {}, "kcore": {}, "bfs": {"source": 0}, "pagerank": {},
}  # fmt: skip
"""Name → parameters. All levels of ktruss take as much memory as one, and hours over ranks."""

DIRECTED = ("scc",)


def measure(scale: int, algorithms: list[str], folder: Path) -> None:
    """Write ``shares.json`` and ``shares.md``."""
    rows = []
    for algorithm in algorithms:
        peaks = {ranks: _job(algorithm, scale, ranks) for ranks in RANKS}
        rows.append({"algorithm": algorithm, "scale": scale, "peaks": peaks})
        print(_line(rows[-1]), flush=True)
    record.write(folder, "shares", {"circumstances": record.circumstances(), "rows": rows}, _table(rows))


def _job(algorithm: str, scale: int, ranks: int) -> int:
    """Return the bytes of the rank that used most."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "bytes.json")
        words = [mpiexec if mpiexec.exists() else "mpiexec", "-n", ranks, sys.executable, "-m", "benchmarks.shares"]
        subprocess.run([str(word) for word in [*words, algorithm, scale, file]], check=True)
        return json.loads(file.read_text())


def _rank(algorithm: str, scale: int, file: Path) -> None:
    """Run as a rank: once on a small graph, then on the large one."""
    base = 0
    for size in (4, scale):
        graph = dgraph.Graph.load(f"rmat:{size}", weights="1..255", device=dgraph.Cpu(threads=1))
        graph = graph if algorithm in DIRECTED else graph.undirected()
        dgraph.run(algorithm, graph, **ALGORITHMS[algorithm])
        base = base or peak_memory()
    used = graph.comm.largest(peak_memory() - base)
    if graph.comm.rank == 0:
        file.write_text(json.dumps(used))


def _table(rows: list[dict]) -> str:
    return (
        "\n".join(["| algorithm | graph | MB on 1 rank | MB a rank on 4 | share |", "|-|-|-|-|-|", *map(_line, rows)])
        + "\n"
    )


def _line(row: dict) -> str:
    one, four = (row["peaks"][ranks] for ranks in RANKS)
    share = f"{four / one:.2f}"
    cells = row["algorithm"], f"rmat:{row['scale']}", f"{one / 1e6:,.0f}", f"{four / 1e6:,.0f}"
    return f"| {' | '.join(cells)} | {share if four <= AIM * one else f'**{share}**'} |"


if __name__ == "__main__":
    _rank(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
