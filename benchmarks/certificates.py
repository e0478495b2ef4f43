"""Certificates: their seconds beside those of the solve, on any number of ranks."""

from __future__ import annotations

from pathlib import Path

import dgraph
from benchmarks import record

PARAMETERS: dict[str, dict] = {
    "bfs": {}, "sssp": {}, "cc": {}, "scc": {}, "pagerank": {}, "kcore": {}, "color": {}, "mis": {}, "mst": {},
    "cdlp": {}, "triangles": {}, "lcc": {}, "clustering": {}, "degrees": {}, "neighbor_degree": {}, "ktruss": {},
    "hits": {}, "katz": {"alpha": 1e-4}, "eigenvector": {}, "multi_source_bfs": {"k": 4}, "multi_source_sssp": {"k": 4},
    "multi_source_pagerank": {"k": 4}, "reachability": {"k": 4}, "closeness": {"k": 4}, "bc": {"k": 4},
    "edge_bc": {"k": 4}, "random_walks": {"length": 4}, "similarity": {"first": [0, 1], "second": [2, 3]},
    "leiden": {}, "louvain": {},
}  # fmt: skip
"""Algorithm → parameters, beside a source."""

SEARCHES = ("bfs", "sssp")
WEIGHTED = ("sssp", "mst", "multi_source_sssp")
FACTOR, SHORT = 3.0, 0.3
"""A certificate is short if it takes at most so many times the solve, or so many seconds."""


def measure(graphs: list[str], works: list[str], repeat: int, device: str, folder: Path) -> None:
    """Run under ``mpirun -n P``; rank 0 replaces rows in ``certificates-P.json`` and ``.md``."""
    comm = dgraph.communicator()
    facts = record.circumstances(("mpi4py",))
    facts["command"] = f"mpirun -n {comm.size} {facts['command']}"
    rows: list[dict] = []
    document = {"circumstances": facts, "rows": rows}
    for name in graphs:
        for weights in (None, "1..255"):
            chosen = [work for work in works if (work in WEIGHTED) == (weights is not None)]
            graph = dgraph.Graph.load(name, weights=weights, comm=comm, device=device) if chosen else None
            for work in chosen:
                more = PARAMETERS[work] | ({"source": graph.hub()} if work in SEARCHES else {})
                row = {"graph": name, "device": device, "algorithm": work, **_measured(graph, work, more, repeat)}
                rows.append(row)
                if comm.rank == 0:
                    print(_line(row), flush=True)
                    record.add(folder, f"certificates-{comm.size}", [document], KEY, TOLD, _table)


def _measured(graph: dgraph.Graph, work: str, more: dict, repeat: int) -> dict:
    """Return the least seconds of repeated calls: of the slowest rank's certificate, and of its solve."""
    certificate, solve = [], []
    for _ in range(repeat + 1):
        result = dgraph.run(work, graph, validate=True, **more)
        ranks = [rank["seconds"] for rank in result.report["ranks"]]
        certificate.append(max(seconds["validate"] for seconds in ranks))
        solve.append(max(seconds["solve"] for seconds in ranks))
    return {"certificate": min(certificate[1:]), "solve": min(solve[1:]), "first": certificate[0]}


KEY = ("graph", "device", "algorithm")
"""Columns that identify a row."""

TOLD = (
    "Seconds of the slowest rank, the least of repeated calls: `dgraph.run(NAME, graph, validate=True)`. `first`: the\n"
    f"certificate of the first call, which compiles. Short: at most {FACTOR:g} times the solve or {SHORT} s."
)
HEAD = "| graph | device | algorithm | certificate | solve | ratio | short | first |"


def _table(rows: list[dict]) -> str:
    return "\n".join([HEAD, "|-" * (HEAD.count("|") - 1) + "|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    ratio = row["certificate"] / row["solve"]
    short = "yes" if ratio <= FACTOR or row["certificate"] <= SHORT else "no"
    return (
        f"| {row['graph']} | {row['device']} | {row['algorithm']} | {row['certificate']:.3f} | {row['solve']:.3f} | "
        f"{ratio:.1f} | {short} | {row['first']:.2f} |"
    )
