"""Peer libraries, each on its own representation of one graph; making that is not timed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np

import dgraph
from benchmarks.graphs import Arrays

LIBRARIES = ("networkit", "igraph", "scipy")
ROUNDS = 20
"""Rounds of PageRank. igraph is left out there: its solver always runs to convergence."""

Task = Callable[[int], object]
"""Function of a source, which it may ignore: runs the algorithm once and returns a value to check."""


def install(names: tuple[str, ...] = LIBRARIES) -> None:
    """Install missing libraries into the running Python."""
    import importlib.util

    missing = [name for name in names if importlib.util.find_spec(name) is None]
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

    nk.setNumberOfThreads(2)
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
