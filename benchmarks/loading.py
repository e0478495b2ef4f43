"""A generated edge list to CSR in memory: dgraph against table readers with SciPy, NetworKit and igraph.

Every reader is a process of its own, warmed up, on a file in the page cache. The time is that of the reader's call, up
to the finished CSR; the memory is the peak beyond the libraries'.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import record
from dgraph.tools.benchmarking import edge_lists

LIBRARIES = ("pandas", "pyarrow", "polars", "duckdb", "scipy", "networkit", "igraph")
STEP = 1 << 20
"""Edges generated at a time."""

DGRAPH = """
import dgraph
from dgraph.tools.benchmarking import build_part
def warm(small): load(small)
def load(file):
    graph = dgraph.Graph.load(file)
    local = build_part(graph, "oec")
    graph.comm.barrier()
    return graph.m
"""
DGRAPH_BOTH = DGRAPH.replace("load(file)\n    local", "load(file, directed=False)\n    local")
READERS = {
    "dgraph, 1 core": (1, ".el", DGRAPH),
    "dgraph, every core": (0, ".el", DGRAPH),
    "dgraph, 2 ranks": (2, ".el", DGRAPH),
    "dgraph both ways, 1 core": (1, ".el", DGRAPH_BOTH),
    "dgraph both ways, every core": (0, ".el", DGRAPH_BOTH),
    "dgraph .csv, 1 core": (1, ".csv", DGRAPH),
    "dgraph .csv, every core": (0, ".csv", DGRAPH),
    "dgraph .parquet, 1 core": (1, ".parquet", DGRAPH),
    "dgraph .parquet, every core": (0, ".parquet", DGRAPH),
    "dgraph .wsg, 1 core": (1, ".wsg", DGRAPH),
    "networkit": (
        0,
        ".el",
        """
import networkit
def warm(small): load(small)
def load(file):
    return networkit.readGraph(file, networkit.Format.EdgeListSpaceZero, directed=True).numberOfEdges()
""",
    ),
    "igraph": (
        0,
        ".el",
        """
import igraph
def warm(small): load(small)
def load(file): return igraph.Graph.Read_Edgelist(file, directed=True).ecount()
""",
    ),
}
"""Ranks (1: pinned to one core; 0: no MPI, every core), suffix of the file, and the reader's code."""

SCIPY = """
import numpy as np, scipy.sparse
def warm(small): load(small)
def load(file):
    u, v = columns(file)
    n = int(max(u.max(), v.max())) + 1
    return scipy.sparse.coo_array((np.ones(u.size, bool), (u, v)), (n, n)).tocsr().nnz
"""
COLUMNS = {
    ("pyarrow", ".el"): """
from pyarrow import csv
def columns(file):
    names = csv.ReadOptions(column_names=["u", "v"])
    table = csv.read_csv(file, read_options=names, parse_options=csv.ParseOptions(delimiter=" "))
    return [column.to_numpy() for column in table.columns]
""",
    ("pyarrow", ".parquet"): """
from pyarrow import parquet
def columns(file): return [column.to_numpy() for column in parquet.read_table(file).columns]
""",
    ("polars", ".el"): """
import polars
def columns(file):
    schema = {"u": polars.Int64, "v": polars.Int64}
    return [column.to_numpy() for column in polars.read_csv(file, separator=" ", has_header=False, schema=schema)]
""",
    ("polars", ".parquet"): """
import polars
def columns(file): return [column.to_numpy() for column in polars.read_parquet(file)]
""",
    ("pandas", ".el"): """
import pandas
def columns(file):
    table = pandas.read_csv(file, sep=" ", header=None, names=["u", "v"], engine="c")
    return table.u.to_numpy(), table.v.to_numpy()
""",
    ("pandas", ".parquet"): """
import pandas
def columns(file):
    table = pandas.read_parquet(file)
    return table.source.to_numpy(), table.target.to_numpy()
""",
    ("duckdb", ".el"): """
import duckdb
def columns(file):
    lines = "read_csv(?, delim=' ', header=false, auto_detect=false, columns={'u': 'BIGINT', 'v': 'BIGINT'})"
    return duckdb.execute(f"select u, v from {lines}", [file]).fetchnumpy().values()
""",
    ("duckdb", ".parquet"): """
import duckdb
def columns(file): return duckdb.execute("select source, target from read_parquet(?)", [file]).fetchnumpy().values()
""",
}
"""Reading of the columns of a library; to the CSR with SciPy below, or alone."""
ALONE = """
def warm(small): load(small)
def load(file): return next(iter(columns(file))).size
"""
READERS |= {
    f"{library} alone {suffix}, 1 core": (1, suffix, code + ALONE) for (library, suffix), code in COLUMNS.items()
}
READERS |= {
    f"{library} + scipy {suffix}, {'1 core' if cores else 'every core'}": (cores, suffix, code + SCIPY)
    for (library, suffix), code in COLUMNS.items()
    for cores in (1, 0)
}

TIMED = """
import json, os, sys, time
if {pinned}: os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])  # before libraries start threads
{reader}
def held():  # a child's ru_maxrss begins with its parent's
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))
warm(sys.argv[2])
before, began, busy = held(), time.perf_counter(), time.process_time()
edges = load(sys.argv[1])
seconds, busy = time.perf_counter() - began, time.process_time() - busy
print(json.dumps({{"seconds": seconds, "cpu": busy, "edges": edges, "memory": held() - before}}))
"""


def measure(megabytes: int, repeat: int, folder: Path) -> None:
    """Generate the files, run every reader ``repeat`` times in turn, and write ``load.json`` and ``load.md``."""
    document: dict = {"circumstances": record.circumstances(LIBRARIES), "repeat": repeat, "rows": []}
    with tempfile.TemporaryDirectory() as place:
        small, big = Path(place) / "small", Path(place) / "big"
        edges = {path: _generate(path.with_suffix(".el"), size) for path, size in ((small, 1), (big, megabytes))}
        for path in (small, big):
            convert = ["convert", f"{path}.el", f"{path}.wsg", "--weights", "1..255", "-q"]
            subprocess.run([sys.executable, "-m", "dgraph", *convert], check=True)
            _write_tables(path)
        document["edges"], document["vertices"] = edges[big], 1 << _scale(megabytes)
        rows = {name: {"reader": name, "runs": []} for name in READERS}
        for _ in range(repeat):
            for name, (ranks, suffix, reader) in READERS.items():
                rows[name]["bytes"] = os.path.getsize(f"{big}{suffix}")
                rows[name]["runs"].append(_run(ranks, reader, f"{big}{suffix}", f"{small}{suffix}"))
                print(name, rows[name]["runs"][-1], flush=True)
        document["rows"] = list(rows.values())
    record.write(folder, "load", document, _table(document))


def _scale(megabytes: int) -> int:
    """Return the scale of a graph with about 16 edges per vertex."""
    return max(10, int(np.log2(megabytes * 1e6 / 15 / 16)))


def _generate(path: Path, megabytes: int) -> int:
    """Write an edge list of uniform random edges, unordered; return their number."""
    factor = 1e6 * megabytes / 15.7 / (1 << _scale(megabytes))
    edges = 0
    with path.open("wb") as file:
        for count, lines in edge_lists("uniform", _scale(megabytes), STEP, edge_factor=factor, seed=1, symmetric=False):
            file.write(lines)
            edges += count
    return edges


def _write_tables(path: Path) -> None:
    """Write the edges of ``path.el`` as ``.csv`` and ``.parquet``."""
    from pyarrow import csv, parquet

    names = csv.ReadOptions(column_names=["source", "target"])
    table = csv.read_csv(path.with_suffix(".el"), names, csv.ParseOptions(delimiter=" "))
    csv.write_csv(table, path.with_suffix(".csv"))
    parquet.write_table(table, path.with_suffix(".parquet"), row_group_size=STEP)


def _run(ranks: int, reader: str, big: str, small: str) -> dict:
    """Run a reader as one process, or on some ranks; return the slowest rank's seconds, and the bytes of all."""
    launch = [] if ranks < 2 else [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks)]
    script = TIMED.format(reader=reader, pinned=ranks == 1)
    done = subprocess.run([*launch, sys.executable, "-c", script, big, small], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{reader}\n{done.stdout}\n{done.stderr}")
    told = [json.loads(text) for text in re.findall(r"{.*?}", done.stdout)]  # two ranks may print on one line
    return {
        "seconds": max(figures["seconds"] for figures in told),
        "cpu": sum(figures["cpu"] for figures in told),
        "edges": told[0]["edges"],
        "memory": sum(figures["memory"] for figures in told),
    }


def _table(document: dict) -> str:
    lines = [
        f"{document['edges']:,} edges over {document['vertices']:,} vertices, uniformly drawn\n",
        "| reader | MB | s | CPU s | MB/s | million edges/s | memory MB | memory a byte of the file |",
        "|-|-|-|-|-|-|-|-|",
    ]
    for row in document["rows"]:
        best = sorted(row["runs"], key=lambda run: run["seconds"])[len(row["runs"]) // 2]
        size, seconds, memory = row["bytes"] / 1e6, best["seconds"], best["memory"] / 1e6
        lines.append(
            f"| {row['reader']} | {size:.0f} | {seconds:.2f} | {best['cpu']:.2f} | **{size / seconds:.0f}** | "
            f"{document['edges'] / 1e6 / seconds:.1f} | {memory:.0f} | {memory / size:.2f} |"
        )
    return "\n".join(lines) + "\n"
