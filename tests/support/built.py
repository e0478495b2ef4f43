"""Checks of a set of local graphs, from any builder, against the whole graph."""

import itertools

import numpy as np
from simulated import Graph, succeed

from dgraph.graph.build.out_weights import out_weights


def by_gid(local):
    """Return sources, targets and weights of a rank's arcs, as gids."""
    lids = np.repeat(np.arange(local.size), np.diff(local.out.offsets))
    return local.gids[lids], local.gids[local.out.neighbours], local.out.weights


def check(graph: Graph, locals_, name=""):
    """Check the invariants of LocalGraph's fields on all ranks."""
    src, dst, weights = graph.arcs()
    degree = np.bincount(src, minlength=graph.n)
    got = (
        [np.concatenate(column) for column in zip(*map(by_gid, locals_), strict=True)] if weights is not None else None
    )
    if got:
        order, wanted = np.lexsort(got[::-1]), np.lexsort((weights, dst, src))
        for have, want in zip(got, (src, dst, weights), strict=True):
            assert np.array_equal(have[order], want[wanted]), f"arcs of {name}"
    owner = np.full(graph.n, -1)
    for rank, local in enumerate(locals_):
        masters = local.gids[: local.masters]
        assert np.all(np.diff(masters) > 0)
        assert np.all(owner[masters] == -1), "a vertex with two masters"
        owner[masters] = rank
    assert np.all(owner >= 0), "a vertex without a master"
    for rank, local in enumerate(locals_):
        assert (local.n, local.m, local.arcs, local.directed) == (graph.n, len(graph.src), len(src), graph.directed)
        assert len(np.unique(local.gids)) == local.size
        assert np.array_equal(local.original, local.gids + 1)
        assert np.array_equal(local.out_degree, degree[local.gids])
        assert local.out.neighbours.dtype == np.uint32
        assert local.out.offsets.dtype == local.gids.dtype == local.out_degree.dtype == local.original.dtype == np.int64
        assert len(local.out.offsets) == local.size + 1
        rows, targets, _ = by_gid(local)
        assert np.all(np.diff(targets)[np.diff(rows) == 0] >= 0), "a row whose neighbours do not ascend"
        check_mirrors(rank, local, locals_, owner)


def check_out_weights(graph: Graph, locals_):
    """Check that masters' weighted out-degrees, summed over ranks, equal those of the whole graph."""
    src, _, weights = graph.arcs()
    whole = np.bincount(src, weights, graph.n)
    sums_by_rank = succeed(len(locals_), lambda comm: out_weights(locals_[comm.rank], comm))
    for local, sums in zip(locals_, sums_by_rank, strict=True):
        assert sums.dtype == np.float64
        np.testing.assert_allclose(sums, whole[local.gids[: local.masters]], rtol=1e-14)
        assert local.out_weight is sums


def check_mirrors(rank, local, locals_, owner):
    leaves = np.diff(local.out.offsets) > 0
    enters = np.zeros(local.size, bool)
    enters[local.out.neighbours] = True
    end = local.masters
    for peer in sorted(local.own_mirrors):
        mine, theirs = local.own_mirrors[peer], locals_[peer].peer_mirrors[rank]
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
    assert all(rank in locals_[peer].own_mirrors for peer in local.peer_mirrors), "a list without its mirrors"
