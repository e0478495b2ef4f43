"""Peer libraries, each on its own representation of one graph; making that is not timed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import dgraph
from benchmarks.graphs import Arrays

LIBRARIES = ("networkit", "igraph", "scipy")
ROUNDS = 20
"""Rounds of PageRank. igraph is left out there: its solver always runs to convergence."""

Task = Callable[[int], object]
"""Function of a source, which it may ignore: runs the algorithm once and returns a value to check."""


installs = False
"""True if missing libraries may be installed into the running Python (``--install``)."""


def install(names: tuple[str, ...] = LIBRARIES) -> None:
    """Install missing libraries into the running Python, if the user allows it.

    Raises:
        UsageError: libraries are missing, and ``installs`` is False.
    """
    import importlib.util

    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing and not installs:
        raise dgraph.UsageError(f"{', '.join(missing)} is not installed; install it, or give --install")
    if missing:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *missing], check=True)


def ours(arrays: Arrays) -> dict[str, Task]:
    """Return dgraph's tasks on a loaded graph; each call makes a new Result."""

    def run(name, column, graph=arrays.graph, **parameters):
        return dgraph.run(name, graph, **parameters).columns[column]

    def tree(name, source):
        columns = dgraph.run(name, arrays.graph, source=source).columns
        return columns["distance"], columns["predecessor"]

    return {
        "bfs": lambda s: run("bfs", "distance", source=s, return_predecessors=False),
        "bfs, tree": lambda s: tree("bfs", s)[0],
        "sssp": lambda s: run("sssp", "distance", source=s, return_predecessors=False),
        "sssp, tree": lambda s: tree("sssp", s)[0],
        "cc": lambda s: run("cc", "labels"),
        "pagerank": lambda s: run("pagerank", "pagerank", arrays.unweighted, tol=0, max_iter=ROUNDS),
        "kcore": lambda s: run("kcore", "core_number"),
    }


def networkit(arrays: Arrays) -> dict[str, Task]:
    import networkit as nk

    nk.setNumberOfThreads(len(os.sched_getaffinity(0)))
    rows = np.repeat(np.arange(arrays.n), np.diff(arrays.offsets))
    once = rows < arrays.targets
    pairs = (arrays.weights[once].astype(float), (rows[once], arrays.targets[once].astype(np.int64)))
    weighted = nk.GraphFromCoo(pairs, n=arrays.n, weighted=True)
    plain = nk.graphtools.toUnweighted(weighted)

    def ran(algorithm, give):
        algorithm.run()
        return give(algorithm)

    def pagerank(s):
        algorithm = nk.centrality.PageRank(plain, 0.85, 0.0)
        algorithm.maxIterations = ROUNDS
        return ran(algorithm, lambda a: a.scores())

    return {
        "bfs": lambda s: ran(nk.distance.BFS(plain, s, False), lambda a: a.getDistances()),
        "bfs, tree": lambda s: ran(nk.distance.BFS(plain, s, True), lambda a: a.getDistances()),
        "sssp": lambda s: ran(nk.distance.Dijkstra(weighted, s, False), lambda a: a.getDistances()),
        "sssp, tree": lambda s: ran(nk.distance.Dijkstra(weighted, s, True), lambda a: a.getDistances()),
        "cc": lambda s: ran(nk.components.ParallelConnectedComponents(plain), lambda a: a.numberOfComponents()),
        "pagerank": pagerank,
        "kcore": lambda s: ran(nk.centrality.CoreDecomposition(plain), lambda a: a.maxCoreNumber()),
    }


def igraph(arrays: Arrays) -> dict[str, Task]:
    import igraph as ig

    rows = np.repeat(np.arange(arrays.n), np.diff(arrays.offsets))
    once = rows < arrays.targets
    graph = ig.Graph(n=arrays.n, edges=np.stack([rows[once], arrays.targets[once]], axis=1))
    weights = arrays.weights[once].tolist()

    def components(s):
        getattr(graph, "__invalidate_cache")()  # otherwise it returns the first call's cached answer
        return len(graph.connected_components())

    return {
        "bfs": lambda s: graph.distances(source=[s])[0],
        "bfs, tree": graph.bfs,
        "sssp": lambda s: graph.distances(source=[s], weights=weights)[0],
        "cc": components,
        "kcore": lambda s: max(graph.coreness()),
    }


def scipy(arrays: Arrays) -> dict[str, Task]:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

    shape = (arrays.n, arrays.n)
    index = arrays.targets.astype(np.int32)
    weighted = csr_matrix((arrays.weights.astype(float), index, arrays.offsets), shape=shape)
    degree = np.diff(arrays.offsets).astype(float)
    ones = csr_matrix((np.ones(index.size), index, arrays.offsets), shape=shape)
    sinks = degree == 0

    def pagerank(s):
        rank = np.full(arrays.n, 1 / arrays.n)
        for _ in range(ROUNDS):
            share = np.divide(rank, degree, out=np.zeros(arrays.n), where=~sinks)
            rank = 0.15 / arrays.n + 0.85 * (ones @ share + rank[sinks].sum() / arrays.n)
        return rank

    return {
        "bfs": lambda s: breadth_first_order(weighted, s, return_predecessors=False),
        "bfs, tree": lambda s: breadth_first_order(weighted, s),
        "sssp": lambda s: dijkstra(weighted, indices=s),
        "sssp, tree": lambda s: dijkstra(weighted, indices=s, return_predecessors=True)[0],
        "cc": lambda s: connected_components(weighted, directed=False)[0],
        "pagerank": pagerank,
    }


PEERS = {"networkit": networkit, "igraph": igraph, "scipy": scipy}


Job = tuple[Callable, Callable]
"""Function of both ends of all edges that makes a graph, and function of the graph that returns an array."""


def _ours(algorithm: str, n: int, source: int) -> Job:
    column = {"bfs": "distance", "cc": "labels", "pagerank": "pagerank"}[algorithm]
    parameters = {"bfs": {"source": source, "return_predecessors": False}, "pagerank": {"tol": 0, "max_iter": ROUNDS}}

    def build(u, v):
        return dgraph.Graph.from_edges(u, v, n=n, directed=False, device="cpu")

    return build, lambda graph: dgraph.run(algorithm, graph, **parameters.get(algorithm, {})).columns[column]


def _networkit(algorithm: str, n: int, source: int) -> Job:
    import networkit as nk

    def solve(graph):
        if algorithm == "bfs":
            return nk.distance.BFS(graph, source, False).run().getDistances()
        if algorithm == "cc":
            return nk.components.ParallelConnectedComponents(graph).run().getPartition().getVector()
        ranks = nk.centrality.PageRank(graph, 0.85, 0.0)
        ranks.maxIterations = ROUNDS
        return ranks.run().scores()

    return lambda u, v: nk.GraphFromCoo((np.ones(u.size), (u, v)), n=n, weighted=False), solve


def _igraph(algorithm: str, n: int, source: int) -> Job:
    import igraph

    answers = {
        "bfs": lambda graph: graph.distances(source=[source])[0],
        "cc": lambda graph: graph.connected_components().membership,
        "pagerank": lambda graph: graph.pagerank(),
    }
    return lambda u, v: igraph.Graph(n=n, edges=np.column_stack([u, v])), answers[algorithm]


def _scipy(algorithm: str, n: int, source: int) -> Job:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, dijkstra

    def pagerank(matrix):
        degree, rank = np.diff(matrix.indptr).astype(float), np.full(n, 1 / n)
        sinks = degree == 0
        for _ in range(ROUNDS):
            share = np.divide(rank, degree, out=np.zeros(n), where=~sinks)
            rank = 0.15 / n + 0.85 * (matrix @ share + rank[sinks].sum() / n)
        return rank

    def build(u, v):
        ends = np.concatenate([u, v]), np.concatenate([v, u])
        return coo_array((np.ones(2 * u.size), ends), (n, n)).tocsr()

    return build, {
        "bfs": lambda matrix: dijkstra(matrix, indices=source, unweighted=True),
        "cc": lambda matrix: connected_components(matrix, directed=False)[1],
        "pagerank": pagerank,
    }[algorithm]


JOBS = {"dgraph": _ours, "networkit": _networkit, "igraph": _igraph, "scipy": _scipy}
"""Whole jobs: library → function of algorithm, vertices and source."""


REST = 0.1
"""Seconds before each call of libraries in turns: OpenMP threads spin after a call on cores that the next one needs."""


def alternating(sides: Mapping[str, Callable[[], Any]], repeat: int) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Call the libraries in turns; return each one's answer, and the seconds of each call.

    The first calls do not count. NetworkX, which compiles nothing and takes longest, is called once.
    """
    seconds: dict[str, list[float]] = {library: [] for library in sides}
    answers = {}
    for turn in range(repeat + 1):
        for library, call in sides.items():
            if library == "networkx" and turn:
                continue
            time.sleep(REST)
            began = time.perf_counter()
            answers[library] = call()
            if turn or library == "networkx":
                seconds[library].append(time.perf_counter() - began)
    return answers, seconds
