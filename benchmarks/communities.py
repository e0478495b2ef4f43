"""leiden and louvain on one CPU rank with two threads: quality and time of whole calls, against igraph's Leiden.

Both search twice (``n_iterations=2``). igraph computes the modularity of all partitions. It has its graph before the
clock starts, dgraph its loaded graph; calls alternate.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import peers, record

FILES = {"facebook": "facebook_combined.txt", "cit-HepPh": "cit-HepPh_part.txt", "luxembourg": "luxembourg_osm.mtx"}
"""Name → file in the folder ``DGRAPH_TEST_DATA``."""

PLANTED = {"planted 10,000": (100, 100), "planted 60,000": (200, 300), "planted mixed": (300, 100)}
"""Name → number and size of communities; 8 edges a vertex within them, 4 between, in ``mixed`` 8 and 12."""

GENERATED = {"rmat16": "rmat:16,symmetric", "road": "road:300x300"}
GRAPHS = (*FILES, *PLANTED, *GENERATED)
THREADS = 2


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Write ``communities.json`` and ``.md``."""
    peers.install(("igraph",))
    rows = []
    for name in graphs:
        theirs, sides = _sides(_graph(name))
        partitions, seconds = peers.alternating(sides, repeat)
        for side, labels in partitions.items():
            count, value = len(np.unique(labels)), theirs.modularity(labels.tolist())
            figures = {"communities": count, "modularity": value, "seconds": seconds[side]}
            rows.append({"graph": name, "side": side} | figures)
            print(_line(rows[-1]), flush=True)
    where = record.circumstances(("igraph",))
    record.write(folder, "communities", {"circumstances": where, "rows": rows}, _table(rows))


def _graph(name: str) -> dgraph.Graph:
    """Load or make a graph without weights."""
    device = dgraph.Cpu(threads=THREADS)
    if name in PLANTED:
        groups, size = PLANTED[name]
        ends = _planted(groups, size, 12 if "mixed" in name else 4)
        return dgraph.Graph.from_edges(*ends, directed=False).on(device=device)
    source = GENERATED.get(name) or str(Path(os.environ.get("DGRAPH_TEST_DATA", ".")) / FILES[name])
    graph = dgraph.Graph.load(source, weights="unit", device=device)
    return graph.undirected() if graph.directed else graph


def _planted(groups: int, size: int, between: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random edges: 8 a vertex within its group, and ``between`` a vertex to any."""
    rng, n = np.random.default_rng(1), groups * size
    inside, first = np.repeat(np.arange(n), 4), np.repeat(np.arange(n), between // 2)
    mates = inside // size * size + rng.integers(0, size, len(inside))
    return np.concatenate([inside, first]), np.concatenate([mates, rng.integers(0, n, len(first))])


def _sides(graph: dgraph.Graph) -> tuple[Any, dict[str, Callable[[], np.ndarray]]]:
    """Return igraph's graph, and side → call that returns labels by row."""
    import igraph

    block = graph.block
    rows, targets = np.repeat(np.arange(block.rows), np.diff(block.offsets)), np.asarray(block.targets, np.int64)
    once = rows < targets
    theirs = igraph.Graph(n=graph.n, edges=np.stack([rows[once], targets[once]], axis=1))

    def run(name: str) -> np.ndarray:
        return np.unique(dgraph.run(name, graph).columns["community"], return_inverse=True)[1]

    def leiden() -> np.ndarray:
        return np.array(theirs.community_leiden("modularity", n_iterations=2).membership)

    return theirs, {"leiden": lambda: run("leiden"), "louvain": lambda: run("louvain"), "igraph": leiden}


def _table(rows: list[dict]) -> str:
    return "\n".join(["| graph | side | communities | modularity | seconds |", "|-|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    seconds = statistics.median(row["seconds"])
    return f"| {row['graph']} | {row['side']} | {row['communities']:,} | {row['modularity']:.5f} | {seconds:.3f} |"
