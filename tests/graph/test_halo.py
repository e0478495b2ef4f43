"""Rows with ghosts on any number of ranks, against NumPy: numbers, arcs, values sent to ghosts and back."""

import numpy as np
import pytest
import simulated

import partitioning
from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build
from dgraph.graph.halo import rows_of

pytestmark = pytest.mark.mpi_skip


def graph(directed, n=40):
    """Return a graph with hubs, loops, parallel edges and vertices without edges."""
    draw = np.random.default_rng(5)
    src, dst = draw.integers(0, n - 8, 160) % draw.integers(1, n - 8, 160), draw.integers(0, n - 8, 160)
    return simulated.Graph(n, src, dst, directed)


def joined(case):
    """Return a matrix that is True for arcs, without loops."""
    src, dst, _ = case.arcs()
    matrix = np.zeros((case.n, case.n), np.bool_)
    matrix[src, dst] = True
    np.fill_diagonal(matrix, False)
    return matrix


def partition(case, policy, comm):
    block = case.block(comm)
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
    case = graph(directed)
    wanted = joined(case)

    def work(comm):
        local = partition(case, policy, comm)
        rows, own = rows_of(local, comm, "ghosts"), local.gids[: local.masters]
        mine = np.isin(np.arange(case.n), own)
        np.testing.assert_array_equal(rows.gids[: rows.masters], own)
        np.testing.assert_array_equal(matrix_of(rows.out, rows.gids, case.n), wanted & mine[:, None])
        np.testing.assert_array_equal(matrix_of(rows.into, rows.gids, case.n), wanted.T & mine[:, None])
        np.testing.assert_array_equal(matrix_of(rows.pushed, rows.gids, case.n), wanted & mine)
        for offsets, targets in (rows.out, rows.into):
            for row in np.split(targets, offsets[1:-1]):
                assert np.all(np.diff(rows.gids[row]) > 0), "the order in which floats are added"
        return own

    assert sorted(np.concatenate(simulated.succeed(ranks, work))) == list(range(case.n))


@pytest.mark.parametrize("policy", ["oec", "cvc"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_chosen_values_reach_their_ghosts(ranks, policy):
    case = graph(directed=policy == "cvc")

    def work(comm):
        rows = rows_of(partition(case, policy, comm), comm, "ghosts")
        masters = rows.gids[: rows.masters]
        numbers, (wide, narrow) = rows.exchange(masters % 3 == 0, np.stack([masters, -masters], axis=1), masters * 0.5)
        ghosts = np.arange(rows.masters, rows.slots)
        np.testing.assert_array_equal(np.sort(numbers), ghosts[rows.gids[ghosts] % 3 == 0])
        np.testing.assert_array_equal(wide, np.stack([rows.gids[numbers], -rows.gids[numbers]], axis=1))
        np.testing.assert_array_equal(narrow, rows.gids[numbers] * 0.5)
        return rows.slots - rows.masters

    assert (sum(simulated.succeed(ranks, work)) > 0) == (ranks > 1)


@pytest.mark.parametrize("order", ["gid", "id"])
@pytest.mark.parametrize("policy", ["oec", "cvc"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_rows_of_all_vertices_and_of_a_range(ranks, policy, order):
    case = weighted(directed=policy == "cvc")
    arcs = list(zip(*(column.tolist() for column in case.arcs()), strict=True))
    least: dict = {}
    for u, v, weight in arcs:
        if u != v:
            least[u, v] = min(weight, least.get((u, v), np.inf))

    def work(comm):
        local = shuffled(partition(case, policy, comm))
        number = np.arange(case.n) if order == "gid" else case.n - 1 - np.arange(case.n)
        rows = rows_of(local, comm, "all", order, weights=True)
        sources, targets = number[rows.sources], number[rows.targets]
        listed = list(zip(sources.tolist(), targets.tolist(), strict=True))
        assert listed == sorted(least, key=lambda arc: (number[arc[0]], number[arc[1]]))
        assert rows.costs.tolist() == [least[arc] for arc in listed]
        for end, ends in ((rows.into, (1, 0)), (rows.pushed, (0, 1))):
            wanted = np.zeros((case.n, case.n), np.bool_)
            wanted[tuple(np.array(list(least)).T[list(ends)])] = True
            np.testing.assert_array_equal(matrix_of(end, number, case.n), wanted)
        own = rows_of(local, comm, "own", order, weights=True, simple=False)
        inside = [arc for arc in arcs if own.first <= number[arc[0]] < own.stop]
        here = zip(number[own.sources].tolist(), number[own.targets].tolist(), own.costs.tolist(), strict=True)
        assert sorted(here) == sorted(inside), "loops and parallel arcs stay"
        masters, mine = local.gids[: local.masters], rows.ids[rows.kept]
        np.testing.assert_array_equal(rows.to_masters(mine), local.original[: local.masters])
        np.testing.assert_array_equal(rows.returned(number + comm.rank, np.maximum), masters + comm.size - 1)
        parts = rows.to_owners(np.stack([number, number * 0 + comm.rank]))
        np.testing.assert_array_equal(np.stack(parts)[:, 0], [masters] * comm.size)
        np.testing.assert_array_equal(np.stack(parts)[:, 1].T, [np.arange(comm.size)] * len(masters))
        kept = np.stack(rows.to_keepers(np.arange(len(rows.targets))[None]))[:, 0]
        np.testing.assert_array_equal(kept, [np.arange(len(rows.targets))[rows.kept_arcs]] * comm.size)
        if not local.directed:
            names = rows.sources * case.n + rows.targets
            turned = rows.targets.astype(np.int64) * case.n + rows.sources
            np.testing.assert_array_equal(rows.of_reverse(names[rows.kept_arcs]), turned[rows.kept_arcs])
        return [own.first, own.stop]

    bounds = simulated.succeed(ranks, work)
    assert bounds == [[case.n * r // ranks, case.n * (r + 1) // ranks] for r in range(ranks)]


def weighted(directed):
    """Return the graph with float weights."""
    case = graph(directed)
    return simulated.Graph(case.n, case.src, case.dst, directed, np.random.default_rng(6).random(len(case.src)))


def shuffled(local):
    """Give the vertices original ids that fall as gids rise."""
    local.original = 1000 - local.gids
    return local


def test_an_order_that_a_scope_lacks_is_refused_by_name():
    with pytest.raises(UsageError, match="no rows of scope 'all' in the order 'degree'; choose from own: gid or id"):
        rows_of(partition(graph(directed=True), "oec", SerialComm()), SerialComm(), "all", "degree")
    with pytest.raises(UsageError, match="scope 'mine'"):
        rows_of(partition(graph(directed=True), "oec", SerialComm()), SerialComm(), "mine")


@pytest.mark.parametrize("oriented", [True, False])
@pytest.mark.parametrize("policy", ["oec", "hash", "cvc"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_rows_by_degree(ranks, policy, oriented, monkeypatch):
    monkeypatch.setattr("dgraph.graph.halo.ghost_rows.FEWEST", 7)
    case = graph(directed=False)
    wanted, (src, dst, _) = joined(case), case.arcs()
    listed = np.zeros((case.n, case.n), np.int64)
    np.add.at(listed, (src, dst), 1)
    rank_of = np.argsort(np.argsort(np.bincount(src, minlength=case.n), kind="stable"))
    upward = rank_of[:, None] < rank_of
    everything = wanted & upward if oriented else wanted

    def work(comm):
        local = partition(case, policy, comm)
        rows = rows_of(local, comm, "ghosts", "degree", oriented=oriented)
        own, gids = local.gids[: local.masters], rows.gids
        mine = np.isin(np.arange(case.n), own)
        np.testing.assert_array_equal(gids[rows.place], own)
        assert np.all(np.diff(rank_of[gids]) > 0), "numbers are not in the order of degrees"
        np.testing.assert_array_equal(matrix_of((rows.offsets, rows.targets), gids, case.n), everything & mine[:, None])
        if not oriented:
            ends = gids[rows.sources], gids[rows.targets]
            np.testing.assert_array_equal(rows.values, listed[ends])
            np.testing.assert_array_equal(rows.degrees, wanted.sum(axis=1)[own])
        np.testing.assert_array_equal(rows.numbers(gids), np.arange(rows.slots))
        assert np.all(rows.numbers(np.arange(case.n, case.n + 3)) == -1)
        columns = () if oriented else (rows.values,)
        for chosen in (None, gids % 2 == 0):
            others, pieces = ~mine if chosen is None else ~mine & (np.arange(case.n) % 2 == 0), 0
            named = np.isin(np.arange(case.n), gids)
            sums = np.zeros((case.n, case.n), np.bool_)
            for offsets, targets, *values in rows.pieces(chosen, *columns):
                piece = matrix_of((offsets, targets), gids, case.n)
                assert not (sums & piece).any(), "a row came twice"
                sums |= piece
                sources = np.repeat(np.arange(rows.slots), np.diff(offsets))
                for column in values:
                    np.testing.assert_array_equal(column, listed[gids[sources], gids[targets]])
                pieces += 1
            np.testing.assert_array_equal(sums, everything & (others & named)[:, None] & named)
        folded = rows.returned(gids.copy(), np.minimum)
        np.testing.assert_array_equal(folded, own)
        readers = rows.returned(np.ones(rows.slots, np.int64))
        ghosts, values = rows.exchange(gids % 3 == 0, gids)
        np.testing.assert_array_equal(gids[ghosts], values[0])
        assert set(values[0]) == set(gids[gids % 3 == 0]) - set(own)
        return dict(zip(own.tolist(), readers.tolist(), strict=True)), gids, pieces

    every = simulated.succeed(ranks, work)
    naming = np.bincount(np.concatenate([gids for _, gids, _ in every]), minlength=case.n)
    for readers, *_ in every:
        assert readers == {gid: naming[gid] for gid in readers}
    assert ranks == 1 or max(pieces for *_, pieces in every) > 1


@pytest.mark.parametrize("policy", ["oec", "cvc"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_values_of_arcs_reach_their_reverses(ranks, policy):
    case = graph(directed=False)

    def work(comm):
        rows = rows_of(partition(case, policy, comm), comm, "ghosts", "degree")
        ends = rows.gids[rows.sources], rows.gids[rows.targets]
        rows.values[:] = np.where(rows.lower, 0, ends[0] * case.n + ends[1])
        chosen = (ends[0] + ends[1]) % 3 == 0
        reverses = rows.copy_to_reverse(np.flatnonzero(~rows.lower & chosen))
        np.testing.assert_array_equal(np.sort(reverses), np.flatnonzero(rows.lower & chosen))
        np.testing.assert_array_equal(rows.values[reverses], (ends[1] * case.n + ends[0])[reverses])
        before = matrix_of((rows.offsets, rows.targets), rows.gids, case.n)
        rows.keep(chosen)
        kept = np.add.outer(np.arange(case.n), np.arange(case.n)) % 3 == 0
        np.testing.assert_array_equal(matrix_of((rows.offsets, rows.targets), rows.gids, case.n), before & kept)
        np.testing.assert_array_equal(rows.gids[rows.sources], ends[0][chosen])
        assert len(rows.values) == np.count_nonzero(chosen)

    simulated.succeed(ranks, work)
