"""leiden and louvain on one CPU rank with two threads against Leiden of igraph, NetworKit and leidenalg, all twice.

igraph computes the modularity of all partitions. Peers have their graph before the clock starts, dgraph its loaded
graph; calls alternate. On LFR graphs NMI is against the planted communities. leidenalg is left out of graphs of more
than ``MOST_EDGES`` edges, where it takes minutes.
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

PLANTED = {
    "planted 10,000": (100, 100),
    "planted 60,000": (200, 300),
    "planted mixed": (300, 100),
    "accounts 300k": (1000, 300),
}
"""Name → number and size of communities; 8 edges a vertex within them, 4 between, in ``mixed`` 8 and 12."""

BENCHMARKS = {"LFR .5": 0.5, "LFR .65": 0.65}
"""Name → share of a vertex's edges between communities, of a graph of LFR_SIZE vertices [Lancichinetti et al. 2008]."""

LFR_SIZE, POINTS, NEIGHBOURS, BLOBS = 200_000, 300_000, 15, 100
MOST_EDGES = 3_000_000

GENERATED = {"rmat16": "rmat:16,symmetric", "rmat20": "rmat:20,symmetric", "road": "road:300x300"}
GRAPHS = (*FILES, *PLANTED, *BENCHMARKS, "kNN 300k", *GENERATED)
THREADS = 2
PEERS = ("igraph", "networkit", "leidenalg")


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Write ``communities.json`` and ``.md``."""
    peers.install(PEERS)
    rows = []
    for name in graphs:
        graph, truth = _graph(name)
        theirs, sides = _sides(graph)
        partitions, seconds = peers.alternating(sides, repeat)
        for side, labels in partitions.items():
            count, value = len(np.unique(labels)), theirs.modularity(labels.tolist())
            figures = {"communities": count, "modularity": value, "seconds": seconds[side]}
            figures |= {"nmi": None if truth is None else dgraph.nmi(graph, labels, truth)}
            rows.append({"graph": name, "side": side} | figures)
            print(_line(rows[-1]), flush=True)
    where = record.circumstances(PEERS)
    record.write(folder, "communities", {"circumstances": where, "rows": rows}, _table(rows))


def _graph(name: str) -> tuple[dgraph.Graph, np.ndarray | None]:
    """Load or make a graph without weights; return it with its planted communities, where it has some."""
    device, truth = dgraph.Cpu(threads=THREADS), None
    if name in PLANTED or name in BENCHMARKS or name.startswith("kNN"):
        if name in PLANTED:
            groups, size = PLANTED[name]
            ends = _planted(groups, size, 12 if "mixed" in name else 4)
        elif name in BENCHMARKS:
            ends, truth = _lfr(BENCHMARKS[name])
        else:
            ends = _nearest()
        return dgraph.Graph.from_edges(*ends, directed=False).on(device=device), truth
    source = GENERATED.get(name) or str(Path(os.environ.get("DGRAPH_TEST_DATA", ".")) / FILES[name])
    graph = dgraph.Graph.load(source, weights="unit", device=device)
    return (graph.undirected() if graph.directed else graph), None


def _planted(groups: int, size: int, between: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random edges: 8 a vertex within its group, and ``between`` a vertex to any."""
    rng, n = np.random.default_rng(1), groups * size
    inside, first = np.repeat(np.arange(n), 4), np.repeat(np.arange(n), between // 2)
    mates = inside // size * size + rng.integers(0, size, len(inside))
    return np.concatenate([inside, first]), np.concatenate([mates, rng.integers(0, n, len(first))])


def _lfr(mixing: float) -> tuple[np.ndarray, np.ndarray]:
    """Return edges and communities of an LFR graph: mean degree 20, at most 100, communities of 20 to 1,000."""
    import networkit

    networkit.setSeed(1, True)
    generator = networkit.generators.LFRGenerator(LFR_SIZE)
    generator.generatePowerlawDegreeSequence(20, 100, -2)
    generator.generatePowerlawCommunitySizeSequence(20, 1000, -1)
    generator.setMu(mixing)
    graph = generator.generate()
    ends = np.array(list(graph.iterEdges()), np.int64).T
    return ends, np.array(generator.getPartition().getVector(), np.int64)


def _nearest() -> np.ndarray:
    """Return the pairs of nearest neighbours among points of normal blobs in eight dimensions."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(1)
    points = rng.normal(size=(POINTS, 8)) + 6 * rng.random((BLOBS, 8))[np.arange(POINTS) % BLOBS]
    near = cKDTree(points).query(points, NEIGHBOURS + 1, workers=THREADS)[1][:, 1:]
    return np.stack([np.repeat(np.arange(POINTS), NEIGHBOURS), near.ravel()])


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

    import networkit

    networkit.setNumberOfThreads(THREADS)
    ends = rows[once], targets[once]
    parallel = networkit.GraphFromCoo((np.ones(len(ends[0])), ends), n=graph.n)

    def networkits() -> np.ndarray:
        method = networkit.community.ParallelLeiden(parallel, iterations=2)
        method.run()
        return np.array(method.getPartition().getVector())

    def leidenalgs() -> np.ndarray:
        import leidenalg

        kind = leidenalg.ModularityVertexPartition
        return np.array(leidenalg.find_partition(theirs, kind, n_iterations=2, seed=1).membership)

    sides = {"leiden": lambda: run("leiden"), "louvain": lambda: run("louvain"), "igraph": leiden}
    sides |= {"NetworKit": networkits}
    return theirs, sides | ({"leidenalg": leidenalgs} if graph.m <= MOST_EDGES else {})


def _table(rows: list[dict]) -> str:
    return (
        "\n".join(["| graph | side | communities | modularity | NMI | seconds |", "|-|-|-|-|-|-|", *map(_line, rows)])
        + "\n"
    )


def _line(row: dict) -> str:
    seconds = statistics.median(row["seconds"])
    nmi = "" if row["nmi"] is None else f"{row['nmi']:.4f}"
    return (
        f"| {row['graph']} | {row['side']} | {row['communities']:,} | {row['modularity']:.5f} | {nmi} | {seconds:.3f} |"
    )
