"""Tasks of ``centrality.py`` with weights: betweenness of vertices and edges, closeness, distances from 64 sources."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dgraph

Task = Callable[[], np.ndarray | None]

GRAPHS = {"rmat9 1..255": "rmat:9,symmetric", "rmat11 1..255": "rmat:11,symmetric", "grid 1..255": "grid:32x32"}
"""Graphs with weights from 1 to 255."""

WEIGHTS = "1..255"

SMALL = ("rmat9 1..255",)
"""Graphs on which NetworkX takes less than a minute a call."""

SEARCHES = 64


def tasks(name: str, graph: dgraph.Graph) -> dict[str, dict[str, Task]]:
    """Return task → library → call; a call returns values by vertex, or by edge in the order of their ends."""
    import igraph
    import networkit as nk
    import networkx as nx

    nk.setNumberOfThreads(2)
    block, n = graph.block, graph.n
    rows, targets = np.repeat(np.arange(block.rows), np.diff(block.offsets)), np.asarray(block.targets).astype(np.int64)
    once = rows < targets
    src, dst, weights = rows[once], targets[once], np.asarray(block.weights)[once].astype(float)
    edges = list(zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True))
    kit = nk.Graph(n, weighted=True)
    for edge in edges:
        kit.addEdge(*edge)
    ig = igraph.Graph(n=n, edges=np.stack([src, dst], axis=1))
    pairs = n * (n - 1) / 2

    def kit_run(algorithm):
        algorithm.run()
        return np.array(algorithm.scores())

    def columns(algorithm, **parameters):
        return dgraph.run(algorithm, graph, **parameters).columns

    def searches():
        return columns("multi_source_sssp", sources=list(range(SEARCHES)))[f"distance_{SEARCHES - 1}"]

    def one_by_one():
        for source in range(SEARCHES):
            column = columns("sssp", source=source, return_predecessors=False)["distance"]
        return column

    general = nk.centrality.ClosenessVariant.GENERALIZED

    def ig_closeness():
        ig.closeness(weights=weights)  # by another convention for graphs in parts

    calls: dict[str, dict[str, Task]] = {
        "betweenness by weights": {
            "dgraph": lambda: columns("bc", weighted=True)["bc"],
            "networkit": lambda: kit_run(nk.centrality.Betweenness(kit, True)),
            "igraph": lambda: np.array(ig.betweenness(weights=weights)) / ((n - 1) * (n - 2) / 2),
        },
        "edge betweenness by weights": {
            "dgraph": lambda: dgraph.run("edge_bc", graph, weighted=True).edges.values,
            "igraph": lambda: np.array(ig.edge_betweenness(weights=weights)) / pairs,
        },
        "edge betweenness by hops": {
            "dgraph": lambda: dgraph.run("edge_bc", graph).edges.values,
            "igraph": lambda: np.array(ig.edge_betweenness()) / pairs,
        },
        "closeness by weights": {
            "dgraph": lambda: columns("closeness", weighted=True)["closeness"],
            "networkit": lambda: kit_run(nk.centrality.Closeness(kit, True, general)),
            "igraph": ig_closeness,
        },
        f"{SEARCHES} sssp": {"dgraph": searches, "dgraph sssp, one by one": one_by_one},
    }
    if name in SMALL:
        other = nx.Graph()
        other.add_nodes_from(range(n))
        other.add_weighted_edges_from(edges)
        by_vertex, by_edge = (lambda values: np.array([values[v] for v in range(n)])), (
            lambda values: np.array([values[edge] for edge in zip(src.tolist(), dst.tolist(), strict=True)])
        )  # fmt: skip
        ours = {
            "betweenness by weights": lambda: by_vertex(nx.betweenness_centrality(other, weight="weight")),
            "edge betweenness by weights": lambda: by_edge(nx.edge_betweenness_centrality(other, weight="weight")),
            "edge betweenness by hops": lambda: by_edge(nx.edge_betweenness_centrality(other)),
            "closeness by weights": lambda: by_vertex(nx.closeness_centrality(other, distance="weight")),
        }
        for task, call in ours.items():
            calls[task]["networkx"] = call
    return calls
