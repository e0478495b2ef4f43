"""Hubs and authorities on any number of ranks, against dense iterations and NetworkX's singular vectors."""

import networkx as nx
import numpy as np
import pytest
from battery import CASES
from test_battery import combinations, solve

import dgraph
from dgraph.comm import SerialComm, world
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


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["hits", "eigenvector"])
@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-300, 2e307])
def test_weights_whose_products_vanish_or_overflow_are_refused(name, unit):
    """A mean weight that floats cannot divide by is named; in another unit the scores are the same."""
    comm, weights = world(), np.array([1.0, 3.0, 2.0, 1.0, 5.0, 4.0])
    src, dst = np.array([0, 0, 1, 2, 3, 1]), np.array([1, 2, 2, 0, 2, 3])
    mine = slice(comm.rank, None, comm.size)

    def scores(unit, **parameters):
        graph = dgraph.Graph.from_edges(src[mine], dst[mine], weights[mine] * unit, n=4, comm=comm)
        result = dgraph.run(name, graph, tol=1e-12, max_iter=1000, validate=True, **parameters)
        return list(result.columns.values())[1:]

    for parameters in ({}, {"normalized": False})[: 1 + (name == "hits")]:
        with pytest.raises(DataError, match=r"the mean weight is .*; multiply all weights by one number"):
            scores(unit, **parameters)
    near = 2.0**-890 if unit < 1 else 2.0**890
    np.testing.assert_allclose(scores(near), scores(1.0), rtol=1e-9, atol=1e-15)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ["hits", "eigenvector"])
def test_a_mean_weight_that_rounds_to_0_is_refused(name):
    graph = dgraph.Graph.from_edges([0, 1, 2], [1, 2, 0], [5e-324, 0, 0], comm=SerialComm())
    with pytest.raises(DataError, match="the mean weight is 0, and"):
        dgraph.run(name, graph)
    zeros = dgraph.Graph.from_edges([0, 1, 2], [1, 2, 0], [0.0, 0.0, 0.0], comm=SerialComm())
    assert dgraph.run(name, zeros).converged
