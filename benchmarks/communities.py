"""leiden and louvain on one CPU rank with two threads against Leiden of igraph, NetworKit and leidenalg, all twice.

igraph computes the modularity of all partitions. Peers have their graph before the clock starts, dgraph its loaded
graph, and answers become arrays after it stops; calls alternate, after one of each of dgraph's that does not count and
each after a pause, and each turn has its own seed. leidenalg is called after the others; it is left out where it is not
installed, and of graphs of more than ``MOST_EDGES`` edges, where it takes minutes. On LFR graphs NMI is against the
planted communities.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
THREADS, NEIGHBOURS, MOST_EDGES = 2, 15, 4_000_000
PEERS, OURS, LAST = ("igraph", "networkit"), ("leiden", "louvain"), "leidenalg"
GOALS = {"igraph": 1.8, "NetworKit": 1.0, "leidenalg": 15.0}
"""Peer → its seconds over those of leiden, geometric mean over the graphs, to be reached."""

SLOW = 20
"""Seconds of a call after which a side is not called again."""


def measure(graphs: list[str], scale: str, repeat: int, folder: Path) -> None:
    """Add rows of graphs of a scale to ``communities.json`` and ``.md``, which have the newest of each size."""
    peers.install(PEERS)
    os.environ.setdefault("DGRAPH_COMPILE", "always")  # first calls that NumPy answers are slower ones
    file = folder / "communities.json"
    older = json.loads(file.read_text())["runs"] if file.exists() else []
    run: dict[str, Any] = {"circumstances": record.circumstances((*PEERS, "leidenalg")), "rows": []}
    for name in graphs:
        graph, truth = _graph(name, scale)
        theirs, sides = _sides(graph)
        for last in (False, True):
            called = {side: call for side, call in sides.items() if (side == LAST) == last}
            partitions, clocks = _alternating(called, repeat)
            for side, turns in partitions.items():
                figures = {"communities": statistics.median(len(np.unique(labels)) for labels in turns)} | clocks[side]
                figures["modularity"] = statistics.median(theirs.modularity(labels.tolist()) for labels in turns)
                alike = [] if truth is None else [dgraph.nmi(graph, labels, truth) for labels in turns]
                figures["nmi"] = statistics.median(alike) if alike else None
                run["rows"].append({"graph": name, "n": graph.n, "edges": graph.m, "side": side} | figures)
                print(_line(run["rows"][-1]), flush=True)
            summary = _summary([row for kept in (*older[::-1], run) for row in kept["rows"]])
            record.add(folder, "communities", [run], ("graph", "n", "side"), summary, _table)
    print(summary)


def _alternating(sides: dict[str, Callable[[int], Callable[[], Any]]], repeat: int) -> tuple[dict, dict[str, dict]]:
    """Return the labels of each side by turn, and the wall and CPU seconds of its calls; see :func:`_sides`."""
    for name in OURS:
        sides.get(name, int)(0)
    partitions: dict[str, list[np.ndarray]] = {name: [] for name in sides}
    clocks: dict[str, dict] = {name: {"seconds": [], "cpu_seconds": []} for name in sides}
    for seed in range(1, repeat + 1):
        for name, call in sides.items():
            if max(clocks[name]["seconds"], default=0) > SLOW:
                continue
            time.sleep(peers.REST)
            began = time.perf_counter(), time.process_time()
            labels = call(seed)
            clocks[name]["seconds"].append(time.perf_counter() - began[0])
            clocks[name]["cpu_seconds"].append(time.process_time() - began[1])
            partitions[name].append(np.unique(np.array(labels()), return_inverse=True)[1])
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


def _sides(graph: dgraph.Graph) -> tuple[Any, dict[str, Callable[[int], Callable[[], Any]]]]:
    """Return igraph's graph, and side → call that takes a seed and returns a function for its labels by row."""
    import igraph

    block = graph.block
    rows, targets = np.repeat(np.arange(block.rows), np.diff(block.offsets)), np.asarray(block.targets, np.int64)
    once = rows < targets
    theirs = igraph.Graph(n=graph.n, edges=np.stack([rows[once], targets[once]], axis=1))

    def run(name: str, seed: int) -> Callable[[], Any]:
        labels = dgraph.run(name, graph, random_state=seed).columns["community"]
        return lambda: labels

    def leiden(seed: int) -> Callable[[], Any]:
        random.seed(seed)
        labels = theirs.community_leiden("modularity", n_iterations=2).membership
        return lambda: labels

    import networkit

    networkit.setNumberOfThreads(THREADS)
    ends = rows[once], targets[once]
    parallel = networkit.GraphFromCoo((np.ones(len(ends[0])), ends), n=graph.n)

    def networkits(seed: int) -> Callable[[], Any]:
        networkit.setSeed(seed, True)
        method = networkit.community.ParallelLeiden(parallel, iterations=2)
        method.run()
        return method.getPartition().getVector

    def leidenalgs(seed: int) -> Callable[[], Any]:
        import leidenalg

        kind = leidenalg.ModularityVertexPartition
        labels = leidenalg.find_partition(theirs, kind, n_iterations=2, seed=seed).membership
        return lambda: labels

    sides = {name: partial(run, name) for name in OURS} | {"igraph": leiden, "NetworKit": networkits}
    asks = graph.m <= MOST_EDGES and importlib.util.find_spec("leidenalg") is not None
    return theirs, sides | ({"leidenalg": leidenalgs} if asks else {})


def _table(rows: list[dict]) -> str:
    head = "| graph | n | edges | side | communities | modularity | NMI | seconds | CPU seconds | calls |"
    return "\n".join([head, "|-" * 10 + "|", *map(_line, rows)])


def _line(row: dict) -> str:
    nmi = "" if row["nmi"] is None else f"{row['nmi']:.4f}"
    cells = row["graph"], f"{row['n']:,}", f"{row['edges']:,}", row["side"], f"{row['communities']:,.0f}"
    cells += f"{row['modularity']:.5f}", nmi
    cells += tuple(f"{statistics.median(row[clock]):.3f}" for clock in ("seconds", "cpu_seconds"))
    return f"| {' | '.join(cells)} | {len(row['seconds'])} |"


def _summary(rows: list[dict]) -> str:
    """Return a table of peers' seconds over leiden's, by turn, and of its quality beside the peers' best.

    Peers count that were measured after leiden's newest row, in its run. Of a graph in several sizes, the largest that
    a peer has counts in the means.
    """
    by_graph: dict[tuple[str, int], dict[str, dict]] = {}
    for row in rows:
        sides = by_graph.setdefault((row["graph"], row["n"]), {})
        if row["side"] == "leiden":
            sides.clear()
        sides[row["side"]] = row
    ratios: dict[str, dict[str, float]] = {peer: {} for peer in GOALS}
    lines = []
    for (name, n), sides in sorted(by_graph.items(), key=lambda row: row[0][1]):
        cells, ours = [name, f"{n:,}"], sides["leiden"]
        for peer, by_name in ratios.items():
            turns = zip(sides[peer]["seconds"], ours["seconds"], strict=False) if peer in sides else ()
            quotients = [theirs / own for theirs, own in turns]
            by_name |= {name: statistics.median(quotients)} if quotients else {}
            cells.append(f"{by_name[name]:.2f}" if quotients else "")
        best = max((row for side, row in sides.items() if side not in OURS), key=lambda row: row["modularity"])
        cells.append(f"{100 * (ours['modularity'] / best['modularity'] - 1):+.2f} % of {best['side']}")
        cells.append("" if ours["nmi"] is None else f"{ours['nmi'] - sides['igraph']['nmi']:+.4f}")
        lines.append(cells)
    means = [f"{statistics.geometric_mean(by_name.values()):.2f}" if by_name else "" for by_name in ratios.values()]
    lines += [["geometric means", "", *means, "", ""], ["to reach", "", *map(str, GOALS.values()), "", ""]]
    lines.insert(0, ["graph", "n", *(f"{peer} / leiden" for peer in GOALS), "modularity", "NMI - igraph's"])
    lines.insert(1, ["-"] * len(lines[0]))
    about = (
        "Leiden of igraph, NetworKit and leidenalg beside dgraph's, 2 iterations each, 2 threads, by turns. Seconds of "
        "a peer over those of leiden, medians of turns; median modularity beside the best peer's:"
    )
    return "\n".join([about, "", *(f"| {' | '.join(cells)} |" for cells in lines)])
