"""Vertex colouring on any number of ranks finds the colours of the algorithm as printed in paper 003 (Che et al.)."""

import emulated
import networkx as nx
import numpy as np
import pytest
from battery import CASES
from colored import by_hand
from flat_run import flat_run
from test_battery import backend, combinations, equal, graph_of, solve

import dgraph
from dgraph.algorithms import color
from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError


def wanted(name, variant, **more):
    """Return the right colours of a case of the battery."""
    n, src, dst, _ = CASES[name].arcs(directed=False)
    return by_hand(n, src, dst, variant, CASES[name].vertices, **more)


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_colors(name):
    for at, variant in enumerate(("jones-plassmann", "degree", "hybrid")):
        colors = wanted(name, variant)
        for chosen in combinations(name, (), at):
            result, here = solve("color", name, combination=chosen, variant=variant)
            equal(result.columns["color"], colors, here, f"{variant} {chosen}")
            assert result.summary == {"colors": colors.max(initial=-1) + 1}
            assert result.converged


@pytest.mark.mpi
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_rounds_by_degree_end_when_they_are_asked_to(rounds, name):
    colors = wanted(name, "hybrid", over=lambda turn, colored: turn >= rounds)
    if rounds == 0:
        colors = wanted(name, "jones-plassmann")
    result, here = solve("color", name, variant="hybrid", switch_round=rounds)
    equal(result.columns["color"], colors, here, f"{rounds} rounds")


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["skewed", "plateaus"])
def test_a_function_of_the_user_may_end_them(name):
    colors = wanted(name, "hybrid", over=lambda turn, colored: turn >= 2 and colored < 5)
    result, here = solve("color", name, variant="hybrid", switch_round=lambda g: (g.round >= 2) & (g.active < 5))
    equal(result.columns["color"], colors, here, "a function")


@pytest.mark.mpi
def test_they_end_by_themselves_where_they_color_few(monkeypatch):
    monkeypatch.setattr(color, "FEW", 20)
    few = CASES["skewed"].vertices.size // 20
    colors = wanted("skewed", "hybrid", over=lambda turn, colored: colored < few)
    assert (colors != wanted("skewed", "hybrid")).any()
    result, here = solve("color", "skewed", variant="hybrid")
    equal(result.columns["color"], colors, here, "few")


@pytest.mark.mpi
def test_other_random_numbers_give_other_colors():
    for state in (2, -7, 2**63 - 1):
        colors = wanted("skewed", "jones-plassmann", state=state)
        result, here = solve("color", "skewed", variant="jones-plassmann", random_state=state)
        equal(result.columns["color"], colors, here, f"random_state {state}")


@pytest.mark.mpi
def test_directed_graphs_are_colored_as_undirected_ones():
    comm = world()
    mine = slice(comm.rank, None, comm.size)
    src, dst = np.array([3, 1, 2, 0, 2]), np.array([0, 3, 1, 2, 2])
    graph = dgraph.Graph.from_edges(src[mine], dst[mine], n=4, directed=True, keep_loops=True, comm=comm)
    found = flat_run("color", graph, backend=backend(), allow_gpu_sharing=True, validate=True)
    assert found.report["outcome"]["validation"]["passed"]


@pytest.mark.mpi
def test_an_unfinished_coloring_says_so():
    result, _ = solve("color", "skewed", variant="jones-plassmann", max_rounds=2)
    assert not result.converged
    assert result.summary == {"colors": 2}


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_colors_are_colors_by_networkx():
    """Check that neighbours differ, and that there are at least as many colours as vertices in a largest clique."""
    graph = dgraph.Graph.load("rmat:8,symmetric", comm=SerialComm())
    block = graph.block
    src, dst = np.repeat(np.arange(block.n), np.diff(block.offsets)), np.asarray(block.targets)
    found = dgraph.run("color", graph).gather()
    known = nx.Graph(list(zip(src.tolist(), dst.tolist(), strict=True)))
    colors = dict(zip(found["vertex"].tolist(), found["color"].tolist(), strict=True))
    assert all(colors[u] != colors[v] for u, v in known.edges)
    assert len(set(colors.values())) >= max(map(len, nx.find_cliques(known)))


@pytest.mark.mpi_skip
@pytest.mark.parametrize(("parameters", "told"), [
    ({"variant": "degree", "switch_round": 3}, "switch_round is for the variant hybrid, and this one is degree"),
    ({"variant": "hybrid", "switch_round": -1}, "switch_round = -1 is not a number of rounds"),
    ({"random_state": 2**63}, "random_state = 9223372036854775808 does not fit 64 bits"),
    ({"variant": "steal"}, "color --variant steal says how a GPU walks edges"),
])  # fmt: skip
def test_what_cannot_be_is_refused(parameters, told):
    with pytest.raises(UsageError, match=told):
        flat_run("color", dgraph.Graph.load("path:5", comm=SerialComm()), backend="cpu", **parameters)


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_blocks_that_steal_find_the_same_colors():
    graph = graph_of("skewed", None)
    found = flat_run("color", graph, backend=emulated.backend(), variant="steal")
    known = flat_run("color", graph, backend="cpu", variant="jones-plassmann")
    np.testing.assert_array_equal(found.columns["color"], known.columns["color"])
    assert {row["schedule"] for row in found.report["rounds"]["kept"]} == {"steal"}
