"""Rows with ghosts on any number of ranks, against NumPy: numbers, arcs, values sent to ghosts and back."""

import numpy as np
import pytest
import simulated

import partitioning
from dgraph.graph.build.local_graph import build
from dgraph.graph.halo import ghost_rows

pytestmark = pytest.mark.mpi_skip


def graph(directed, n=40):
    """Return a graph with hubs, loops, parallel edges and vertices without edges."""
    draw = np.random.default_rng(5)
    src, dst = draw.integers(0, n - 8, 160) % draw.integers(1, n - 8, 160), draw.integers(0, n - 8, 160)
    return simulated.Graph(n, src, dst, directed)


def joined(given):
    """Return a matrix that is True for arcs, without loops."""
    src, dst, _ = given.arcs()
    matrix = np.zeros((given.n, given.n), np.bool_)
    matrix[src, dst] = True
    np.fill_diagonal(matrix, False)
    return matrix


def partition(given, policy, comm):
    block = given.block(comm)
    return build(block, partitioning.plan(policy, block, comm.size, comm), comm)


def matrix_of(rows, gids, n):
    """Return the arcs of rows as a matrix by gid; fails if a row repeats a number or does not ascend."""
    offsets, targets = rows
    sources = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    assert np.all(np.diff(targets.astype(np.int64))[np.diff(sources) == 0] != 0)
    matrix = np.zeros((n, n), np.int64)
    np.add.at(matrix, (gids[sources], gids[targets]), 1)
    assert matrix.max(initial=0) <= 1
    return matrix > 0


@pytest.mark.parametrize(("policy", "directed"), [("oec", False), ("hash", False), ("iec", True), ("cvc", True)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_masters_have_all_their_arcs(ranks, policy, directed):
    given = graph(directed)
    wanted = joined(given)

    def work(comm):
        local = partition(given, policy, comm)
        rows, own = ghost_rows(local, comm), local.gids[: local.masters]
        mine = np.isin(np.arange(given.n), own)
        np.testing.assert_array_equal(rows.gids[: rows.masters], own)
        np.testing.assert_array_equal(matrix_of(rows.out, rows.gids, given.n), wanted & mine[:, None])
        np.testing.assert_array_equal(matrix_of(rows.into, rows.gids, given.n), wanted.T & mine[:, None])
        np.testing.assert_array_equal(matrix_of(rows.pushed, rows.gids, given.n), wanted & mine)
        for offsets, targets in (rows.out, rows.into):
            for row in np.split(targets, offsets[1:-1]):
                assert np.all(np.diff(rows.gids[row]) > 0), "the order in which floats are added"
        return own

    assert sorted(np.concatenate(simulated.succeed(ranks, work))) == list(range(given.n))


@pytest.mark.parametrize("policy", ["oec", "cvc"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_chosen_values_reach_their_ghosts(ranks, policy):
    given = graph(directed=policy == "cvc")

    def work(comm):
        rows = ghost_rows(partition(given, policy, comm), comm)
        masters = rows.gids[: rows.masters]
        numbers, (wide, narrow) = rows.exchange(masters % 3 == 0, np.stack([masters, -masters], axis=1), masters * 0.5)
        ghosts = np.arange(rows.masters, rows.slots)
        np.testing.assert_array_equal(np.sort(numbers), ghosts[rows.gids[ghosts] % 3 == 0])
        np.testing.assert_array_equal(wide, np.stack([rows.gids[numbers], -rows.gids[numbers]], axis=1))
        np.testing.assert_array_equal(narrow, rows.gids[numbers] * 0.5)
        return rows.slots - rows.masters

    assert (sum(simulated.succeed(ranks, work)) > 0) == (ranks > 1)
