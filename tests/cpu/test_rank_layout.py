"""Personalised ranks of many sources on a graph of several tiles, on any number of threads, and the layout of rows."""

import numpy as np
import pytest
import scipy.sparse

import dgraph
from dgraph.algorithms.many_sources.rank_lanes import TILE


@pytest.mark.compiled
def test_ranks_of_a_graph_of_several_tiles():
    n, alpha = (2 << TILE) + 500, 0.85
    rng = np.random.default_rng(5)
    ends = np.minimum(rng.zipf(1.3, (2, 6 * n)), n) - 1
    ends = np.hstack([rng.permutation(n)[ends], rng.permutation(n)[:n] + np.zeros((2, 1), np.int64)])
    ends[1, -n:] = rng.integers(0, n, n)
    weights = rng.integers(1, 9, ends.shape[1]).astype(float)
    matrix = scipy.sparse.coo_array((weights, ends), (n, n)).tocsr()
    graph = dgraph.Graph.from_edges(*ends, weights, n=n, merge="sum", keep_loops=True, device=dgraph.Cpu(threads=6))
    sources = ends[0, :3].tolist()
    result = dgraph.multi_source_pagerank(graph, sources=sources, alpha=alpha, tol=0.0, max_iter=9)
    by_one_thread = dgraph.multi_source_pagerank(
        graph.on(device=dgraph.Cpu(threads=1)), sources=sources, tol=0.0, max_iter=9
    )
    sums = matrix.sum(axis=1)
    steps = (scipy.sparse.diags_array(1 / np.where(sums > 0, sums, np.inf)) @ matrix).T.tocsr()
    for source in sources:
        ranks, jump = np.full(n, 1 / n), np.arange(n) == source
        for _ in range(9):
            ranks = alpha * (steps @ ranks) + (1 - alpha + alpha * ranks[sums == 0].sum()) * jump
        np.testing.assert_allclose(result.columns[f"pagerank_{source}"], ranks, rtol=1e-9, atol=1e-15)
        np.testing.assert_array_equal(result.columns[f"pagerank_{source}"], by_one_thread.columns[f"pagerank_{source}"])
    layouts = graph.partition().local.incoming.layouts
    _, order, offsets, places, _ = layouts["rank lanes"]
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    tiles = places.astype(np.int64) >> TILE
    rises = np.diff(tiles) >= 0
    rises[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(tiles))] - 1] = True
    assert rises.all()
    assert len(np.unique(tiles)) == 3
