"""The distributed build: no arc is lost or doubled, and both sides number mirrors equally."""

import numpy as np
import pytest
from battery import CASES, EVERYTHING
from built import by_gid, check, check_out_weights
from simulated import Graph, battery, graph, on_ranks, skewed, succeed

from dgraph.comm import SerialComm, world
from dgraph.errors import UsageError
from dgraph.graph.build.local_graph import build, build_parts
from partitioning import POLICIES, Placement, plan
from partitioning.arrays import arcs
from partitioning.policies.cvc import grid as shape

SHAPES = ["oec", "iec", "cvc", "hvc,threshold=2", "hash", "ldg", "metis"]
VARIANTS = [*SHAPES, "random", "fennel", "fennel,balance=vertices", "ldg,balance=vertices", "hvc"]
RANKS = [1, 2, 3, 4, 5, 8]
GRAPHS = battery()
ACROSS = ["directed", "undirected hub", "three vertices", "no vertices", "mesh"]


def built(case: Graph, policy, comm, **layout):
    block = case.block(comm, **layout)
    before = block.targets.copy(), None if block.weights is None else block.weights.copy()
    local = build(block, plan(policy, block, comm.size, comm), comm)
    assert np.array_equal(block.targets, before[0]), "the block's own targets were written to"
    assert before[1] is None or np.array_equal(block.weights, before[1])
    return local


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ranks", RANKS)
def test_every_policy(name, ranks):
    for policy in POLICIES:
        check(GRAPHS[name], succeed(ranks, lambda comm, policy=policy: built(GRAPHS[name], policy, comm)))


@pytest.mark.parametrize("policy", SHAPES)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_weighted_out_degrees(policy, dtype):
    """Rows of one vertex may lie on several ranks; some are empty, some weights 0."""
    for ranks in (1, 2, 4):
        case = skewed(90, 700, directed=ranks < 4)
        case.weights = (np.arange(len(case.src)) % 7).astype(dtype) * np.array(1.1).astype(dtype)
        locals_ = succeed(ranks, lambda comm, case=case: built(case, policy, comm))
        check_out_weights(case, locals_)
        first = [local.out_weight.tobytes() for local in locals_]
        again = succeed(ranks, lambda comm, case=case: built(case, policy, comm))
        check_out_weights(case, again)
        assert first == [local.out_weight.tobytes() for local in again]


@pytest.mark.parametrize("policy", VARIANTS if EVERYTHING else SHAPES)
@pytest.mark.parametrize(("parts", "ranks"), [*((parts, 1) for parts in range(1, 17)), (2, 3), (5, 3), (16, 3)])
def test_any_number_of_parts(policy, parts, ranks):
    """More parts than ranks, and fewer, on graphs of edge cases: each arc once, mirrors only if needed."""
    if ranks > 1:
        graphs = GRAPHS
    else:
        # Every graph gets odd or even numbers of parts.
        some = list(CASES) if EVERYTHING else list(CASES)[parts % 2 :: 2]
        graphs = {name: graph(*CASES[name].arcs()[:3]) for name in some}
        for case in graphs.values():
            case.weights = np.arange(len(case.src)) % 7
    for name, case in graphs.items():
        check(case, built_parts(case, policy, parts, ranks), name)


def built_parts(case, policy, parts, ranks):
    def work(comm):
        block = case.block(comm)
        return build_parts(block, plan(policy, block, parts, comm), comm)

    return [local for here in succeed(ranks, work) for local in here]


@pytest.mark.mpi
@pytest.mark.parametrize("policy", POLICIES)
def test_ranks_build_what_threads_build(policy):
    comm = world()
    for case in map(GRAPHS.get, ACROSS):
        local = built(case, policy, comm)
        twin = succeed(comm.size, lambda peer, case=case: built(case, policy, peer))[comm.rank]
        for have, want in ((local.gids, twin.gids), (local.out.offsets, twin.out.offsets)):
            assert np.array_equal(have, want)
        assert np.array_equal(local.out.neighbours, twin.out.neighbours)
        assert np.array_equal(local.out.weights, twin.out.weights)
        assert np.array_equal(local.out_degree, twin.out_degree)
        assert local.own_mirrors == twin.own_mirrors
        assert local.peer_mirrors.keys() == twin.peer_mirrors.keys()
        assert all(
            np.array_equal(local.peer_mirrors[peer].lids, twin.peer_mirrors[peer].lids) for peer in local.peer_mirrors
        )


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
    case = skewed(60, 300, directed=True)
    case.weights = np.arange(len(case.src)).astype(dtype)
    locals_ = succeed(4, lambda comm: built(case, policy, comm))
    assert {local.out.weights.dtype for local in locals_} == {np.dtype(dtype)}
    check(case, locals_)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ranks", [1, 4])
def test_without_weights_and_with_wide_targets(policy, ranks):
    case = skewed(60, 300, directed=True)
    locals_ = succeed(ranks, lambda comm: built(case, policy, comm, dtype=np.int64))
    assert all(local.out.weights is None for local in locals_)
    pairs = [np.concatenate(column) for column in list(zip(*map(by_gid, locals_), strict=True))[:2]]
    order = np.lexsort(pairs[::-1])
    assert np.array_equal(np.array(pairs)[:, order], np.array(case.arcs()[:2]))


@pytest.mark.parametrize("name", ["directed", "undirected"])
def test_neighbours_of_a_row_ascend_by_gid(name):
    for policy in POLICIES:
        for local in succeed(4, lambda comm, policy=policy: built(GRAPHS[name], policy, comm)):
            for rows in (local.out, local.incoming):
                here = np.repeat(np.arange(local.size), np.diff(rows.offsets))
                assert np.all(np.diff(local.gids[rows.neighbours])[np.diff(here) == 0] > 0)


@pytest.mark.parametrize("ranks", [4, 6, 9])
def test_cvc_talks_along_its_row_and_column_only(ranks):
    case = skewed(300, 3000, directed=True)
    columns = shape(ranks)[1]
    for rank, local in enumerate(succeed(ranks, lambda comm: built(case, "cvc", comm))):
        assert local.own_mirrors
        for peer, mirrors in local.own_mirrors.items():
            assert mirrors.rows == mirrors.count or peer // columns == rank // columns
            assert mirrors.columns == 0 or peer % columns == rank % columns


def test_one_rank_copies_nothing():
    block = GRAPHS["directed"].block(SerialComm())
    local = build(block, plan("oec", block, 1, SerialComm()), SerialComm())
    assert local.out.offsets is block.offsets
    assert local.out.neighbours is block.targets
    assert local.out.weights is block.weights


def test_rows_at_home_stay_there():
    """Rows that the load distributed evenly are not sent, and weights are not copied."""
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
        assert ("a vertex, 50," if cut == "outgoing" else "an arc, ") in str(error)
        assert f"to part {wrong}, but parts are 0 .. 3" in str(error)
