"""Hubs and authorities on any number of ranks, against dense iterations and NetworkX's singular vectors."""

import networkx as nx
import numpy as np
import pytest
from battery import CASES
from test_battery import combinations, solve

import dgraph
from dgraph.comm import SerialComm
from dgraph.errors import DataError, UsageError


def iterated(n, src, dst, weights, times):
    """Return authorities and hubs after this number of iterations from equal hubs."""
    matrix = np.zeros((n, n))
    np.add.at(matrix, (src, dst), weights)
    hubs = np.full(n, 1 / n)
    for _ in range(times):
        authorities = hubs @ matrix
        authorities /= authorities.sum() or 1
        hubs = matrix @ authorities
        hubs /= hubs.sum() or 1
    return authorities, hubs


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["skewed", "shifted_ids", "plateaus"])
def test_iterations(name):
    n, src, dst, weights = CASES[name].arcs("float64")
    for chosen in combinations(name)[:2]:
        result, here = solve("hits", name, "float64", combination=chosen, tol=1e-3)
        assert result.converged
        authorities, hubs = iterated(n, src, dst, weights, result.summary["iterations"])
        np.testing.assert_allclose(result.columns["authorities"], authorities[here], rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(result.columns["hubs"], hubs[here], rtol=1e-9, atol=1e-15)


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_networkx_agrees():
    graph = nx.gnp_random_graph(60, 0.08, seed=3, directed=True)
    hubs, authorities = nx.hits(graph, tol=1e-14)
    result = dgraph.run("hits", graph, tol=1e-12, max_iter=1000, validate=True)
    np.testing.assert_allclose(result.columns["hubs"], list(hubs.values()), atol=1e-10)
    np.testing.assert_allclose(result.columns["authorities"], list(authorities.values()), atol=1e-10)


@pytest.mark.mpi_skip
def test_limits_and_refusals():
    graph = dgraph.Graph.load("rmat:6", comm=SerialComm())
    with pytest.warns(dgraph.errors.ConvergenceWarning, match="hits did not converge: it was stopped after 2 it"):
        assert not dgraph.run("hits", graph, max_iter=2).converged
    with pytest.raises(UsageError, match="tol = 0 can never be met"):
        dgraph.run("hits", graph, tol=0)
    with pytest.raises(DataError, match="0 → 1 weighs -2"):
        dgraph.run("hits", dgraph.Graph.from_edges([0, 1], [1, 2], [-2, 1], comm=SerialComm()))
    empty = dgraph.run("hits", dgraph.Graph.from_edges([], [], n=3, comm=SerialComm()))
    assert empty.converged
    assert not empty.columns["hubs"].any()
