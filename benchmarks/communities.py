"""leiden and louvain on one CPU rank with two threads against Leiden of igraph, NetworKit and leidenalg, all twice.

igraph computes the modularity of all partitions. Peers have their graph before the clock starts, dgraph its loaded
graph; calls alternate. On LFR graphs NMI is against the planted communities. leidenalg is left out where it is not
installed, and of graphs of more than ``MOST_EDGES`` edges, where it takes minutes.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import peers, record

FILES = {"facebook": "facebook_combined.txt", "cit-HepPh": "cit-HepPh_part.txt", "luxembourg": "luxembourg_osm.mtx"}
"""Name → file in the folder ``DGRAPH_TEST_DATA``."""

MIXING = {"LFR .5": 0.5, "LFR .65": 0.65}
"""Name → share of a vertex's edges between communities, of an LFR graph [Lancichinetti et al. 2008]."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the generated graphs.

    Attributes:
        lfr: vertices of LFR graphs.
        points, blobs: points of which each is joined to its nearest, and normal distributions that they are drawn from.
        accounts: number of planted communities of 300 vertices.
        roadnet, rmat: specs of these graphs.
    """

    lfr: int
    points: int
    blobs: int
    accounts: int
    roadnet: str
    rmat: str


SIZES = {
    "small": Sizes(50_000, 100_000, 100, 200, "roadnet:300x300", "rmat:16,symmetric"),
    "full": Sizes(200_000, 300_000, 100, 1000, "roadnet:1000x1000", "rmat:20,symmetric"),
}
GRAPHS = (*FILES, *MIXING, "kNN", "roadnet", "accounts", "rmat")
THREADS, NEIGHBOURS, MOST_EDGES = 2, 15, 3_000_000
PEERS, OURS = ("igraph", "networkit"), ("leiden", "louvain")


def measure(graphs: list[str], scale: str, repeat: int, folder: Path) -> None:
    """Write ``communities.json`` and ``.md``; of the scale ``full``, ``communities-full``."""
    peers.install(PEERS)
    rows = []
    for name in graphs:
        graph, truth = _graph(name, SIZES[scale])
        theirs, sides = _sides(graph)
        partitions, seconds = peers.alternating(sides, repeat)
        for side, labels in partitions.items():
            count, value = len(np.unique(labels)), theirs.modularity(labels.tolist())
            figures = {"communities": count, "modularity": value, "seconds": seconds[side]}
            figures |= {"nmi": None if truth is None else dgraph.nmi(graph, labels, truth)}
            rows.append({"graph": name, "n": graph.n, "edges": graph.m, "side": side} | figures)
            print(_line(rows[-1]), flush=True)
    where = record.circumstances(PEERS)
    print(_means(rows))
    record.write(
        folder, "communities" if scale == "small" else "communities-full", {"circumstances": where, "rows": rows},
        _table(rows),
    )  # fmt: skip


def _graph(name: str, sizes: Sizes) -> tuple[dgraph.Graph, np.ndarray | None]:
    """Load or make a graph without weights; return it with its planted communities, where it has some."""
    device, truth = dgraph.Cpu(threads=THREADS), None
    if name in ("accounts", "kNN", *MIXING):
        if name == "accounts":
            ends = _accounts(sizes.accounts)
        elif name == "kNN":
            ends = _nearest(sizes.points, sizes.blobs)
        else:
            ends, truth = _lfr(sizes.lfr, MIXING[name])
        return dgraph.Graph.from_edges(*ends, directed=False).on(device=device), truth
    source = {"roadnet": sizes.roadnet, "rmat": sizes.rmat}.get(name)
    source = source or str(Path(os.environ.get("DGRAPH_TEST_DATA", ".")) / FILES[name])
    graph = dgraph.Graph.load(source, weights="unit", device=device)
    return (graph.undirected() if graph.directed else graph), None


def _accounts(groups: int, size: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return random edges: 8 a vertex within its group of a size, and 4 to any."""
    rng, n = np.random.default_rng(1), groups * size
    inside, first = np.repeat(np.arange(n), 4), np.repeat(np.arange(n), 2)
    mates = inside // size * size + rng.integers(0, size, len(inside))
    return np.concatenate([inside, first]), np.concatenate([mates, rng.integers(0, n, len(first))])


def _lfr(n: int, mixing: float) -> tuple[np.ndarray, np.ndarray]:
    """Return edges and communities of an LFR graph: mean degree 20, at most 100, communities of 20 to 1,000."""
    import networkit

    networkit.setSeed(1, True)
    generator = networkit.generators.LFRGenerator(n)
    generator.generatePowerlawDegreeSequence(20, 100, -2)
    generator.generatePowerlawCommunitySizeSequence(20, 1000, -1)
    generator.setMu(mixing)
    graph = generator.generate()
    ends = np.array(list(graph.iterEdges()), np.int64).T
    return ends, np.array(generator.getPartition().getVector(), np.int64)


def _nearest(count: int, blobs: int) -> np.ndarray:
    """Return the pairs of nearest neighbours among points of normal blobs in eight dimensions."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(1)
    points = rng.normal(size=(count, 8)) + 6 * rng.random((blobs, 8))[np.arange(count) % blobs]
    near = cKDTree(points).query(points, NEIGHBOURS + 1, workers=THREADS)[1][:, 1:]
    return np.stack([np.repeat(np.arange(count), NEIGHBOURS), near.ravel()])


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
    asks = graph.m <= MOST_EDGES and importlib.util.find_spec("leidenalg") is not None
    return theirs, sides | ({"leidenalg": leidenalgs} if asks else {})


def _table(rows: list[dict]) -> str:
    head = "| graph | n | edges | side | communities | modularity | NMI | seconds |"
    return "\n".join([head, "|-|-|-|-|-|-|-|-|", *map(_line, rows)]) + f"\n\n{_means(rows)}\n"


def _line(row: dict) -> str:
    seconds = statistics.median(row["seconds"])
    nmi = "" if row["nmi"] is None else f"{row['nmi']:.4f}"
    cells = row["graph"], f"{row['n']:,}", f"{row['edges']:,}", row["side"], f"{row['communities']:,}"
    return f"| {' | '.join(cells)} | {row['modularity']:.5f} | {nmi} | {seconds:.3f} |"


def _means(rows: list[dict]) -> str:
    """Return geometric means of peers' seconds over leiden's, and its lowest modularity beside the best peer's."""
    by_graph: dict[str, dict[str, dict]] = {}
    for row in rows:
        by_graph.setdefault(row["graph"], {})[row["side"]] = row
    parts = []
    for peer in sorted({row["side"] for row in rows} - set(OURS)):
        ratios = [
            statistics.median(sides[peer]["seconds"]) / statistics.median(sides["leiden"]["seconds"])
            for sides in by_graph.values() if peer in sides
        ]  # fmt: skip
        parts.append(f"{peer} {statistics.geometric_mean(ratios):.2f} ({len(ratios)} graphs)")
    worst = min(
        (sides["leiden"]["modularity"] / max(row["modularity"] for side, row in sides.items() if side not in OURS) - 1)
        for sides in by_graph.values()
    )
    return (
        f"Seconds of a peer over those of leiden, geometric means: {', '.join(parts)}. "
        f"Modularity of leiden beside the best peer's, lowest: {100 * worst:+.2f} %."
    )
