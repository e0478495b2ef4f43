"""Every oracle against a second implementation, on random graphs with loops, parallel arcs, sinks and zero weights."""

import networkx as nx
import numpy as np
import oracles
import pytest
from scipy.sparse import csgraph, csr_array

SEEDS = range(12)


def random_graph(seed):
    """Return ``n, src, dst, weights``: sparse to dense, one weight in four zero."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    m = int(rng.integers(0, 4 * n))
    src, dst = rng.integers(0, n, (2, m))
    return n, src, dst, rng.integers(0, 4, m)


def nx_graph(n, src, dst, weights=None, kind=nx.MultiDiGraph):
    graph = kind()
    graph.add_nodes_from(range(n))
    weights = np.ones(src.size, np.int64) if weights is None else weights
    graph.add_weighted_edges_from(zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True))
    return graph


@pytest.mark.parametrize("seed", SEEDS)
def test_bfs(seed):
    n, src, dst, _ = random_graph(seed)
    second = nx.single_source_shortest_path_length(nx_graph(n, src, dst), 0)
    assert oracles.bfs(n, src, dst, 0).tolist() == [second.get(v, -1) for v in range(n)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_sssp(seed, dtype):
    n, src, dst, weights = random_graph(seed)
    weights = weights.astype(dtype) / dtype(4) if dtype is not np.int64 else weights
    second = nx.single_source_dijkstra_path_length(nx_graph(n, src, dst, weights), 0)
    distances = oracles.sssp(n, src, dst, weights, 0)
    assert distances == [second.get(v) for v in range(n)]
    assert all(isinstance(d, dtype if dtype is not np.int64 else int) for d in distances if d is not None)


def test_sssp_adds_in_the_weights_own_precision():
    """Check that 2^24 + 1, which is not a float32, rounds to 2^24 there, and is exact in float64 and integers."""
    src, dst = np.array([0, 1]), np.array([1, 2])
    for dtype, total in [(np.float32, 2**24), (np.float64, 2**24 + 1), (np.int32, 2**24 + 1)]:
        assert oracles.sssp(3, src, dst, np.array([2**24, 1], dtype), 0)[2] == total
    assert oracles.sssp(3, src, dst, np.array([2**63 - 1, 1]), 0)[2] == 2**63


@pytest.mark.parametrize("seed", SEEDS)
def test_predecessors_are_a_tree_and_the_smallest(seed):
    n, src, dst, weights = random_graph(seed)
    for weighed in weights, weights + 1:
        distance = oracles.sssp(n, src, dst, weighed, 0)
        tree = oracles.predecessors(n, src, dst, weighed, distance, 0)
        oracles.check_tree(n, src, dst, weighed, distance, tree, 0)
    for v in range(1, n):
        valid = [
            u
            for u, to, w in zip(src, dst, weights + 1, strict=True)
            if to == v and distance[u] is not None and distance[u] + w == distance[v]
        ]
        assert tree[v] == min(valid, default=-1)


@pytest.mark.parametrize(
    ("predecessor", "complaint"),
    [
        ([-1, 0, 1, -1], None),
        ([-1, 0, 0, -1], "no arc"),
        ([-1, 2, 1, -1], "cycle"),
        ([-1, 0, -1, -1], "vertex 2 has predecessor -1"),
        ([-1, 0, 1, 2], "vertex 3 has predecessor 2"),
    ],
)
def test_the_tree_check_bites(predecessor, complaint):
    """Check that wrong trees are refused on 0 → 1 (weight 1), 1 ⇄ 2 (weight 0), and 3 → 0, where 3 is not reached."""
    graph = np.array([0, 1, 2, 3]), np.array([1, 2, 1, 0]), np.array([1, 0, 0, 1])
    distance = oracles.sssp(4, *graph, 0)
    if complaint is None:
        oracles.check_tree(4, *graph, distance, predecessor, 0)
    else:
        with pytest.raises(AssertionError, match=complaint):
            oracles.check_tree(4, *graph, distance, predecessor, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_components(seed):
    n, src, dst, _ = random_graph(seed)
    _, labels = csgraph.connected_components(csr_array((np.ones(src.size), (src, dst)), shape=(n, n)))
    smallest = [int(np.flatnonzero(labels == label)[0]) for label in labels]
    assert oracles.components(n, src, dst).tolist() == smallest


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("personalised", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank(seed, personalised, weighted):
    n, src, dst, weights = random_graph(seed)
    src, dst, weights = oracles.simple(src, dst, weights if weighted else None)
    personalization = {0: 1.0, n - 1: 3.0} if personalised else None
    second = nx.pagerank(
        nx_graph(n, src, dst, weights, nx.DiGraph), personalization=personalization, tol=1e-15, max_iter=999
    )
    ranks = oracles.pagerank(n, src, dst, weights=weights, tol=1e-14, personalization=personalization)
    np.testing.assert_allclose(ranks, [second[v] for v in range(n)], rtol=0, atol=1e-12)
    assert abs(ranks.sum() - 1) < 1e-12


def test_pagerank_rounds_are_counted():
    """Check one round from (1/2, 1/2) on 0 → 1, computed by hand."""
    one = oracles.pagerank(2, np.array([0]), np.array([1]), rounds=1)
    np.testing.assert_allclose(one, [0.075 + 0.85 * 0.25, 0.075 + 0.85 * 0.75], rtol=1e-15)
    assert oracles.pagerank(2, np.array([0]), np.array([1]), rounds=0).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("seed", SEEDS)
def test_core_numbers(seed):
    n, src, dst, _ = random_graph(seed)
    graph = nx_graph(n, src, dst, kind=nx.Graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    second = nx.core_number(graph)
    assert oracles.core_numbers(n, src, dst).tolist() == [second[v] for v in range(n)]


@pytest.mark.parametrize("seed", SEEDS)
def test_simple(seed):
    _, src, dst, weights = random_graph(seed)
    lightest = {}
    for u, v, w in zip(src.tolist(), dst.tolist(), weights.tolist(), strict=True):
        if u != v:
            lightest[u, v] = min(w, lightest.get((u, v), w))
    arrays = [array.tolist() for array in oracles.simple(src, dst, weights)]
    assert list(zip(*arrays, strict=True)) == [(u, v, w) for (u, v), w in sorted(lightest.items())]
