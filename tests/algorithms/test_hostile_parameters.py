"""Parameters at the edges of their ranges: an answer or a ``UsageError``; another exception would end a rank."""

import contextlib

import pytest

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.errors import UsageError

NUMBERS = (10**400, -(10**400), 2**31, 2**32, 2**63 - 1, 2**63, -(2**63) - 1, -1, 0, 1e308, -1e308, 5e-324, -0.0,
           float("inf"), float("-inf"), float("nan"), 0.5, True, "x", [], {})  # fmt: skip
ENDLESS = ("max_iter", "rounds", "tol")
"""Parameters whose large or small values mean runs without an end."""


@pytest.mark.quick
@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.filterwarnings("ignore::dgraph.ConvergenceWarning")
def test_numbers_at_the_edges_of_ranges(name):
    algorithm = ALGORITHMS[name]
    graph = dgraph.Graph.load("rmat:4", weights="1..9")
    for parameter in algorithm.parameters.values():
        if parameter.on_host or parameter.type not in (int, float):
            continue
        for value in NUMBERS:
            settings = {parameter.name: value}
            settings |= {"max_iter": 3} if "max_iter" in algorithm.parameters and parameter.name != "max_iter" else {}
            if parameter.name in ENDLESS and isinstance(value, int) and value > 1000:
                continue
            if algorithm.needs_source and parameter.name != "source":
                settings["source"] = 1
            with contextlib.suppress(UsageError):
                dgraph.run(name, graph, **settings)


@pytest.mark.quick
@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    "value",
    [{1: 10**400}, {10**400: 1}, {1: "x"}, {1: None}, {1: [2]}, {"x": 1}, {1: float("nan")}, {},
     [10**400], [None], {1: 0}, {1: -1, 2: 2}, {2**63: 1}, {-(2**63): 1}],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_personalization_of_pagerank(value):
    with pytest.raises(UsageError, match="personalization"):
        dgraph.pagerank(dgraph.Graph.load("rmat:4"), personalization=value)
