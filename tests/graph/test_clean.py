"""Cleaning raw edges: any distribution over any ranks gives the same graph, and loops and duplicates are counted."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import agreed, cleaned, figures, joined, share
from simulated import on_ranks

from dgraph.comm import world
from dgraph.comm.serial import SerialComm
from dgraph.errors import DataError
from dgraph.graph import rows
from dgraph.graph.build import bucketed_arcs, clean, id_bitmap, id_compaction, simplify
from dgraph.graph.build.clean import assemble, row_cuts
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.simplify import symmetrised
from dgraph.graph.load_options import LoadOptions


def spread(edges, comm, *, seed=0, dtype=np.int64, weights=np.int64, **more):
    """Return this rank's share of listed edges, distributed unevenly by a seed."""
    mine = np.random.default_rng(seed).integers(0, comm.size, len(edges)) ** 2 // max(1, comm.size) == comm.rank
    table = np.array([edge for edge, here in zip(edges, mine, strict=True) if here]).reshape(-1, 3)
    src, dst, w = table.T
    return RawEdges(src.astype(dtype), dst.astype(dtype), None if weights is None else w.astype(weights), **more)


def assembled(edges, ranks, options=None, step=None, **more):
    options = options or LoadOptions()

    def work(comm):
        block = assemble(spread(edges, comm, **more), comm, options)
        return share(step(block, comm) if step else block, comm)

    return joined(agreed(on_ranks(ranks, work)))


EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3)), max_size=40)
SPARSE = st.sampled_from([0, 3, 7, 1 << 20, (1 << 32) - 1, 1 << 32, 1 << 40, (1 << 63) - 2])
SPARSE_EDGES = st.lists(st.tuples(SPARSE, SPARSE, st.integers(-3, 3)), max_size=40)


@settings(max_examples=60)
@given(EDGES, st.integers(1, 4), st.booleans(), st.booleans(), st.booleans(), st.integers(0, 9))
def test_any_edges_come_out_clean(edges, ranks, directed, keep_loops, keep_parallel, seed):
    options = LoadOptions(keep_loops=keep_loops, keep_parallel=keep_parallel)
    graph = assembled(edges, ranks, options, seed=seed, directed=directed, n=10)
    keeps = {"keep_loops": keep_loops, "keep_parallel": keep_parallel}
    assert figures(graph) == cleaned(edges, directed, vertices=range(10), **keeps)
    out = np.bincount([u for u, _, _ in graph.arcs], minlength=10)
    assert graph.facts.largest_degree == out.max()


@settings(max_examples=60)
@given(SPARSE_EDGES, st.integers(1, 4), st.booleans(), st.integers(0, 9))
def test_sparse_ids_are_those_that_occur_in_order(edges, ranks, directed, seed):
    graph = assembled(edges, ranks, seed=seed, directed=directed)
    assert figures(graph) == cleaned(edges, directed)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_small_chunks_samples_and_more_ranks_than_vertices(ranks, monkeypatch):
    monkeypatch.setattr(clean, "CHUNK", 3)
    monkeypatch.setattr(clean, "SAMPLES", 2)
    monkeypatch.setattr(id_compaction, "CHUNK", 2)
    monkeypatch.setattr(id_compaction, "SAMPLES", 1)
    for name in ("SMALL", "SPAN"):
        monkeypatch.setattr(id_bitmap, name, 0)
    rng = np.random.default_rng(ranks)
    edges = [(int(u), int(v), int(w)) for u, v, w in rng.integers(0, 30, (200, 3))]
    for directed in (True, False):
        assert figures(assembled(edges, ranks, n=40, directed=directed)) == cleaned(edges, directed, vertices=range(40))
        assert figures(assembled(edges, ranks, directed=directed)) == cleaned(edges, directed)
    assert figures(assembled([(0, 1, 2)], ranks, n=2)) == cleaned([(0, 1, 2)], True)
    assert figures(assembled([], ranks, n=3)) == ([0, 1, 2], [], 0, 0, 0, 3)


@pytest.mark.parametrize("base", [0, 1])
def test_ids_begin_at_the_base(base):
    edges = [(base, base + 2, 1), (base + 2, base + 1, 5)]
    for dtype in (np.int64, np.uint32):
        graph = assembled(edges, 3, n=4, base=base, dtype=dtype)
        assert figures(graph) == cleaned(edges, True, vertices=range(base, base + 4))


@pytest.mark.parametrize("weights", [None, np.int32, np.int64, np.float32, np.float64])
def test_weights_keep_their_dtype_and_the_smallest_of_parallel_edges_stays(weights):
    edges = [(0, 1, 7), (0, 1, 3), (1, 0, 5), (0, 1, 3)]
    graph = assembled(edges, 2, weights=weights, n=2)
    assert graph.weights == weights
    assert graph.arcs == ([(0, 1, 1), (1, 0, 1)] if weights is None else [(0, 1, 3), (1, 0, 5)])
    kept = assembled(edges, 2, LoadOptions(keep_parallel=True), weights=np.int32, n=2, directed=False)
    assert (kept.m, kept.facts.duplicates) == (4, 3)
    assert kept.arcs == [(u, v, w) for u, v in ((0, 1), (1, 0)) for w in (3, 3, 5, 7)]


def test_repeated_loops_are_counted_once_each():
    edges = [(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 1), (1, 0, 1)]
    for keep_parallel in (False, True):
        options = LoadOptions(keep_loops=True, keep_parallel=keep_parallel)
        graph = assembled(edges, 2, options, n=2, directed=False)
        keeps = {"keep_loops": True, "keep_parallel": keep_parallel}
        assert figures(graph) == cleaned(edges, False, vertices=range(2), **keeps)
        assert graph.facts.duplicates == 3


def test_both_arcs_listed_are_one_edge():
    edges = [(0, 1, 1), (1, 0, 1), (1, 2, 4), (2, 1, 4), (2, 2, 9)]
    graph = assembled(edges, 2, LoadOptions(keep_loops=True), n=3, directed=False, mirrored=True)
    assert (graph.arcs, graph.m, graph.facts.duplicates) == (sorted(edges), 3, 0)


@settings(max_examples=40)
@given(EDGES, st.integers(1, 4), st.booleans())
def test_symmetrised_has_an_edge_where_either_arc_was(edges, ranks, keep_loops):
    graph = assembled(edges, ranks, LoadOptions(keep_loops=keep_loops), step=symmetrised, n=10)
    vertices, arcs, m, loops, *_, isolated = cleaned(edges, False, vertices=range(10), keep_loops=keep_loops)
    assert (graph.vertices, graph.arcs, graph.m) == (vertices, arcs, m)
    assert (graph.facts.loops, graph.facts.isolated) == (loops, isolated)
    assert "symmetrised: every arc goes both ways" in graph.facts.notes
    assert not graph.directed


def test_symmetrised_keeps_sparse_ids():
    graph = assembled([(1 << 40, 5, 3), (5, 9, 1)], 3, step=symmetrised)
    assert graph.arcs == [(5, 9, 1), (5, 1 << 40, 3), (9, 5, 1), (1 << 40, 5, 3)]


@pytest.mark.parametrize(
    ("edges", "more", "message"),
    [
        ([(0, 1, 1), (0, 3, 1)], {"n": 3}, r"graph: target\[1\] is 3; it must be within 0 \.\. 2"),
        ([(0, 1, 1)], {"n": 3, "base": 1}, r"graph: source\[0\] is 0; it must be within 1 \.\. 3"),
        ([(0, 1, 1), (1, -1, 1)], {}, r"graph: target\[1\] is -1"),
        ([(0, 1, 1), (1, 2, np.nan)], {"weights": np.float32}, r"graph: weight\[1\] is nan; a weight is a number"),
    ],
)
@pytest.mark.parametrize("ranks", [1, 3])
def test_what_no_graph_can_hold_is_refused_by_position(edges, more, message, ranks):
    def work(comm):
        raw = spread(edges if comm.rank == comm.size - 1 else [], comm, **more)
        if comm.rank == comm.size - 1:
            src, dst, w = np.array(edges).T
            raw.src, raw.dst, raw.weights = src.astype(np.int64), dst.astype(np.int64), w.astype(raw.weights.dtype)
        return assemble(raw, comm, LoadOptions())

    with pytest.raises(DataError, match=message):
        agreed(on_ranks(ranks, work))


@pytest.mark.parametrize("ranks", [2, 5, 16])
@pytest.mark.parametrize("shape", ["even", "power", "tail"])
def test_rows_are_cut_evenly(ranks, shape):
    rng = np.random.default_rng(1)
    n, arcs = 20_000, 100_000
    if shape == "even":
        sources = rng.integers(0, n, arcs)
    elif shape == "power":
        sources = (n * rng.random(arcs) ** 4).astype(np.int64)
    else:
        sources = rng.integers(0, 100, arcs)

    def work(comm):
        mine = sources[comm.rank :: comm.size]
        return row_cuts(mine[:: max(1, mine.size // clean.SAMPLES)], mine.size, n, comm)

    cuts = agreed(on_ranks(ranks, work))[0]
    assert (cuts[0], cuts[-1]) == (0, n)
    assert np.all(np.diff(cuts) >= 0)
    load = np.diff(np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=n))])[cuts]) + np.diff(cuts)
    assert load.max() <= 1.15 * (arcs + n) / ranks + np.bincount(sources).max()


def test_no_rank_sorts_all_the_ids():
    rng = np.random.default_rng(2)
    hubs = rng.integers(0, 1 << 20, 10).repeat(5_000)
    ids = rng.permutation(np.concatenate([hubs, rng.integers(0, 1 << 62, 40_000)]))

    def work(comm):
        mine = ids[comm.rank :: comm.size]
        sparse = id_compaction.number_ids([mine], None, str, comm)
        return sparse.here, id_compaction.to_gids(sparse, mine, str, comm)

    parts = agreed(on_ranks(4, work))
    assert np.array_equal(np.concatenate([here for here, _ in parts]), np.unique(ids))
    assert max(here.size for here, _ in parts) < 1.2 * np.unique(ids).size / 4
    for rank, (_, gids) in enumerate(parts):
        assert np.array_equal(gids, np.searchsorted(np.unique(ids), ids[rank::4]))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("ids", ["none", "one", "few", "dense", "sparse", "uneven"])
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_a_bitmap_numbers_ids_as_sorting_does(ranks, ids, dtype, monkeypatch):
    """Ends of words and of ranks' shares included; compiled code and its NumPy version."""
    rng = np.random.default_rng(3)
    values = {
        "none": [], "one": [64], "few": [0, 63, 64, 127, 128], "dense": rng.permutation(3_000),
        "sparse": rng.integers(0, 200_000, 5_000), "uneven": rng.integers(0, 600, 5_000) ** 2,
    }[ids]  # fmt: skip
    values, expected = np.array(values, dtype), np.unique(np.array(values, np.int64))
    monkeypatch.setattr(id_bitmap, "WORDS", 7)

    def work(comm):
        column = values[comm.rank :: comm.size].copy()
        bits = id_bitmap.id_bitmap([column, column[:1]], comm)
        sparse = bits.ids(comm)
        gids = bits.gids(column)
        assert np.array_equal(sparse.to_original(gids, comm), column)
        assert np.array_equal(sparse.to_gid(column, comm), gids)
        return sparse.here, gids, bits.gids(column, disposable=True)

    parts = agreed(on_ranks(ranks, work))
    assert np.array_equal(np.concatenate([here for here, *_ in parts]), expected)
    assert max(here.size for here, *_ in parts) <= expected.size / ranks + 1
    for rank, (_, gids, again) in enumerate(parts):
        assert gids.dtype == again.dtype == np.uint32
        assert np.array_equal(gids, np.searchsorted(expected, values[rank::ranks]))
        assert np.array_equal(gids, again)


def test_ids_beyond_the_bitmap_are_sorted(monkeypatch):
    monkeypatch.setattr(id_bitmap, "SMALL", 64)
    for largest, bitmap in ((63, True), (64 * 32 - 1, True), (64 * 32, False), ((1 << 63) - 1, False)):
        ends = np.append(np.arange(127), largest)

        def work(comm, ends=ends):
            return id_bitmap.id_bitmap([ends], comm) is not None

        assert on_ranks(1, work) == [bitmap]


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("weighted", [True, False])
def test_long_rows_are_sorted_with_their_weights(dtype, weighted):
    rng = np.random.default_rng(4)
    lengths = [0, 1, rows.SHORT, rows.SHORT + 1, 5000, 2]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    top = (1 << 32) - 1 if dtype == np.uint32 else 1 << 62
    targets = rng.integers(0, top, offsets[-1]).astype(dtype)
    weights = rng.random(offsets[-1]) if weighted else None
    before = targets.copy(), None if weights is None else weights.copy()
    rows.sort_rows(offsets, targets, weights)
    for lo, hi in pairwise(offsets):
        order = np.argsort(before[0][lo:hi], kind="stable")
        assert np.array_equal(targets[lo:hi], before[0][lo:hi][order])
        if weighted:
            assert np.array_equal(weights[lo:hi], before[1][lo:hi][order])


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("weighted", [True, False])
def test_transpose_turns_every_arc(dtype, weighted):
    rng = np.random.default_rng(5)
    src, dst = np.sort(rng.integers(0, 50, 300)), rng.integers(0, 50, 300)
    weights = np.arange(300.0) if weighted else None
    offsets, neighbours, carried = rows.transpose(50, np.searchsorted(src, np.arange(51)), dst.astype(dtype), weights)
    order = np.lexsort((src, dst))
    assert np.array_equal(offsets, np.searchsorted(dst[order], np.arange(51)))
    assert np.array_equal(neighbours, src[order])
    assert neighbours.dtype == np.uint32
    assert (carried is None) != weighted
    if weighted:
        assert sorted(zip(neighbours, carried, strict=True)) == sorted(zip(src, weights, strict=True))


@pytest.mark.mpi
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("n", [60, None])
def test_real_ranks_build_what_one_would(directed, n):
    comm = world()
    table = np.random.default_rng(6).integers(0, 60, (500, 3))
    edges = [tuple(edge) for edge in table.tolist()]
    block = assemble(spread(edges, comm, directed=directed, n=n), comm, LoadOptions())
    _, vertices, src, dst = share(block, comm)
    wanted = cleaned(edges, directed, vertices=None if n is None else range(n))
    mine = set(vertices)
    assert list(zip(src, dst, block.weights.tolist(), strict=True)) == [arc for arc in wanted[1] if arc[0] in mine]
    assert comm.total(len(vertices)) == len(wanted[0])
    assert (block.m, block.facts.loops, block.facts.duplicates, block.facts.isolated) == wanted[2:]


@pytest.mark.parametrize("kind", [np.int32, np.float64, None])
@pytest.mark.parametrize("n", [1, 9, 300, 20_000])
def test_rows_and_reversed_rows_merge_into_the_rows_that_a_sort_gives(n, kind, monkeypatch):
    """Parallel arcs and loops that the graph kept, rows of most arcs, empty rows; of 0.0 and -0.0 the first one."""
    monkeypatch.setattr(clean, "CHUNK", 500)
    monkeypatch.setattr(bucketed_arcs, "ARCS", 200)
    rng = np.random.default_rng(n)
    src, dst = (n * rng.random((2, 6_000)) ** 3).astype(np.uint32)
    weights = None if kind is None else rng.choice([-0.0, 0.0, 1.0, 2.0, 3.0], src.size).astype(kind)
    kept = LoadOptions(keep_loops=True, keep_parallel=True)
    block = assemble(RawEdges(src, dst, weights, n=n), SerialComm(), kept)
    by_sort = symmetrised(block, SerialComm(), rule="min")
    monkeypatch.setattr(simplify, "FEW", 0)
    merged = symmetrised(block, SerialComm(), rule="min")
    edges = {}
    for row in range(n):
        for arc in range(block.offsets[row], block.offsets[row + 1]):
            ends, weight = (row, int(block.targets[arc])), 1 if weights is None else block.weights[arc]
            for pair in {ends, ends[::-1]}:
                edges[pair] = min(edges.get(pair, weight), weight)
    assert list(zip(merged.sources().tolist(), merged.targets.tolist(), strict=True)) == sorted(edges)
    assert weights is None or merged.weights.tolist() == [edges[pair] for pair in sorted(edges)]
    assert merged.targets.tobytes() == by_sort.targets.tobytes()
    assert weights is None or merged.weights.tobytes() == by_sort.weights.tobytes()
    assert vars(merged.facts) == vars(by_sort.facts)
    assert (merged.m, merged.arcs, merged.directed) == (by_sort.m, by_sort.arcs, False)
