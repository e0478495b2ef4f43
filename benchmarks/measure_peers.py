"""Tasks of ``measures.py`` for NetworKit, igraph and NetworkX, each on its own graphs."""

from __future__ import annotations

import os
import warnings
from collections import deque
from typing import Any

import numpy as np

from benchmarks.measured_graphs import ENDS, MIDDLE, SMALL, SOURCES, STEPS, Measured, Task, arcs_of

QUICK = (
    "degrees", "weighted degrees", "hits", "pagerank, personalised", "neighbour degree", "reciprocity", "core numbers",
    "k-core", "ego graph", "bridges", "articulation points", "topological order", "nearest of 16 sources",
    "Jaccard of pairs", "Adamic-Adar of pairs", "bfs", "path of a pair", "distance of a pair",
)  # fmt: skip
"""Rows of NetworkX that take less than a minute on ``MIDDLE``."""


def sides(drawn: Measured) -> dict[str, dict[str, Task]]:
    """Return library → row → call, which returns the answer, or None where it follows another convention."""
    libraries = {"networkit": networkit(drawn), "igraph": igraph(drawn)}
    if drawn.scale <= MIDDLE:
        tasks = networkx(drawn)
        small = drawn.scale <= SMALL
        libraries["networkx"] = {row: task for row, task in tasks.items() if small or row in QUICK}
    return libraries


def networkit(drawn: Measured) -> dict[str, Task]:
    """Return row → call of NetworKit."""
    import networkit as nk

    nk.setNumberOfThreads(len(os.sched_getaffinity(0)))
    ends, n = drawn.edges.T, drawn.n
    ones = np.ones(len(drawn.edges))
    plain, acyclic = (nk.GraphFromCoo((ones, tuple(ends)), n=n, directed=directed) for directed in (False, True))
    plain.sortEdges()
    source, target = drawn.reset[:2]
    pairs = list(map(tuple, drawn.pairs.tolist()))

    def scores(algorithm: Any) -> np.ndarray:
        return np.array(algorithm.run().scores())

    def of_pairs(index: Any) -> np.ndarray:
        return np.array([score for _, score in index(plain).runOn(pairs)])

    def katz() -> None:
        nk.centrality.KatzCentrality(plain, drawn.katz_alpha, 1.0, 1e-8).run().scores()  # without walks of no step

    def hops(algorithm: Any) -> np.ndarray:
        distance = np.array(algorithm.run().getDistances())
        return np.where(distance > n, -1, distance)

    def nearest() -> np.ndarray:
        distance = np.array(nk.distance.SPSP(plain, drawn.reset).run().getDistances()).min(axis=0)
        return np.where(distance > n, -1, distance)

    def cut_vertices() -> int:
        components = nk.components.BiconnectedComponents(plain).run().getComponents()
        vertices, times = np.unique(np.concatenate([*map(np.array, components)]), return_counts=True)
        return int(np.count_nonzero(times > 1)) if len(vertices) else 0

    return {
        "degrees": lambda: scores(nk.centrality.DegreeCentrality(plain)),
        # its tolerance is of the norm, whose error is the square of the scores': both ends then err by about 1e-7
        "eigenvector": lambda: np.abs(scores(nk.centrality.EigenvectorCentrality(plain, 1e-12))),
        "katz": katz,
        "clustering": lambda: scores(nk.centrality.LocalClusteringCoefficient(plain, True)),
        "transitivity": lambda: nk.globals.ClusteringCoefficient.exactGlobal(plain),
        "core numbers": lambda: scores(nk.centrality.CoreDecomposition(plain)),
        "articulation points": cut_vertices,
        "topological order": lambda: nk.graphtools.topologicalSort(acyclic),
        "nearest of 16 sources": nearest,
        "Jaccard of pairs": lambda: of_pairs(nk.linkprediction.JaccardIndex),
        "Adamic-Adar of pairs": lambda: of_pairs(nk.linkprediction.AdamicAdarIndex),
        "bfs": lambda: hops(nk.distance.BFS(plain, source, False)),
        "bfs to a target": lambda: nk.distance.BFS(plain, source, True, False, target).run().distance(target),
        "distance of a pair": lambda: nk.distance.BidirectionalBFS(plain, source, target, False).run().getDistance(),
        "path of a pair": lambda: len(nk.distance.BidirectionalBFS(plain, source, target).run().getPath()) + 1,
    }


def igraph(drawn: Measured) -> dict[str, Task]:
    """Return row → call of igraph."""
    import igraph as ig

    n, pairs = drawn.n, drawn.pairs.tolist()
    plain, acyclic = (ig.Graph(n=n, edges=drawn.edges, directed=directed) for directed in (False, True))
    directed = ig.Graph(n=n, edges=np.column_stack(arcs_of(drawn.directed)), directed=True)
    block = drawn.weighted.block
    once = block.sources() < block.targets
    weights = np.asarray(block.weights)[once].tolist()
    source, target = drawn.reset[:2]
    sources, ends = drawn.sources[:ENDS].tolist(), drawn.sources[ENDS:].tolist()

    def hops(distance: Any) -> np.ndarray:
        values = np.asarray(distance)
        return np.where(np.isinf(values), -1, values)

    def cached(graph: Any, call: Task) -> Any:
        getattr(graph, "__invalidate_cache")()  # otherwise it returns the first call's answer
        return call()

    def unit(values: list[float]) -> np.ndarray:
        return np.array(values) / np.linalg.norm(values)

    def eigenvector() -> np.ndarray:
        with warnings.catch_warnings(action="ignore"):  # of vertices outside the largest component
            return unit(plain.eigenvector_centrality())

    def authorities() -> np.ndarray:
        with warnings.catch_warnings(action="ignore"):
            scores = np.array(directed.authority_score())
        return scores / scores.sum()

    def neighbour_degree() -> np.ndarray:
        return np.nan_to_num(plain.knn()[0])

    def personalised(vertex: int) -> list[float]:
        return plain.personalized_pagerank(reset_vertices=vertex)

    def core() -> int:
        numbers = np.array(plain.coreness())
        return plain.induced_subgraph(np.flatnonzero(numbers >= max(numbers.max() // 2, 2))).ecount()

    def triangles() -> None:
        plain.list_triangles()  # which has no counts by vertex

    def ego() -> int:
        return plain.induced_subgraph(plain.neighborhood(drawn.center, 1)).ecount()

    return {
        "degrees": lambda: plain.degree(),
        "weighted degrees": lambda: plain.strength(weights=weights),
        "eigenvector": eigenvector,
        "hits": authorities,
        "pagerank, personalised": lambda: personalised(source),
        f"pagerank, {SOURCES} at a time": lambda: np.array([personalised(vertex) for vertex in drawn.reset]),
        "clustering": lambda: plain.transitivity_local_undirected(mode="zero"),
        "transitivity": lambda: plain.transitivity_undirected(),
        "neighbour degree": neighbour_degree,
        "reciprocity": lambda: cached(directed, directed.reciprocity),
        "triangles": triangles,
        "core numbers": lambda: plain.coreness(),
        "k-core": core,
        "ego graph": ego,
        "bridges": lambda: len(plain.bridges()),
        "articulation points": lambda: len(plain.articulation_points()),
        "topological order": lambda: acyclic.topological_sorting(),
        "nearest of 16 sources": lambda: hops(plain.distances(drawn.reset)).min(axis=0),
        "Jaccard of pairs": lambda: plain.similarity_jaccard(pairs=pairs, loops=False),
        "random walks": lambda: [plain.random_walk(vertex, STEPS) for vertex in range(n)],
        "betweenness of subsets": lambda: plain.betweenness(sources=sources, targets=ends),
        "bfs": lambda: hops(plain.distances(source)[0]),
        "distance of a pair": lambda: plain.distances(source, target)[0][0],
        "path of a pair": lambda: len(plain.get_shortest_path(source, target)) - 1,
    }


def networkx(drawn: Measured) -> dict[str, Task]:
    """Return row → call of NetworkX."""
    import networkx as nx

    n = drawn.n
    plain, acyclic, directed = nx.Graph(), nx.DiGraph(), nx.DiGraph()
    for graph in (plain, acyclic, directed):
        graph.add_nodes_from(range(n))
    block = drawn.weighted.block
    once = block.sources() < block.targets
    plain.add_weighted_edges_from(
        zip(*drawn.edges.T.tolist(), np.asarray(block.weights)[once].tolist(), strict=True), "w"
    )
    acyclic.add_edges_from(drawn.edges.tolist())
    directed.add_edges_from(zip(*(ends.tolist() for ends in arcs_of(drawn.directed)), strict=True))
    pairs = drawn.pairs.tolist()
    source, target = drawn.reset[:2]
    sources, ends = drawn.sources[:ENDS].tolist(), drawn.sources[ENDS:].tolist()

    def by_vertex(scores: dict, missing: float = -1) -> np.ndarray:
        return np.array([scores.get(v, missing) for v in range(n)])

    def of_pairs(function: Any) -> np.ndarray:
        return np.array([score for *_, score in function(plain, pairs)])

    def personalised(vertex: int) -> np.ndarray:
        return by_vertex(nx.pagerank(plain, personalization={vertex: 1}, tol=1e-10 / n, weight=None, max_iter=1000))

    def core() -> int:
        numbers = nx.core_number(plain)
        return nx.k_core(plain, max(max(numbers.values()) // 2, 2), core_number=numbers).number_of_edges()

    def truss() -> int:
        k = max(max(nx.core_number(plain).values()) // 2, 2)
        return nx.k_truss(plain, k).number_of_edges()

    def nearest() -> np.ndarray:
        return by_vertex(nx.multi_source_dijkstra_path_length(plain, set(drawn.reset), weight=None))

    alpha = drawn.katz_alpha
    return {
        "degrees": lambda: by_vertex(dict(plain.degree())),
        "weighted degrees": lambda: by_vertex(dict(plain.degree(weight="w"))),
        "eigenvector": lambda: by_vertex(nx.eigenvector_centrality(plain, tol=1e-6 / n, max_iter=1000)),
        "katz": lambda: by_vertex(nx.katz_centrality(plain, alpha, tol=1e-8 / n)),
        "hits": lambda: by_vertex(nx.hits(directed)[1]),
        "pagerank, personalised": lambda: personalised(source),
        f"pagerank, {SOURCES} at a time": lambda: np.array([personalised(vertex) for vertex in drawn.reset]),
        "clustering": lambda: by_vertex(nx.clustering(plain)),
        "clustering, directed": lambda: by_vertex(nx.clustering(directed)),
        "clustering, weighted": lambda: by_vertex(nx.clustering(plain, weight="w")),
        "transitivity": lambda: nx.transitivity(plain),
        "neighbour degree": lambda: by_vertex(nx.average_neighbor_degree(plain)),
        "reciprocity": lambda: nx.overall_reciprocity(directed),
        "triangles": lambda: by_vertex(nx.triangles(plain)),
        "k-truss": truss,
        "core numbers": lambda: by_vertex(nx.core_number(plain)),
        "k-core": core,
        "ego graph": lambda: nx.ego_graph(plain, drawn.center, 1).number_of_edges(),
        "bridges": lambda: sum(1 for _ in nx.bridges(plain)),
        "articulation points": lambda: sum(1 for _ in nx.articulation_points(plain)),
        "topological order": lambda: deque(nx.topological_sort(acyclic), 1),
        "nearest of 16 sources": nearest,
        "Jaccard of pairs": lambda: of_pairs(nx.jaccard_coefficient),
        "Adamic-Adar of pairs": lambda: of_pairs(nx.adamic_adar_index),
        "betweenness of subsets": lambda: by_vertex(nx.betweenness_centrality_subset(plain, sources, ends)),
        "bfs": lambda: by_vertex(nx.single_source_shortest_path_length(plain, source)),
        "distance of a pair": lambda: nx.shortest_path_length(plain, source, target),
        "path of a pair": lambda: len(nx.shortest_path(plain, source, target)) - 1,
    }
