"""Maximal independent sets on any number of ranks are those of the greedy algorithm, vertex by vertex."""

import emulated
import numpy as np
import pytest
from battery import CASES
from colored import splitmix
from flat_run import flat_run
from test_battery import combinations, equal, solve

import dgraph
from dgraph.backend.cuda.codegen import control_block
from dgraph.comm import SerialComm
from dgraph.errors import UsageError


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    """Let bounds of degrees end scans of rows in graphs of a few hundred vertices."""
    monkeypatch.setattr(control_block, "DEGREES_BITS", 2)


def greedy(n, src, dst, ids, state=1):
    """Return 1 for members of the set that takes vertices by degree, then by key, the largest key first."""
    degree, keys = np.bincount(src, minlength=n), [splitmix(x, state) for x in ids.tolist()]
    neighbours = [[] for _ in range(n)]
    for u, v in zip(src.tolist(), dst.tolist(), strict=True):
        neighbours[u].append(v)
    inside = np.zeros(n, np.int64)
    for v in sorted(range(n), key=lambda v: (degree[v], -keys[v])):
        inside[v] = not any(inside[u] for u in neighbours[v])
    return inside


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_sets(name):
    n, src, dst, _ = CASES[name].arcs(directed=False)
    members = greedy(n, src, dst, CASES[name].vertices)
    for chosen in combinations(name):
        result, here = solve("mis", name, combination=chosen)
        equal(result.columns["in_set"], members, here, f"in_set {chosen}")
        assert result.summary == {"members": members.sum()}
        assert result.converged


@pytest.mark.mpi
def test_other_random_numbers_give_other_sets():
    n, src, dst, _ = CASES["skewed"].arcs(directed=False)
    others = greedy(n, src, dst, CASES["skewed"].vertices)
    for state in (2, -7, 2**63 - 1):
        members = greedy(n, src, dst, CASES["skewed"].vertices, state)
        assert (members != others).any()
        result, here = solve("mis", "skewed", random_state=state)
        equal(result.columns["in_set"], members, here, f"random_state {state}")


def sets_of_many_degrees(renumber, mutant=None):
    """Return the set of a graph with degrees from 0 to some hundreds as a GPU finds it, and the greedy one."""
    n, rng = 400, np.random.default_rng(6)
    src, dst = (rng.random(3000) ** 3 * n).astype(np.int64), rng.integers(0, n, 3000)
    graph = dgraph.Graph.from_edges(src, dst, n=n, directed=False, comm=SerialComm(), device="cpu")
    block, backend = graph.block, emulated.backend(renumber=renumber)
    backend.device.mutants = mutant or ()
    result = flat_run("mis", graph, backend=backend)
    assert result.rounds == 1
    sources = np.repeat(np.arange(n), np.diff(block.offsets))
    return result.columns["in_set"], greedy(n, sources, block.targets, np.arange(n))


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("renumber", [False, True])
def test_a_gpu_decides_all_vertices_in_one_round(renumber):
    np.testing.assert_array_equal(*sets_of_many_degrees(renumber))


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("mutant", [
    ("for (; equal; equal &= equal - 1)", "for (; false;)"),
    ("env.degree[u] < env.degree[v]", "env.degree[u] > env.degree[v]"),
    pytest.param(("> key_of(v)", "< key_of(v)"), marks=pytest.mark.exhaustive),
])  # fmt: skip
def test_another_order_gives_another_set(mutant):
    members, wanted = sets_of_many_degrees(False, (mutant,))
    assert (members != wanted).any()


@pytest.mark.exhaustive
@pytest.mark.mpi_skip
def test_what_is_unfinished_is_undecided():
    graph = dgraph.Graph.load("path:9", comm=SerialComm())
    with pytest.warns(dgraph.errors.ConvergenceWarning, match="mis did not converge"):
        result = dgraph.run("mis", graph, options=dgraph.Options(max_rounds=1))
    assert set(result.columns["in_set"].tolist()) == {-1, 1}
    with pytest.raises(UsageError, match="give an integer of 64 bits"):
        dgraph.run("mis", graph, random_state=2**63)
