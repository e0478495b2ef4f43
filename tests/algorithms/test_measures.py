"""Measures of one pass and of power iterations on any number of ranks, against dense matrices."""

import numpy as np
import pytest
from battery import CASES
from test_battery import combinations, graph_of, solve


def dense(name):
    """Return the case's weights and its arcs as matrices; row u, column v for an arc u → v."""
    n, src, dst, weights = CASES[name].arcs("float64")
    matrix, arcs = np.zeros((n, n)), np.zeros((n, n), np.int64)
    np.add.at(matrix, (src, dst), weights)
    np.add.at(arcs, (src, dst), 1)
    return matrix, arcs


GRAPHS = ["skewed", "shifted_ids", "plateaus", "no_edges", "triangle"]


@pytest.mark.mpi
@pytest.mark.parametrize("name", GRAPHS)
def test_degrees(name):
    matrix, arcs = dense(name)
    directed = CASES[name].directed
    for chosen in combinations(name)[:2]:
        result, here = solve("degrees", name, "float64", combination=chosen, validate=True)
        wanted = {"in_degree": arcs.sum(0), "out_degree": arcs.sum(1)}
        wanted["degree"] = arcs.sum(0) + directed * arcs.sum(1)
        for column, values in wanted.items():
            np.testing.assert_array_equal(result.columns[column], values[here], column)
        sums = matrix.sum(0) + directed * matrix.sum(1)
        np.testing.assert_allclose(result.columns["weighted_degree"], sums[here], rtol=1e-13)
        whole = graph_of(name, "float64").degrees().columns
        np.testing.assert_array_equal(whole["degree"], wanted["degree"][CASES[name].number(whole["vertex"])])
        assert result.summary["isolates"] == np.count_nonzero(wanted["degree"] == 0)
        assert result.summary["density"] == pytest.approx(arcs.sum() / max(len(arcs) * (len(arcs) - 1), 1))


@pytest.mark.mpi
@pytest.mark.parametrize("name", GRAPHS)
def test_eigenvector(name):
    matrix, arcs = dense(name)
    n = len(matrix)
    start = {int(v): 1.0 + k for k, v in enumerate(CASES[name].vertices)}
    for chosen, first in zip(combinations(name)[:2], (None, start), strict=False):
        result, here = solve("eigenvector", name, "float64", combination=chosen, tol=1e-2, nstart=first)
        scores = np.ones(n) if first is None else np.arange(1.0, n + 1)
        step = np.eye(n) + matrix.T * (arcs.sum() / matrix.sum() if arcs.any() else 1)
        for _ in range(result.summary["iterations"]):
            scores = step @ scores
            scores /= np.linalg.norm(scores)
        assert result.converged
        np.testing.assert_allclose(result.columns["eigenvector"], scores[here], rtol=1e-9, atol=1e-15)


@pytest.mark.mpi
@pytest.mark.parametrize("name", GRAPHS)
def test_katz(name):
    matrix, _ = dense(name)
    n = len(matrix)
    alpha = 0.5 / max(np.abs(np.linalg.eigvals(matrix)).max(), 1)
    beta = np.ones(n)
    beta[0] = 4
    named = {int(CASES[name].vertices[0]): 4.0}
    for chosen, scaled in zip(combinations(name)[:2], (True, False), strict=False):
        settings = {"alpha": alpha, "betas": named, "tol": 1e-13, "normalized": scaled, "validate": True}
        result, here = solve("katz", name, "float64", combination=chosen, **settings)
        scores = np.linalg.solve(np.eye(n) - alpha * matrix.T, beta)
        scores /= np.linalg.norm(scores) if scaled else 1
        assert result.converged
        np.testing.assert_allclose(result.columns["katz"], scores[here], rtol=1e-9)


@pytest.mark.mpi
@pytest.mark.parametrize("name", GRAPHS)
def test_clustering(name):
    matrix, arcs = dense(name)
    for chosen, weighted in zip(combinations(name)[:2], (True, False), strict=False):
        result, here = solve("clustering", name, "float64", combination=chosen, weighted=weighted, validate=True)
        factors = np.cbrt(matrix / max(matrix.max(), 1e-300)) if weighted else arcs
        np.fill_diagonal(factors, 0)
        closed, pairs = np.linalg.matrix_power(factors, 3).diagonal(), arcs.sum(1) * (arcs.sum(1) - 1)
        if CASES[name].directed:
            closed, ends = np.linalg.matrix_power(factors + factors.T, 3).diagonal(), arcs.sum(0) + arcs.sum(1)
            pairs = 2 * (ends * (ends - 1) - 2 * np.minimum(arcs, arcs.T).sum(1))
        wanted = np.divide(closed, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
        np.testing.assert_allclose(result.columns["clustering"], wanted[here], rtol=1e-12)
