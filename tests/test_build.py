"""The distributed build: no arc lost or doubled, masters and mirrors numbered as both of their sides expect."""

import itertools

import numpy as np
import pytest
from simulated import Graph, battery, graph, on_ranks, skewed, succeed

from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.graph.build import build
from partitioning import POLICIES, Placement, arcs, plan
from partitioning.grid import grid as shape

RANKS = [1, 2, 3, 4, 5, 8]
GRAPHS = battery()
ACROSS = ["directed", "undirected hub", "three vertices", "no vertices", "mesh"]


def built(given: Graph, policy, comm, **layout):
    block = given.block(comm, **layout)
    before = block.targets.copy(), None if block.weights is None else block.weights.copy()
    local = build(block, plan(policy, block, comm.size, comm), comm)
    assert np.array_equal(block.targets, before[0]), "the block's own targets were written to"
    assert before[1] is None or np.array_equal(block.weights, before[1])
    return local


def by_gid(local):
    """Sources, targets and weights of a rank's arcs, as gids."""
    lids = np.repeat(np.arange(local.size), np.diff(local.out.offsets))
    return local.gids[lids], local.gids[local.out.neighbours], local.out.weights


def check(given: Graph, locals_):
    """Everything that the fields of LocalGraph promise, over all ranks."""
    src, dst, weights = given.arcs()
    degree = np.bincount(src, minlength=given.n)
    got = (
        [np.concatenate(column) for column in zip(*map(by_gid, locals_), strict=True)] if weights is not None else None
    )
    if got:
        order, wanted = np.lexsort(got[::-1]), np.lexsort((weights, dst, src))
        for have, want in zip(got, (src, dst, weights), strict=True):
            assert np.array_equal(have[order], want[wanted]), "arcs"
    owner = np.full(given.n, -1)
    for rank, local in enumerate(locals_):
        masters = local.gids[: local.masters]
        assert np.all(np.diff(masters) > 0)
        assert np.all(owner[masters] == -1), "a vertex with two masters"
        owner[masters] = rank
    assert np.all(owner >= 0), "a vertex without a master"
    for rank, local in enumerate(locals_):
        assert (local.n, local.m, local.arcs, local.directed) == (given.n, len(given.src), len(src), given.directed)
        assert len(np.unique(local.gids)) == local.size
        assert np.array_equal(local.original, local.gids + 1)
        assert np.array_equal(local.out_degree, degree[local.gids])
        assert local.out.neighbours.dtype == np.uint32
        assert local.out.offsets.dtype == local.gids.dtype == local.out_degree.dtype == local.original.dtype == np.int64
        assert len(local.out.offsets) == local.size + 1
        check_mirrors(rank, local, locals_, owner)


def check_mirrors(rank, local, locals_, owner):
    leaves = np.diff(local.out.offsets) > 0
    enters = np.zeros(local.size, bool)
    enters[local.out.neighbours] = True
    end = local.masters
    for peer in sorted(local.mine):
        mine, theirs = local.mine[peer], locals_[peer].theirs[rank]
        assert mine.first == end
        end += mine.count
        gids = local.gids[mine.first : end]
        assert np.all(owner[gids] == peer)
        assert np.array_equal(locals_[peer].gids[theirs.lids], gids), "the two sides number differently"
        assert np.all(theirs.lids < locals_[peer].masters)
        assert theirs.lids.dtype == np.uint32
        assert (mine.count, mine.columns, mine.rows) == (theirs.count, theirs.columns, theirs.rows)
        place = np.arange(mine.count)
        assert np.array_equal(enters[mine.first : end], place < mine.columns)
        assert np.array_equal(leaves[mine.first : end], place >= mine.rows)
        cuts = sorted({0, mine.rows, mine.columns, mine.count})
        assert all(np.all(np.diff(gids[a:b]) > 0) for a, b in itertools.pairwise(cuts))
    assert end == local.size, "a mirror outside the lists"
    assert all(rank in locals_[peer].mine for peer in local.theirs), "a list without its mirrors"


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_policy(name, ranks):
    for policy in POLICIES:
        check(GRAPHS[name], succeed(ranks, lambda comm, policy=policy: built(GRAPHS[name], policy, comm)))


@pytest.mark.mpi
@pytest.mark.parametrize("policy", POLICIES)
def test_ranks_build_what_threads_build(policy):
    comm = world()
    for given in map(GRAPHS.get, ACROSS):
        local = built(given, policy, comm)
        twin = succeed(comm.size, lambda each, given=given: built(given, policy, each))[comm.rank]
        for have, want in ((local.gids, twin.gids), (local.out.offsets, twin.out.offsets)):
            assert np.array_equal(have, want)
        assert np.array_equal(local.out.neighbours, twin.out.neighbours)
        assert np.array_equal(local.out.weights, twin.out.weights)
        assert np.array_equal(local.out_degree, twin.out_degree)
        assert local.mine == twin.mine
        assert local.theirs.keys() == twin.theirs.keys()
        assert all(np.array_equal(local.theirs[peer].lids, twin.theirs[peer].lids) for peer in local.theirs)


@pytest.mark.parametrize("policy", POLICIES)
def test_many_small_pieces(policy, monkeypatch):
    monkeypatch.setattr(arcs, "CHUNK", 7)
    for name in ("directed", "undirected", "hub", "isolated tail"):
        check(GRAPHS[name], succeed(4, lambda comm, name=name: built(GRAPHS[name], policy, comm)))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("bounds", [[0, 0, 0, 0, 90], [0, 90, 90, 90, 90], [0, 1, 1, 89, 90]])
def test_rows_loaded_unevenly(policy, bounds):
    for name in ("directed", "undirected"):
        check(GRAPHS[name], succeed(4, lambda comm, name=name: built(GRAPHS[name], policy, comm, bounds=bounds)))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_weights_keep_their_type(policy, dtype):
    given = skewed(60, 300, directed=True)
    given.weights = np.arange(len(given.src)).astype(dtype)
    locals_ = succeed(4, lambda comm: built(given, policy, comm))
    assert {local.out.weights.dtype for local in locals_} == {np.dtype(dtype)}
    check(given, locals_)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ranks", [1, 4])
def test_without_weights_and_with_wide_targets(policy, ranks):
    given = skewed(60, 300, directed=True)
    locals_ = succeed(ranks, lambda comm: built(given, policy, comm, dtype=np.int64))
    assert all(local.out.weights is None for local in locals_)
    pairs = [np.concatenate(column) for column in list(zip(*map(by_gid, locals_), strict=True))[:2]]
    order = np.lexsort(pairs[::-1])
    assert np.array_equal(np.array(pairs)[:, order], np.array(given.arcs()[:2]))


def test_neighbours_of_a_row_ascend_by_gid():
    for policy in POLICIES:
        for local in succeed(4, lambda comm, policy=policy: built(GRAPHS["undirected"], policy, comm)):
            src, dst, _ = by_gid(local)
            assert np.all(np.diff(dst)[np.diff(src) == 0] > 0)


@pytest.mark.parametrize("ranks", [4, 6, 9])
def test_cvc_talks_along_its_row_and_column_only(ranks):
    given = skewed(300, 3000, directed=True)
    columns = shape(ranks)[1]
    for rank, local in enumerate(succeed(ranks, lambda comm: built(given, "cvc", comm))):
        assert local.mine
        for peer, mirrors in local.mine.items():
            assert mirrors.rows == mirrors.count or peer // columns == rank // columns
            assert mirrors.columns == 0 or peer % columns == rank % columns


def test_one_rank_copies_nothing():
    block = GRAPHS["directed"].block(SerialComm())
    local = build(block, plan("oec", block, 1, SerialComm()), SerialComm())
    assert local.out.offsets is block.offsets
    assert local.out.neighbours is block.targets
    assert local.out.weights is block.weights


def test_rows_at_home_stay_there():
    """Rows that the load dealt out evenly are not sent, and weights are not even copied."""
    chain = graph(100, np.arange(100), (np.arange(100) + 1) % 100)
    chain.weights = np.ones(100)

    def work(comm):
        block = chain.block(comm)
        local = build(block, plan("oec", block, comm.size, comm), comm)
        return local.out.weights is block.weights, local

    shared, locals_ = zip(*succeed(4, work), strict=True)
    assert all(shared)
    check(chain, locals_)


@pytest.mark.parametrize("cut", ["outgoing", "vertex"])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_rank_that_does_not_exist(cut, wrong):
    def owner(gids):
        return np.where(gids == 50, wrong, 0).astype(np.int32)

    def work(comm):
        if cut == "outgoing":
            placement = Placement("mine", cut, comm.size, owner)
        else:
            placement = Placement("mine", cut, comm.size, lambda gids: gids * 0, lambda src, dst: owner(src))
        return build(GRAPHS["hub" if cut == "outgoing" else "into a hub"].block(comm), placement, comm)

    for error in on_ranks(4, work):
        assert isinstance(error, UsageError)
        assert f"rank {wrong}" in str(error)
