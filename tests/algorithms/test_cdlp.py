"""Label propagation on any number of ranks gives the labels of a loop over dictionaries, vertex by vertex."""

import pytest
from battery import CASES
from row_models import propagated
from test_battery import combinations, equal, solve

import dgraph
from dgraph.comm import SerialComm
from dgraph.errors import UsageError

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
