"""Label propagation on any number of ranks gives the labels of a loop over dictionaries, vertex by vertex."""

import numpy as np
import pytest
from battery import CASES
from row_models import propagated
from test_battery import combinations, equal, solve

import dgraph
from dgraph.comm import SerialComm, world
from dgraph.errors import DataError, UsageError

WHOLE = {"oec": "oec", "metis": "metis", "hash": "hash", "auto": "auto"}
"""Policies under which all edges of a vertex lie on one rank."""


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_labels(name):
    n, src, dst, _ = CASES[name].arcs(directed=False)
    for rounds in (10, 1, 3):
        labels = propagated(n, src, dst, CASES[name].vertices, rounds)
        for chosen in combinations(name, step=rounds):
            chosen = chosen | {"policy": WHOLE.get(chosen["policy"], "oec")}
            result, here = solve("cdlp", name, combination=chosen, max_iter=rounds)
            equal(result.columns["labels"], labels, here, f"label {chosen}")
            assert result.converged


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_a_fixed_number_of_rounds_is_finished():
    graph = dgraph.Graph.load("path:9", comm=SerialComm())
    assert dgraph.run("cdlp", graph, max_iter=1, validate=True).converged
    with pytest.raises(UsageError, match="max_iter = 0 is not valid for cdlp"):
        dgraph.run("cdlp", graph, max_iter=0)


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "hash"])
def test_weighted_labels(policy):
    rng, comm, n = np.random.default_rng(4), world(), 200
    ends = np.unique(np.sort(rng.integers(0, n, (2, 900)), axis=0), axis=1)
    ends = ends[:, ends[0] != ends[1]]
    weights = rng.integers(0, 50, ends.shape[1])
    wanted = propagated(n, *np.hstack([ends, ends[::-1]]), np.arange(n), 5, np.tile(weights, 2))
    mine = slice(comm.rank, None, comm.size)
    graph = dgraph.Graph.from_edges(*ends[:, mine], weights[mine], n=n, directed=False, comm=comm).on(policy)
    result = dgraph.cdlp(graph, weighted=True, max_iter=5, validate=True)
    np.testing.assert_array_equal(result.columns["labels"], wanted[result.columns["vertex"]])
    assert np.any(wanted != propagated(n, *np.hstack([ends, ends[::-1]]), np.arange(n), 5))


@pytest.mark.mpi_skip
def test_weights_that_cannot_be_added_up_exactly_are_refused():
    for weights, words in (([0.5, 1.0], "float64; multiply"), ([1, -2], "weighs -2")):
        graph = dgraph.Graph.from_edges([0, 1], [1, 2], weights, directed=False, comm=SerialComm())
        with pytest.raises(DataError, match=words):
            dgraph.cdlp(graph, weighted=True)
