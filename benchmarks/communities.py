"""leiden and louvain on one CPU rank with two threads against Leiden of igraph, NetworKit and leidenalg, all twice.

igraph computes the modularity of all partitions. Peers have their graph before the clock starts, dgraph its loaded
graph; calls alternate, after one of each of dgraph's that does not count. On LFR graphs NMI is against the planted
communities. leidenalg is left out where it is not installed, and of graphs of more than ``MOST_EDGES`` edges, where it
takes a minute.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import tempfile
import time
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
    "medium": Sizes(100_000, 200_000, 100, 500, "roadnet:700x700", "rmat:18,symmetric"),
    "full": Sizes(200_000, 300_000, 100, 1000, "roadnet:1000x1000", "rmat:20,symmetric"),
}
GRAPHS = (*FILES, *MIXING, "kNN", "roadnet", "accounts", "rmat")
THREADS, NEIGHBOURS, MOST_EDGES = 2, 15, 1_100_000
PEERS, OURS = ("igraph", "networkit"), ("leiden", "louvain")


def measure(graphs: list[str], scale: str, repeat: int, folder: Path) -> None:
    """Add rows of graphs of a scale to ``communities-peers.json`` and ``.md``, which have the newest of each size."""
    peers.install(PEERS)
    os.environ.setdefault("DGRAPH_COMPILE", "always")  # first calls that NumPy answers are slower ones
    rows = []
    for name in graphs:
        graph, truth = _graph(name, scale)
        theirs, sides = _sides(graph)
        partitions, clocks = _alternating(sides, repeat)
        for side, labels in partitions.items():
            count, value = len(np.unique(labels)), theirs.modularity(labels.tolist())
            figures = {"communities": count, "modularity": value} | clocks[side]
            figures |= {"nmi": None if truth is None else dgraph.nmi(graph, labels, truth)}
            rows.append({"graph": name, "n": graph.n, "edges": graph.m, "side": side} | figures)
            print(_line(rows[-1]), flush=True)
    run = {"circumstances": record.circumstances((*PEERS, "leidenalg")), "rows": rows}
    file = folder / "communities-peers.json"
    older = json.loads(file.read_text())["runs"] if file.exists() else []
    means = _means([row for kept in (*older[::-1], run) for row in kept["rows"]])
    record.add(folder, "communities-peers", [run], ("graph", "n", "side"), means, _table)
    print(means)


def _alternating(sides: dict[str, Callable[[], np.ndarray]], repeat: int) -> tuple[dict, dict[str, dict]]:
    """Return the labels of each side, and the wall and CPU seconds of its calls."""
    partitions: dict[str, np.ndarray] = {name: sides[name]() for name in OURS}
    clocks: dict[str, dict] = {name: {"seconds": [], "cpu_seconds": []} for name in sides}
    for _ in range(repeat):
        for name, call in sides.items():
            began = time.perf_counter(), time.process_time()
            partitions[name] = call()
            clocks[name]["seconds"].append(time.perf_counter() - began[0])
            clocks[name]["cpu_seconds"].append(time.process_time() - began[1])
    return partitions, clocks


def _graph(name: str, scale: str) -> tuple[dgraph.Graph, np.ndarray | None]:
    """Load or make a graph without weights; return it with its planted communities, where it has some.

    Graphs that libraries make in minutes are kept in the temporary folder.
    """
    device, sizes = dgraph.Cpu(threads=THREADS), SIZES[scale]
    if name == "accounts":
        return dgraph.Graph.from_edges(*_accounts(sizes.accounts), directed=False).on(device=device), None
    if name in ("kNN", *MIXING):
        kept = Path(tempfile.gettempdir(), f"dgraph-benchmark-{scale}-{name.replace(' ', '-')}.npy")
        if not kept.exists():
            columns = _nearest(sizes.points, sizes.blobs) if name == "kNN" else _lfr(sizes.lfr, MIXING[name])
            np.save(kept, columns)
        ends, truth = np.load(kept), None
        if name in MIXING:
            ends, truth = ends[:, sizes.lfr :], ends[0, : sizes.lfr]
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


def _lfr(n: int, mixing: float, seed: int = 1) -> np.ndarray:
    """Return the community of each vertex of an LFR graph (twice), then both ends of its edges.

    Mean degree 20, at most 100, communities of 20 to 1,000.
    """
    import networkit

    networkit.setSeed(seed, True)
    generator = networkit.generators.LFRGenerator(n)
    generator.generatePowerlawDegreeSequence(20, 100, -2)
    generator.generatePowerlawCommunitySizeSequence(20, 1000, -1)
    generator.setMu(mixing)
    graph = generator.generate()
    truth, ends = generator.getPartition().getVector(), np.array(list(graph.iterEdges()), np.int64).T
    return np.concatenate([np.array([truth, truth]), ends], axis=1)


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
    head = "| graph | n | edges | side | communities | modularity | NMI | seconds | CPU seconds |"
    return "\n".join([head, "|-|-|-|-|-|-|-|-|-|", *map(_line, rows)])


def _line(row: dict) -> str:
    nmi = "" if row["nmi"] is None else f"{row['nmi']:.4f}"
    cells = row["graph"], f"{row['n']:,}", f"{row['edges']:,}", row["side"], f"{row['communities']:,}"
    cells += f"{row['modularity']:.5f}", nmi, f"{_seconds(row):.3f}", f"{min(row['cpu_seconds']):.3f}"
    return f"| {' | '.join(cells)} |"


def _means(rows: list[dict]) -> str:
    """Return geometric means of peers' seconds over leiden's, and lines of its quality beside the peers'.

    Of a graph in several sizes, the largest that a peer has counts.
    """
    by_graph: dict[tuple[str, int], dict[str, dict]] = {}
    for row in sorted(rows, key=lambda row: row["n"]):
        by_graph.setdefault((row["graph"], row["n"]), {})[row["side"]] = row
    parts, lines = [], []
    for peer in sorted({row["side"] for row in rows} - set(OURS)):
        largest = {name: sides for (name, _), sides in by_graph.items() if peer in sides}
        ratios = {name: _seconds(sides[peer]) / _seconds(sides["leiden"]) for name, sides in largest.items()}
        listed = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
        parts.append(f"{peer} {statistics.geometric_mean(ratios.values()):.2f} ({listed})")
    for (name, n), sides in by_graph.items():
        best = max((row for side, row in sides.items() if side not in OURS), key=lambda row: row["modularity"])
        ours, igraphs = sides["leiden"], sides["igraph"]
        line = f"{name} of {n:,}: {100 * (ours['modularity'] / best['modularity'] - 1):+.2f} % of {best['side']}"
        nmi = "" if ours["nmi"] is None else f", NMI {ours['nmi'] - igraphs['nmi']:+.4f} of igraph"
        lines.append(line + nmi)
    return (
        "Leiden of dgraph, igraph, NetworKit and leidenalg, 2 iterations each, 2 threads, by turns, least of calls. "
        f"Seconds of a peer over those of leiden, geometric means: {'; '.join(parts)}.\n\n"
        f"Modularity of leiden beside the best peer's: {'; '.join(lines)}."
    )


def _seconds(row: dict) -> float:
    return min(row["seconds"])
