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


def iterated(matrix, dangling, jump, alpha, tol, most):
    """Return ranks after the iteration in which their L1 change falls below ``tol``, or the last one."""
    n = len(matrix)
    ranks = np.full(n, 1 / n)
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
            jump = np.eye(len(matrix))[CASES[name].number(source)]
            wanted = iterated(matrix, dangling, jump, alpha, tol, most)
            np.testing.assert_allclose(result.columns[f"pagerank_{source}"], wanted[here], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_each_personalisation_is_that_of_a_dense_iteration(name):
    vertices = CASES[name].vertices
    rng = np.random.default_rng(len(vertices))
    groups = [rng.choice(vertices, size, replace=False).tolist() for size in (1, 3, len(vertices))] * 6
    walks = [group if turn % 3 == 0 else dict.fromkeys(group, 2) for turn, group in enumerate(groups)]
    for walk in walks[1::2]:
        if isinstance(walk, dict):
            walk.update(zip(walk, rng.integers(1, 9, len(walk)).tolist(), strict=True))
    walks[1][min(walks[1])] = 0
    for turn, chosen in enumerate(combinations(name)[:2]):
        dtype = (None, CASES[name].dtypes[0])[turn]
        asked = {"personalizations": walks, "alpha": 0.8, "tol": 1e-9, "max_iter": 300}
        result, here = solve("multi_source_pagerank", name, dtype, chosen, validate=True, **asked)
        matrix, dangling = matrix_of(name, dtype)
        assert list(result.columns) == ["vertex", *(f"pagerank_{number}" for number in range(len(walks)))]
        for number, walk in enumerate(walks):
            weights = walk if isinstance(walk, dict) else dict.fromkeys(walk, 1)
            jump = np.zeros(len(matrix))
            for vertex, weight in weights.items():
                jump[CASES[name].number(vertex)] = weight / sum(weights.values())
            wanted = iterated(matrix, dangling, jump, 0.8, 1e-9, 300)
            np.testing.assert_allclose(result.columns[f"pagerank_{number}"], wanted[here], rtol=1e-10, atol=1e-13)


def test_a_personalisation_is_that_of_pagerank():
    graph = graph_of("skewed", "float64")
    first, second, *_ = CASES["skewed"].vertices.tolist()
    walks = [{first: 0.25, second: 2.5}, [second], {first: 1, second: 0}]
    together = dgraph.multi_source_pagerank(graph, personalizations=walks)
    for number, walk in enumerate(walks):
        alone = dgraph.pagerank(graph, personalization=walk).columns["pagerank"]
        np.testing.assert_allclose(together.columns[f"pagerank_{number}"], alone, rtol=1e-12)


@pytest.mark.parametrize(
    ("walks", "text"),
    [
        ([{10**9: 1}], "personalizations 1000000000 is not a vertex"),
        ([[1], {1: 0, 2: 0}], r"personalizations\[1\] needs vertices with finite weights"),
        ([[1], {1: -1, 2: 2}], r"personalizations\[1\] needs vertices with finite weights"),
        ([[]], r"personalizations\[0\] needs vertices with finite weights"),
        ([], "a list of which each member"),
        ({1: 1}, "a list of which each member"),
        ([{1: "x"}], r"personalizations\[0\]\[1\]"),
        ([["ann"]], "not an integer"),
    ],
)
def test_personalisations_that_are_refused(walks, text):
    with pytest.raises(dgraph.UsageError, match=text):
        dgraph.multi_source_pagerank("rmat:4", personalizations=walks)
    with pytest.raises(dgraph.UsageError, match="leave one of them out"):
        dgraph.multi_source_pagerank("rmat:4", sources=[1], personalizations=[[1]])


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
