"""Algorithms of structure on one CPU rank with two threads, against NetworKit, igraph, SciPy and NetworkX in one run.

Every library has its graph before the clock starts, and answers are compared; cdlp, mis and color have answers of their
own in each library, of which the size is shown. After a call of each library, calls of dgraph and of the libraries that
took less than ``CLOSE`` times the quickest alternate. NetworkX takes part on ``SMALLEST``, once.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import gapbs, peers, record

GRAPHS = {f"rmat{scale}": f"rmat:{scale}" for scale in (8, 14, 16, 18)} | {
    "grid": "grid:512x512", "road": "road:512x512",
}  # fmt: skip
SMALLEST = ("rmat8",)
THREADS = 2
CLOSE = 1.5
SEARCHES = 64
"""Sources of multi_source_bfs."""

PROBES = slice(None, None, 997)
"""Vertices at which the distances of the last source are compared."""

EXACT = 1 << 12
"""Vertices up to which closeness is of all sources; beyond, of ``SEARCHES`` drawn ones."""

Task = Callable[[], Any]
OWN = ("cdlp", "mis", "color", "closeness of 64")
"""Tasks whose answers differ between libraries."""

SLOW = ("grid", "hits")
"""Graph and task left out: two eigenvalues of the grid are nearly equal, and iterations end far from each other."""


def measure(graphs: list[str], rows: list[str] | None, repeat: int, folder: Path) -> None:
    """Write ``structure.json`` and ``.md``; ``rows``: tasks, or None for all."""
    peers.install(peers.LIBRARIES)
    measured = []
    for name in graphs:
        for task, sides in _tasks(name).items():
            if (name, task) == SLOW or (rows and task.partition(" of ")[0] not in rows):
                continue
            measured.append({"graph": name, "task": task} | _timed(task, sides, repeat))
            print(_lines(measured[-1]), flush=True)
    where = record.circumstances((*peers.LIBRARIES, "networkx"))
    record.write(folder, "structure", {"circumstances": where, "rows": measured}, _table(measured))


def _timed(task: str, sides: dict[str, Task], repeat: int) -> dict:
    """Return answers and seconds by library, and the ratio of the quickest peer's calls to dgraph's."""
    sides["dgraph"]()
    answers, seconds = peers.alternating(sides, 1)
    for library, values in answers.items():
        if task not in OWN:
            np.testing.assert_allclose(values, answers["dgraph"], 1e-5, 1e-7, err_msg=f"{task}: {library}")
    others = {library: min(times) for library, times in seconds.items() if library != "dgraph"}
    near = [library for library, least in others.items() if least < CLOSE * min(others.values())]
    close = {library: call for library, call in sides.items() if library in ("dgraph", *near)}
    seconds |= peers.alternating(close, repeat)[1]
    row = {"answers": {library: float(np.sum(values)) for library, values in answers.items()}, "seconds": seconds}
    if others:
        quickest = min(near, key=lambda library: statistics.median(seconds[library]))
        pairs = list(zip(seconds[quickest], seconds["dgraph"], strict=False))
        row |= {"quickest": quickest} | gapbs.compared(pairs)
    return row


def _tasks(name: str) -> dict[str, dict[str, Task]]:
    """Return task → library → call, which returns the answer or its size."""
    device = dgraph.Cpu(threads=THREADS)
    directed = dgraph.Graph.load(GRAPHS[name], weights="1..255", device=device)
    graph = directed.undirected() if directed.directed else directed
    ours = _ours(graph, directed)
    tasks = {task: {"dgraph": call} for task, call in ours.items()}
    sides = [("networkit", _networkit), ("igraph", _igraph), ("scipy", _scipy)]
    for library, make in [*sides, ("networkx", _networkx)] if name in SMALLEST else sides:
        for task, call in make(*_ends(graph), _arcs(directed), graph.n).items():
            if task in tasks:
                tasks[task][library] = call
    return tasks


def _ours(graph: dgraph.Graph, directed: dgraph.Graph) -> dict[str, Task]:
    def run(name: str, other: dgraph.Graph = graph, **parameters: Any) -> dgraph.Result:
        return dgraph.run(name, other, **parameters)

    def distances() -> np.ndarray:
        columns = run("multi_source_bfs", sources=list(range(SEARCHES))).columns
        values = columns[f"distance_{SEARCHES - 1}"][PROBES]
        return np.where(values > graph.n, -1, values)

    exact = graph.n <= EXACT
    closeness = "closeness" if exact else f"closeness of {SEARCHES}"
    return {
        "triangles": lambda: run("triangles").summary["triangles"],
        "lcc": lambda: run("lcc").columns["lcc"],
        "ktruss": lambda: run("ktruss").summary["k"],
        "cdlp": lambda: np.unique(run("cdlp").columns["labels"]).size,
        "mst": lambda: run("mst").summary["weight"],
        "scc": lambda: run("scc", directed).summary["components"],
        "mis": lambda: run("mis").summary["members"],
        "color": lambda: run("color").summary["colors"],
        "hits": lambda: run("hits").columns["authorities"],
        "kcore": lambda: run("kcore").columns["core_number"].max(),
        closeness: lambda: run("closeness", k=None if exact else SEARCHES).columns["closeness"],
        "multi_source_bfs": distances,
    }


def _ends(graph: dgraph.Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sources, targets and weights of all arcs; of an undirected graph of each edge once."""
    block = graph.block
    source, target = block.sources().astype(np.int64), block.targets.astype(np.int64)
    once = (source < target) | graph.directed
    return source[once], target[once], np.asarray(block.weights)[once]


def _arcs(graph: dgraph.Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return sources and targets of all arcs."""
    return graph.block.sources().astype(np.int64), graph.block.targets.astype(np.int64)


def _networkit(source, target, weight, arcs, n: int) -> dict[str, Task]:
    import networkit as nk

    nk.setNumberOfThreads(THREADS)
    weighted = nk.GraphFromCoo((weight.astype(float), (source, target)), n=n, weighted=True)
    plain = nk.graphtools.toUnweighted(weighted)
    plain.indexEdges()
    one_way = nk.GraphFromCoo((np.ones(arcs[0].size), arcs), n=n, directed=True)

    def triangles():
        return round(sum(nk.sparsification.TriangleEdgeScore(plain).run().scores()) / 3)

    def distances():
        search = nk.distance.SPSP(plain, list(range(SEARCHES))).run()
        values = np.array([search.getDistance(SEARCHES - 1, v) for v in range(n)[PROBES]])
        return np.where(values > n, -1, values)

    general = nk.centrality.ClosenessVariant.GENERALIZED
    return {
        "kcore": lambda: nk.centrality.CoreDecomposition(plain).run().maxCoreNumber(),
        "closeness": lambda: nk.centrality.Closeness(plain, True, general).run().scores(),
        f"closeness of {SEARCHES}": lambda: nk.centrality.ApproxCloseness(plain, SEARCHES, 0.1, True).run().scores(),
        "multi_source_bfs": distances,
        "triangles": triangles,
        "lcc": lambda: np.array(nk.centrality.LocalClusteringCoefficient(plain, True).run().scores()),
        "cdlp": lambda: nk.community.PLP(plain, maxIterations=10).run().getPartition().numberOfSubsets(),
        "mst": lambda: nk.graph.KruskalMSF(weighted).run().getForest().totalEdgeWeight(),
        "scc": lambda: nk.components.StronglyConnectedComponents(one_way).run().numberOfComponents(),
        "mis": lambda: sum(nk.independentset.Luby().run(plain)),
    }


def _igraph(source, target, weight, arcs, n: int) -> dict[str, Task]:
    import igraph

    graph = igraph.Graph(n=n, edges=np.stack([source, target], axis=1))
    one_way = igraph.Graph(n=n, edges=np.column_stack(arcs), directed=True)
    weights = weight.tolist()

    def strong():
        getattr(one_way, "__invalidate_cache")()
        return len(one_way.connected_components(mode="strong"))

    def hits():
        with warnings.catch_warnings(action="ignore"):  # authorities of an undirected graph are its hubs
            scores = np.array(graph.authority_score(weights=weights))
        return scores / scores.sum()

    def distances():
        values = np.array(graph.distances(source=range(SEARCHES))[-1][PROBES])
        return np.where(np.isinf(values), -1, values)

    return {
        "kcore": lambda: max(graph.coreness()),
        "multi_source_bfs": distances,
        "triangles": lambda: len(graph.list_triangles()),
        "lcc": lambda: graph.transitivity_local_undirected(mode="zero"),
        "cdlp": lambda: len(graph.community_label_propagation()),
        "mst": lambda: weight[graph.spanning_tree(weights=weights, return_tree=False)].sum(),
        "scc": strong,
        "color": lambda: max(graph.vertex_coloring_greedy()) + 1,
        "hits": hits,
    }


def _scipy(source, target, weight, arcs, n: int) -> dict[str, Task]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, dijkstra, minimum_spanning_tree

    def matrix(values, source, target):
        return coo_array((values.astype(float), (source.astype(np.int32), target.astype(np.int32))), (n, n)).tocsr()

    weighted, one_way = matrix(weight, source, target), matrix(np.ones(arcs[0].size), *arcs)
    both = weighted + weighted.T

    def distances():
        values = dijkstra(both, indices=range(SEARCHES), unweighted=True)[-1][PROBES]
        return np.where(np.isinf(values), -1, values)

    return {
        "mst": lambda: minimum_spanning_tree(weighted).sum(),
        "scc": lambda: connected_components(one_way, connection="strong")[0],
        "multi_source_bfs": distances,
    }


def _networkx(source, target, weight, arcs, n: int) -> dict[str, Task]:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(zip(source.tolist(), target.tolist(), weight.tolist(), strict=True))
    one_way = nx.DiGraph(list(zip(arcs[0].tolist(), arcs[1].tolist(), strict=True)))
    one_way.add_nodes_from(range(n))
    plain = nx.Graph(graph.edges)
    plain.add_nodes_from(graph)

    def by_vertex(scores):
        return [scores[v] for v in range(n)]

    def largest_truss():
        left, k = plain, 2
        while (left := nx.k_truss(left, k + 1)).number_of_edges():
            k += 1
        return k

    return {
        "triangles": lambda: sum(nx.triangles(plain).values()) // 3,
        "lcc": lambda: by_vertex(nx.clustering(plain)),
        "ktruss": largest_truss,
        "mst": lambda: sum(data["weight"] for *_, data in nx.minimum_spanning_edges(graph)),
        "scc": lambda: nx.number_strongly_connected_components(one_way),
        "mis": lambda: len(nx.maximal_independent_set(plain, seed=1)),
        "color": lambda: max(nx.greedy_color(plain).values()) + 1,
        "hits": lambda: by_vertex(nx.hits(graph)[1]),
    }


def _table(rows: list[dict]) -> str:
    head = "| graph | task | library | ms (least–most) | size | quickest ÷ dgraph (95 %) |"
    return "\n".join([head, "|-|-|-|-|-|-|", *map(_lines, rows)]) + "\n"


def _lines(row: dict) -> str:
    lines = []
    for library, seconds in row["seconds"].items():
        median, least, most = (1e3 * statistic(seconds) for statistic in (statistics.median, min, max))
        ratio = ""
        if library == row.get("quickest"):
            ratio = f"{row['ratio']:.2f} ({row['interval'][0]:.2f}–{row['interval'][1]:.2f})"
        cells = f"{library} | {median:,.2f} ({least:,.2f}–{most:,.2f}) | {row['answers'][library]:,.6g} | {ratio}"
        lines.append(f"| {row['graph']} | {row['task']} | {cells} |")
    return "\n".join(lines)
