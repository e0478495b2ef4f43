"""Runs on several GPUs: milliseconds, their share of computation, and the cost of a round."""

from __future__ import annotations

import itertools
import statistics
import time
from pathlib import Path

import numpy as np

import dgraph
from benchmarks import anchors, record
from dgraph.program import Program
from dgraph.tools import benchmarking

GRAPHS = {
    "grid1000": "grid:1000x1000", "grid2500": "grid:2500x2500", "grid4900": "grid:4900x4900",
    "grid100x10000": "grid:100x10000", "grid400x10000": "grid:400x10000",
    "smallworld4M": "smallworld:4000000,k=4,p=0.01", "rmat22": "rmat:22", "rmat24": "rmat:24",
    **dict.fromkeys(anchors.RECIPES, ""),
    "built26": "rmat:26", "built27": "rmat:27", "built28": "rmat:28",
    "built25sym": "rmat:25,symmetric", "built27sym": "rmat:27,symmetric", "built28sym": "rmat:28,symmetric",
    "built29": "rmat:29", "built30": "rmat:30",
    "built25alb": "rmat-alb:25",
}  # fmt: skip
"""Name → generator; "": a graph that the peers were measured on.

GPUs generate and build those whose name begins with "built".
"""

LOADED = [name for name, spec in GRAPHS.items() if spec and not name.startswith("built")]
"""Graphs that hosts load, of which symmetric ones can be made."""

ALGORITHMS = (
    "bfs", "bfs tree", "sssp", "sssp tree", "sssp buckets",
    "cc", "pagerank", "pagerank single", "kcore", "kcore peeling",
    "kcore estimates", "color", "scc", "mst", "mis", "triangles", "cdlp",
)  # fmt: skip
"""Names, some with a variant.

``tree``: with predecessors. ``pagerank single``: 32-bit floats, as measured for the peers. Graphs have weights, which
pagerank, a program here, ignores as the peers do; built ones have them where an algorithm of ``WEIGHTED`` runs.
"""

SETTINGS: dict[str, dict] = {
    "bfs": {"return_predecessors": False},
    "sssp": {"return_predecessors": False},
}
PROGRAMS = {
    "pagerank": benchmarking.program("pagerank", tol=0.0, max_iter=20),
    "pagerank single": benchmarking.program("pagerank", tol=0.0, max_iter=20).retype(**benchmarking.SINGLE),
}
"""Algorithms that run as a program."""

VARIANTS: dict[str, dict] = {"": {}, "tree": {"return_predecessors": True}}
"""Options for a word after an algorithm's name that is not a ``variant``."""

ABOUT = {"reach": ("bfs",), "local": ("bfs", "sssp"), "each": ("bfs", "sssp")}
"""Options that affect only some algorithms → these algorithms; keys are names without digits."""

SYMMETRIC = ("cc", "kcore", "color", "mst", "mis", "triangles", "cdlp")
"""Algorithms skipped on the peers' directed graphs, for which there are no figures."""

WEIGHTED = ("sssp", "mst")

PARTS = ("compute", "pack", "exchange", "unpack", "idle")
HIDDEN = "hidden"
"""Seconds of exchanges overlapped with edges; not one of ``PARTS``, because no rank waited for them."""

WAYS: dict[str, dict] = {
    "plain": {},
    "host": {"host_rounds": True},
    "twc": {"schedule": "twc"},
    "alb": {"schedule": "alb"},
    "lb": {"schedule": "lb"},
    "limit21": {"across_limit": 1 << 21},
    "limit23": {"across_limit": 1 << 23},
    "local": {"local_rounds": True},
    "each": {"local_rounds": False},
    "reach2": {"reach": 2},
    "reach": {"reach": 4},
    "reach8": {"reach": 8},
}
"""Name → options of :meth:`dgraph.tools.benchmarking.Gpu.backend`."""


def measure(
    graphs: list[str], works: list[str], policies: list[str], ways: list[str], count: int, repeat: int, folder: Path
) -> None:
    """Run under ``mpirun -n P`` with a GPU per rank; rank 0 replaces rows in ``across-P.json`` and ``.md``.

    Args:
        graphs: of ``GRAPHS``.
        works: of ``ALGORITHMS``.
        policies: as of :func:`dgraph.run`.
        ways: of ``WAYS``.
        count: sources per graph; the first one is the vertex of most edges.
        repeat: timed runs per source, after one that is not timed.
        folder: folder of the results.
    """
    comm = dgraph.communicator()
    gpu = benchmarking.Gpu(comm)
    rows: list[dict] = []
    facts = record.circumstances(("cupy-cuda13x", "mpi4py"))
    facts |= {"command": f"mpirun -n {comm.size} {facts['command']}", "gpu": f"{comm.size} × {gpu.name}"}
    document = {"circumstances": facts, "chosen": [], "rows": rows}
    for name in graphs:
        weights = "1..255" if any(work.startswith(WEIGHTED) for work in works) else None
        graph, sources = _graph(name, policies[0], count, gpu, comm, weights)
        for policy, work in itertools.product(policies, works):
            algorithm, _, variant = work.partition(" ")
            if name not in LOADED and graph.directed and algorithm in SYMMETRIC:
                continue
            for traversal in ways:
                if algorithm not in ABOUT.get(traversal.rstrip("0123456789"), ALGORITHMS):
                    continue
                more = SETTINGS.get(algorithm, {}) | VARIANTS.get(variant, {"variant": variant})
                more = {} if work in PROGRAMS else more
                more["device"] = gpu.backend(**WAYS[traversal])
                starts = [{"source": source} for source in sources] if algorithm in ("bfs", "sssp") else [{}]
                row = {"graph": name, "policy": policy, "algorithm": work, "way": traversal}
                row |= _measured(graph, PROGRAMS.get(work, algorithm), policy, more, starts, repeat)
                document["chosen"] = row.pop("chosen")
                rows.append(row)
                if comm.rank == 0:
                    print(_line(row), flush=True)
                    keep(folder, comm.size, [document])  # immediately, in case the run is interrupted
        graph = None  # free it before the next one is generated


def keep(folder: Path, ranks: int, runs: list[dict]) -> None:
    """Add the rows of these runs, newest first, in place of older ones."""
    record.add(folder, f"across-{ranks}", runs, KEY, TOLD, _table)


def _graph(name: str, policy: str, count: int, gpu, comm, weights: str | None) -> tuple[dgraph.Graph, list[int]]:
    if not GRAPHS[name]:
        return anchors.shared(name, count, gpu, comm)
    if name.startswith("built"):
        graph: dgraph.Graph = dgraph.build_on_gpus(GRAPHS[name], comm=comm, policy=policy, weights=weights)
    else:
        graph = dgraph.Graph.load(GRAPHS[name], weights="1..255", comm=comm)
    return graph, [graph.hub()]


def _measured(graph, algorithm: str | Program, policy: str, more: dict, starts: list[dict], repeat: int) -> dict:
    """Return the medians of every source, the figures of the slowest source, and a digest of the answers."""
    figures, digest = [], 0
    more = dict(more)
    placed = graph.on(policy=policy, device=more.pop("device"))
    for source in starts:
        runs, calls = [], []
        for _ in range(repeat + 1):
            graph.comm.barrier()
            began = time.perf_counter()
            runs.append(dgraph.run(algorithm, placed, **source, **more))
            calls.append(time.perf_counter() - began)
        call = float(graph.comm.allreduce(np.array([statistics.median(calls[1:])]), "max")[0])
        digest = (31 * digest + _digest(runs[0])) % 2**64
        figures.append(_figures(runs[1:]) | {"rounds": runs[-1].rounds, "call": call})
    choices = [choice for choice in runs[-1].report["choices"] if choice["what"] in ("gpus", "transport")]
    medians = [one["seconds"] for one in figures]
    slowest = figures[medians.index(max(medians))]
    return slowest | {"each": medians, "answer": f"{digest:016x}", "chosen": choices}


def _digest(result) -> int:
    """Return a digest that does not depend on the number of ranks.

    Integers of the last column are hashed by vertex; of PageRank, the sum of squares is kept to five digits.
    """
    columns = list(result.columns)
    vertex, values = result.columns["vertex"], result.columns["rank" if "rank" in columns else columns[-1]]
    if values.dtype.kind == "f":
        values = values.astype(np.float64) * result.comm.total(values.size)
        squares = result.comm.allreduce(np.square(values).sum(keepdims=True))
        return int(1e5 * np.log(squares[0]))
    value = values.astype(np.int64).view(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    mixed = (vertex.view(np.uint64) + np.uint64(1)) * np.uint64(anchors.GOLDEN) ^ value
    return int(result.comm.allgather(np.array([mixed.sum()], np.uint64)).sum(dtype=np.uint64))


def _figures(runs: list) -> dict:
    """Return medians over runs: seconds of the slowest rank, and each part's mean over ranks."""
    seconds = [[rank["seconds"] for rank in run.report["ranks"]] for run in runs]
    slowest = [max(sum(rank[part] for part in PARTS) for rank in run) for run in seconds]
    means = {part: statistics.median(statistics.mean(rank[part] for rank in run) for run in seconds) for part in PARTS}
    means[HIDDEN] = statistics.median(statistics.mean(rank.get(HIDDEN, 0.0) for rank in run) for run in seconds)
    sent = sum(peer["bytes"] for rank in runs[-1].report["ranks"] for peer in rank["sent"])
    return {"seconds": statistics.median(slowest), "parts": means, "bytes": sent}


KEY = ("graph", "policy", "algorithm", "way")
"""Columns that identify a row."""

TOLD = (
    "`ms` is the slowest rank's sum of the parts behind it; `call` is the whole of `dgraph.run`, columns of the result "
    "left\nwhere they are. A row is the last that was measured."
)
HEAD = f"| graph | policy | algorithm | way | rounds | ms | call | µs a round | {' | '.join(PARTS)} | {HIDDEN} | MB |"


def _table(rows: list[dict]) -> str:
    return "\n".join([HEAD, "|-" * (HEAD.count("|") - 1) + "|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    parts = " | ".join(f"{1e3 * row['parts'][part]:.2f}" for part in (*PARTS, HIDDEN))
    low, high = (f"{1e3 * of(row['each']):.2f}" for of in (min, max))
    call = "–" if row["call"] is None else f"{1e3 * row['call']:.1f}"
    return (
        f"| {row['graph']} | {row['policy']} | {row['algorithm']} | {row['way']} | {row['rounds']:,} | "
        f"{low if low == high else f'{low}–{high}'} | {call} | "
        f"{1e6 * row['seconds'] / max(row['rounds'], 1):.1f} | {parts} | "
        f"{row['bytes'] / 1e6:.2f} |"
    )
