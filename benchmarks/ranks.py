"""The same graphs on 1, 2 and 4 ranks of this machine: seconds, and the cost of a round."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import record
from benchmarks.cpu import ALGORITHMS
from benchmarks.graphs import GRAPHS

RANKS = (1, 2, 4)
PARAMETERS = {
    "bfs": ["--no-return-predecessors"],
    "sssp": ["--no-return-predecessors"],
    "pagerank": ["--tol", "0", "--max-iter", "20"],
}


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Run everything and write ``ranks.json`` and ``ranks.md``."""
    document: dict = {"circumstances": record.circumstances(), "repeat": repeat, "rows": []}
    for name in graphs:
        for algorithm in ALGORITHMS:
            for ranks in RANKS:
                runs = [_run(name, algorithm, ranks) for _ in range(repeat)]
                seconds, rounds = [s for s, _ in runs], runs[0][1]
                row = {"graph": name, "algorithm": algorithm, "ranks": ranks, "seconds": seconds, "rounds": rounds}
                document["rows"].append(row)
                print(f"{name} {algorithm} {ranks}: {statistics.median(seconds):.4f} s", flush=True)
    record.write(folder, "ranks", document, _table(document["rows"]))


def _run(name: str, algorithm: str, ranks: int) -> tuple[float, int]:
    """Seconds of the slowest rank's rounds (compute, pack, exchange, unpack, agree), and how many there were."""
    spec, weights = GRAPHS[name]
    launcher = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(launcher) if launcher.exists() else shutil.which("mpiexec")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [mpiexec, "-n", str(ranks), sys.executable, "-m", "dgraph", algorithm, spec, "-q", "--report", report]
        words += ["--weights", weights] if weights else []
        subprocess.run([str(word) for word in words + PARAMETERS.get(algorithm, [])], check=True)
        told = json.loads(report.read_text())
    parts = ("compute", "pack", "exchange", "unpack", "agree")
    return max(sum(rank["seconds"][part] for part in parts) for rank in told["ranks"]), told["rounds"]["count"]


def _table(rows: list[dict]) -> str:
    lines = ["| graph | algorithm | ranks | seconds (median) | range | rounds | µs a round |", "|-|-|-|-|-|-|-|"]
    for row in rows:
        median = statistics.median(row["seconds"])
        lines.append(
            f"| {row['graph']} | {row['algorithm']} | {row['ranks']} | {median:.4f} | {min(row['seconds']):.4f}–"
            f"{max(row['seconds']):.4f} | {row['rounds']} | {1e6 * median / max(row['rounds'], 1):.0f} |"
        )
    return "\n".join(lines) + "\n"
