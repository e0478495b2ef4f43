"""Personalised PageRank of many sources on any number of ranks, against dense matrices and runs one by one."""

import numpy as np
import pytest
from battery import CASES
from test_battery import combinations, graph_of, solve

import dgraph
from dgraph.algorithms.many_sources.rank_lanes import LANES
from dgraph.comm import world

pytestmark = pytest.mark.mpi


def matrix_of(name, dtype):
    """Return the transition matrix of a case, column u of the arcs that leave u, and its dangling vertices."""
    n, src, dst, weights = CASES[name].arcs("float64")
    matrix = np.zeros((n, n))
    np.add.at(matrix, (dst, src), weights if dtype else 1.0)
    sums = matrix.sum(axis=0)
    return matrix / np.where(sums, sums, 1.0), sums == 0


def iterated(matrix, dangling, home, alpha, tol, most):
    """Return ranks after the iteration in which their L1 change falls below ``tol``, or the last one."""
    n = len(matrix)
    ranks, jump = np.full(n, 1 / n), np.eye(n)[home]
    for _ in range(most):
        before = ranks
        ranks = (1 - alpha) * jump + alpha * (matrix @ before + before[dangling].sum() * jump)
        if np.abs(ranks - before).sum() < tol:
            break
    return ranks


@pytest.mark.parametrize("name", CASES)
def test_each_column_is_that_of_a_dense_iteration(name):
    vertices = CASES[name].vertices
    sources = vertices[:: -(-len(vertices) // (LANES + 1 if name == "skewed" else 3))][::-1].tolist()
    for turn, chosen in enumerate(combinations(name)[:4]):
        dtype = (None, CASES[name].dtypes[0])[turn % 2]
        alpha, tol, most = ((0.85, 1e-9, 300), (0.5, 0.0, 3))[turn // 2 % 2]
        asked = {"sources": sources, "alpha": alpha, "tol": tol, "max_iter": most}
        result, here = solve("multi_source_pagerank", name, dtype, chosen, validate=turn == 1, **asked)
        matrix, dangling = matrix_of(name, dtype)
        assert list(result.columns) == ["vertex", *(f"pagerank_{source}" for source in sources)]
        for source in sources:
            wanted = iterated(matrix, dangling, CASES[name].number(source), alpha, tol, most)
            np.testing.assert_allclose(result.columns[f"pagerank_{source}"], wanted[here], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_columns_equal_runs_one_by_one(name):
    graph = graph_of(name, "float64")
    sources = CASES[name].vertices[:5].tolist()
    together = dgraph.multi_source_pagerank(graph, sources=sources)
    rounds = []
    for source in sources:
        alone = dgraph.pagerank(graph, personalization=[source])
        rounds.append(alone.summary["iterations"])
        np.testing.assert_allclose(together.columns[f"pagerank_{source}"], alone.columns["pagerank"], rtol=1e-12)
    assert together.summary["iterations"] == max(rounds)
    assert together.converged


def test_parallel_edges_and_loops_count_each():
    ends = np.array([[0, 1], [0, 1], [0, 2], [1, 0], [2, 2], [2, 0], [2, 0]])
    mine = slice(world().rank, None, world().size)
    graph = dgraph.Graph.from_edges(*ends[mine].T, n=4, directed=True, keep_loops=True, keep_parallel=True)
    result = dgraph.multi_source_pagerank(graph, sources=[3, 0], tol=1e-13, max_iter=500, validate=True)
    alone = dgraph.pagerank(graph, personalization=[0], tol=1e-13, max_iter=500)
    np.testing.assert_allclose(result.columns["pagerank_0"], alone.columns["pagerank"], rtol=1e-11, atol=1e-15)
    assert result.summary["sources"] == 2


def test_a_limit_is_named():
    graph = graph_of("skewed", None)
    with pytest.warns(dgraph.ConvergenceWarning) if world().rank == 0 else pytest.MonkeyPatch.context():
        result = dgraph.multi_source_pagerank(graph, k=3, tol=1e-12, max_iter=2)
    assert not result.converged
    assert "after which 3 of 3 sources change by tol" in result.limit
