"""Communities of many random graphs: connected, one digest for all threads, orders of edges, ranks and policies.

``DGRAPH_RANDOM_COMMUNITIES`` sets the number of graphs.
"""

import os

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.algorithms.communities import graph_level
from dgraph.comm import SerialComm, world
from dgraph.validate import validate

GRAPHS = int(os.environ.get("DGRAPH_RANDOM_COMMUNITIES", "60"))
CALLS = [
    (name, metric, resolution)
    for resolution in (0.5, 1.0, 2.5)
    for metric in ("modularity", "cpm")
    for name in ("leiden", "louvain")
]


def drawn(seed):
    """Return vertices, ends and weights of a random graph: uniform, by preference, or of planted communities."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 120))
    m = int(rng.integers(1, 5 * n))
    src, dst = rng.integers(0, n, (2, m))
    if seed % 3 == 1:
        src = (n * rng.random(m) ** 3).astype(np.int64)
    if seed % 3 == 2:
        dst = np.where(rng.random(m) < 0.8, src // 10 * 10 + dst % 10, dst) % n
    weights = [None, rng.integers(0, 5, m), rng.random(m)][int(rng.integers(3))]
    return n, src, dst, weights


def make(n, src, dst, weights, comm, order=slice(None)):
    mine = np.arange(len(src))[order][comm.rank :: comm.size]
    weights = None if weights is None else weights[mine]
    options = {"n": n, "directed": False, "keep_loops": True, "keep_parallel": True, "comm": comm}
    return dgraph.Graph.from_edges(src[mine], dst[mine], weights, **options)


def connected(n, src, dst, weights, labels):
    """Return True if edges of weight above 0 within each community connect it; by NetworkX."""
    within = (labels[src] == labels[dst]) & (True if weights is None else weights > 0)
    graph = nx.empty_graph(n)
    graph.add_edges_from(zip(src[within].tolist(), dst[within].tolist(), strict=True))
    return nx.number_connected_components(graph) == len(np.unique(labels))


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
@pytest.mark.parametrize("part", range(4))
def test_communities_are_connected_and_depend_on_neither_threads_nor_order(part):
    for seed in (*range(part, GRAPHS, 4), 20068):  # in the last all labels are taken when a vertex leaves
        edges = drawn(seed)
        name, metric, resolution = CALLS[seed % len(CALLS)]
        options = {"metric": metric, "resolution": resolution, "random_state": seed}
        digests = set()
        for threads in (1, 2, 8):
            order = np.random.default_rng(threads).permutation(len(edges[1]))
            graph = make(*edges, SerialComm(), order).on(device=dgraph.Cpu(threads=threads))
            result = dgraph.run(name, graph, **options)
            digests.add(result.columns["community"].tobytes())
        assert len(digests) == 1, seed
        assert connected(*edges, result.columns["community"]), seed
        measure = dgraph.modularity if metric == "modularity" else dgraph.constant_potts_model
        value = measure(graph, result, resolution=resolution)
        assert value == pytest.approx(result.summary[metric], abs=1e-6), seed


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_threads_that_share_sub_rounds_give_one_digest(monkeypatch):
    """Graphs above have so few arcs that one thread takes each round."""
    monkeypatch.setattr(graph_level, "SMALL", 0)
    monkeypatch.setattr(graph_level, "SMALL_ROUND", 0)
    graph = dgraph.Graph.load("rmat:11,symmetric", weights="unit")
    for name in ("leiden", "louvain"):
        digests = {
            dgraph.run(name, graph.on(device=dgraph.Cpu(threads=threads))).columns["community"].tobytes()
            for threads in (1, 2, 8, 16)
        }
        assert len(digests) == 1, name


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "cvc"])
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_ranks_give_one_digest(call, policy):
    name, metric, resolution = call
    for seed in range(1000, 1003):
        edges, options = drawn(seed), {"metric": metric, "resolution": resolution}
        alone = dgraph.run(name, make(*edges, SerialComm()), **options).columns["community"]
        result = dgraph.run(name, make(*edges, world()).on(policy=policy), **options)
        np.testing.assert_array_equal(result.columns["community"], alone[result.columns["vertex"]], str(seed))


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_certificates_refuse_moved_vertices():
    """Move one vertex of an answer; where that lowers the quality, moving it back gains."""
    refused = 0
    for seed in range(GRAPHS):
        n, src, dst, _ = drawn(seed)
        name, metric, resolution = CALLS[seed % len(CALLS)]
        options = {"metric": metric, "resolution": resolution}
        graph = make(n, src, dst, None, SerialComm())
        result = dgraph.run(name, graph, **options)
        measure = dgraph.modularity if metric == "modularity" else dgraph.constant_potts_model
        labels, rng = result.columns["community"].copy(), np.random.default_rng(seed)
        labels[rng.integers(n)] = labels[rng.integers(n)]
        _, rows = np.unique(labels, return_inverse=True)
        names = np.full(rows.max() + 1, n)
        np.minimum.at(names, rows, np.arange(n))
        columns = {"vertex": result.columns["vertex"], "community": names[rows]}
        lower = measure(graph, columns["community"], resolution=resolution) < result.summary[metric] - 1e-9
        settings = ALGORITHMS[name](**options).settings()
        verdict = validate(name, graph.block, columns, SerialComm(), parameters=settings, rounds=result.rounds)
        if lower:
            assert verdict.passed is False, seed
            refused += 1
    assert refused > GRAPHS // 5
