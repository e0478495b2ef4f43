"""Algorithms of structure on one CPU rank with two threads, against NetworKit, igraph and NetworkX in one run.

Every library has its graph before the clock starts, calls alternate, and answers are compared; cdlp, mis and color have
answers of their own in each library, of which the size is shown. NetworkX takes part on ``SMALLEST``, once.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dgraph
from benchmarks import peers, record

GRAPHS = {f"rmat{scale}": f"rmat:{scale}" for scale in (8, 14, 16, 18)} | {"grid": "grid:512x512"}
SMALLEST = ("rmat8",)
THREADS = 2

Task = Callable[[], Any]
OWN = ("cdlp", "mis", "color")
"""Tasks whose answers differ between libraries."""

SLOW = ("grid", "hits")
"""Graph and task left out: two eigenvalues of the grid are nearly equal, and iterations end far from each other."""


def measure(graphs: list[str], repeat: int, folder: Path) -> None:
    """Write ``structure.json`` and ``.md``."""
    peers.install(("networkit", "igraph"))
    rows = []
    for name in graphs:
        for task, sides in _tasks(name).items():
            if (name, task) == SLOW:
                continue
            for library, answer, seconds in _timed(task, sides, repeat):
                rows.append({"graph": name, "task": task, "library": library, "answer": answer, "seconds": seconds})
                print(_line(rows[-1]), flush=True)
    where = record.circumstances(("networkit", "igraph", "networkx"))
    record.write(folder, "structure", {"circumstances": where, "rows": rows}, _table(rows))


def _timed(task: str, sides: dict[str, Task], repeat: int) -> Iterator[tuple[str, float, list[float]]]:
    """Yield library, answer and the seconds of each call; the first calls do not count, but for NetworkX."""
    answers, seconds = peers.alternating(sides, repeat)
    for library, values in answers.items():
        if task not in OWN:
            np.testing.assert_allclose(values, answers["dgraph"], 1e-5, 1e-7, err_msg=f"{task}: {library}")
    for library in sides:
        yield library, float(np.sum(answers[library])), seconds[library]


def _tasks(name: str) -> dict[str, dict[str, Task]]:
    """Return task → library → call, which returns the answer or its size."""
    device = dgraph.Cpu(threads=THREADS)
    directed = dgraph.Graph.load(GRAPHS[name], weights="1..255", device=device)
    graph = directed.undirected() if directed.directed else directed
    ours = _ours(graph, directed)
    tasks = {task: {"dgraph": call} for task, call in ours.items()}
    sides = [("networkit", _networkit), ("igraph", _igraph)]
    for library, make in [*sides, ("networkx", _networkx)] if name in SMALLEST else sides:
        for task, call in make(*_ends(graph), _arcs(directed), graph.n).items():
            tasks[task][library] = call
    return tasks


def _ours(graph: dgraph.Graph, directed: dgraph.Graph) -> dict[str, Task]:
    def run(name: str, other: dgraph.Graph = graph) -> dgraph.Result:
        return dgraph.run(name, other)

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

    return {
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

    return {
        "triangles": lambda: len(graph.list_triangles()),
        "lcc": lambda: graph.transitivity_local_undirected(mode="zero"),
        "cdlp": lambda: len(graph.community_label_propagation()),
        "mst": lambda: weight[graph.spanning_tree(weights=weights, return_tree=False)].sum(),
        "scc": strong,
        "color": lambda: max(graph.vertex_coloring_greedy()) + 1,
        "hits": hits,
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
    return "\n".join(["| graph | task | library | ms (least–most) | size |", "|-|-|-|-|-|", *map(_line, rows)]) + "\n"


def _line(row: dict) -> str:
    median, least, most = (1e3 * statistic(row["seconds"]) for statistic in (statistics.median, min, max))
    return (
        f"| {row['graph']} | {row['task']} | {row['library']} | {median:,.1f} ({least:,.1f}–{most:,.1f}) "
        f"| {row['answer']:,.6g} |"
    )
