"""Propagation blocking: positions of binned edges, sums against exact ones, equal bits on any grid."""

import math

import numpy as np
import oracles
import pytest
import simulated
from devices import device_of, local_graph, on_devices
from emulated import Device, needs_compiler
from flat_run import flat_run
from gpu_ranks import field, run
from passed_sums import Divided, Halved, Passed, Squared, Wanted, Weighed

import dgraph
from dgraph.algorithms.bfs_programs import Parents
from dgraph.algorithms.pagerank import PageRank, WeightedPageRank
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.device_graph import device_graph, propagation_blocking
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.launcher import Launcher
from dgraph.comm import SerialComm
from dgraph.graph.build.out_weights import out_weights
from dgraph.program import trace
from dgraph.program.analysis import sums_source_floats

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
RANK = PageRank(tol=0.0, max_iter=7)
N = 230


@pytest.fixture
def small(monkeypatch):
    """Use small bins, few of them at a time, and pieces of few edges."""
    for name, value in (("TILE", 16), ("TILES_AT_ONCE", 17), ("TILED_EDGES", 100)):
        monkeypatch.setattr(control, name, value)
    monkeypatch.setattr(propagation_blocking, "LEAST", 32)


@pytest.fixture
def launched(monkeypatch):
    """Names of launched kernels, with an entry whenever edges are transposed."""
    names, launch, turn = [], Launcher.launch, device_graph.DeviceGraph._turned

    def noted(self, module, kernel, *args, **more):
        names.append(kernel)
        return launch(self, module, kernel, *args, **more)

    def turned(self, edges):
        names.append("edges turned around")
        return turn(self, edges)

    monkeypatch.setattr(Launcher, "launch", noted)
    monkeypatch.setattr(device_graph.DeviceGraph, "_turned", turned)
    return names


def skewed(directed=True):
    return simulated.skewed(N, 1500, directed)


def begin_with(values):
    """Return a wrapper that gives :class:`Passed` its start values."""

    def wrapped(context):
        run = context.run
        mine = values[context.local.gids[: context.local.masters]]
        context.run = lambda program: run(program, {"start": mine})

    return wrapped


def exact(graph, values):
    """Return exact sums over the neighbours of each vertex, and the number of neighbours."""
    src, dst, _ = graph.arcs()
    sums = [math.fsum(values[src[dst == v]]) for v in range(graph.n)]
    return np.array(sums), np.bincount(dst, minlength=graph.n)


@on_devices
@pytest.mark.parametrize(("n", "m"), [(N, 3000), (16, 40), (17, 1), (100, 0), (1, 0)])
def test_every_edge_lies_in_the_tile_of_its_target(device, n, m, small):
    rng = np.random.default_rng(n)
    src, dst = (n * rng.random((2, m)) ** 3).astype(np.int64)
    used = device_of(device)
    rows = device_graph.DeviceGraph(local_graph(n, src, dst), used, renumber=False).out
    for masters in (n, n // 2, 0):
        tiles = propagation_blocking.EdgeTiles(rows, masters, used)
        pieces, bounds, cut = (used.get(x) for x in (tiles.pieces, tiles.bounds, tiles.cut))
        sources, targets = used.get(tiles.sources), used.get(tiles.targets).astype(np.int64)
        assert (pieces[:, 0] % propagation_blocking.ALIGNED == 0).all()
        assert tiles.mirrored == np.count_nonzero(pieces[:, 2] < tiles.masters)
        edges, longest = [], np.zeros(len(bounds), np.int64)
        for first, count, tile, which in pieces.tolist():
            low = tile * control.TILE if tile < tiles.masters else masters + (tile - tiles.masters) * control.TILE
            high = min(low + control.TILE, masters if tile < tiles.masters else n)
            to = low + targets[first : first + count]
            assert (to < high).all()
            assert which == propagation_blocking.WHOLE or cut[which] == tile
            edges += zip(sources[first : first + count].tolist(), to.tolist(), strict=True)
            longest[tile] = max(longest[tile], np.bincount(dst, minlength=n)[low:high].max())
        assert sorted(edges) == sorted(zip(src.tolist(), dst.tolist(), strict=True))
        assert (bounds >= longest).all()
        assert (np.delete(bounds, cut) == np.delete(longest, cut)).all()
        assert (np.unique(pieces[:, 2], return_counts=True)[1] > 1).sum() == len(cut) == len(set(cut.tolist()))


def test_pieces_are_about_in_the_order_of_sources(small, monkeypatch):
    """Check that pieces follow the chunks of sources, whose inner order is unspecified, if one block bins them."""
    rng = np.random.default_rng(1)
    device = Device(1)
    rows = device_graph.DeviceGraph(local_graph(N, *rng.integers(0, N, (2, 4000))), device, renumber=False).out
    tiles = propagation_blocking.EdgeTiles(rows, N, device)
    apart = np.searchsorted(rows.offsets, np.arange(0, 4000, control.TILED_EDGES), side="right") - 1
    for first, count, *_ in tiles.pieces.tolist():
        chunk = np.searchsorted(apart, tiles.sources[first : first + count], side="right")
        assert (np.diff(chunk.astype(np.int64)) >= -1).all()  # a row may span two chunks


@pytest.mark.parametrize("width", ["float64", "float32"])
@pytest.mark.parametrize(("policy", "ranks"), [("oec", 1), ("oec", 3), ("cvc", 4), ("iec", 2)])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("hosts", [True, False])
def test_pagerank(policy, ranks, width, directed, hosts, small, launched):
    graph, program = skewed(directed), RANK.retype(rank=width, share=width, inflow=width)
    options, src_dst = GpuPlan(renumber=True, host_rounds=hosts), graph.arcs()[:2]
    (results,) = run(ranks, graph, [program], policy=policy, options=options)
    assert "pull_tiles" in launched
    assert not {"pull", "pull_hubs"} & {*launched}
    assert ("edges turned around" in launched) == (ranks > 1 and not directed)
    oracle = oracles.pagerank(N, *src_dst, rounds=7)
    np.testing.assert_allclose(field(results, "rank", N), oracle, rtol=1e-12 if width == "float64" else 2e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", ["int32", "float64", "int64", "float32", "uint32"])
@pytest.mark.parametrize(("policy", "ranks", "directed"), [
    ("oec", 1, True), ("oec", 3, False), ("iec", 2, True), ("cvc", 4, True), ("hvc,threshold=4", 3, True),
])  # fmt: skip
@pytest.mark.parametrize("width", ["float64", "float32"])
def test_ranks_by_weights_lie_in_bins(policy, ranks, directed, width, weight, small, launched):
    graph, program = skewed(directed), WeightedPageRank(tol=0.0, max_iter=7)
    graph.weights = np.random.default_rng(2).integers(0, 256, len(graph.src)).astype(weight)

    def give_sums(context):
        run = context.run
        context.run = lambda program: run(program, {"out_weight": out_weights(context.local, context.comm)})

    program = program.retype(rank=width, share=width, inflow=width)
    options = GpuPlan(renumber=True)
    (results,) = run(ranks, graph, [program], policy=policy, options=options, wrapped=give_sums)
    assert "pull_tiles" in launched
    assert not {"pull", "pull_hubs"} & {*launched}
    src, dst, weights = graph.arcs()
    oracle = oracles.pagerank(N, src, dst, weights=weights, rounds=7)
    np.testing.assert_allclose(field(results, "rank", N), oracle, rtol=1e-12 if width == "float64" else 4e-6)


def weighed(values, weights, mutant=None):
    """Return sums of values times weights, and whether bins were used."""
    graph = skewed()
    graph.weights = weights
    (results,) = run(1, graph, [Weighed()], options=GpuPlan(renumber=True), wrapped=begin_with(values), mutant=mutant)
    src, dst, weights = graph.arcs()
    terms = values[src] * weights
    return field(results, "found", N), np.array([math.fsum(terms[dst == v]) for v in range(N)])


@pytest.mark.parametrize(("least", "most", "dtype"), [(0, 255, "uint8"), (1, 256, "int32"), (-1, 9, "int32")])
def test_integers_take_a_byte_in_bins_if_all_fit(least, most, dtype, small):
    rng = np.random.default_rng(most)
    src, dst = rng.integers(0, N, (2, 900))
    weights = np.append(rng.integers(least, most, 898), (least, most)).astype("int32")
    device = Device()
    rows = device_graph.DeviceGraph(local_graph(N, src, dst, weights), device, renumber=False).out
    tiles = propagation_blocking.EdgeTiles(rows, N, device)
    edges = []
    for first, count, tile, _ in tiles.pieces.tolist():
        piece = slice(first, first + count)
        edges += zip(
            tiles.sources[piece], tile * control.TILE + tiles.targets[piece], tiles.weights[piece], strict=True
        )
    assert tiles.weights.dtype == dtype
    assert sorted(edges) == sorted(zip(src, dst, weights, strict=True))


def bits(weight, mutant=None):
    """Return sums of float32 values times the same small integers, given in this dtype."""
    rng = np.random.default_rng(6)
    graph, program = skewed(), Weighed().retype(**dict.fromkeys(("start", "value", "total", "found"), "float32"))
    graph.weights = rng.integers(0, 256, 1500).astype(weight)
    start = begin_with(rng.normal(size=N).astype("float32"))
    (results,) = run(1, graph, [program], options=GpuPlan(renumber=True), wrapped=start, mutant=mutant)
    return field(results, "found", N)


def check_bytes(mutant):
    """Check that weights of a byte, multiplied in float32, give the bits of a product in float64 that is rounded."""
    np.testing.assert_array_equal(bits("int32", mutant), bits("float64"))


@pytest.mark.parametrize("heavy", [1e12, 1e-12])
def test_weights_of_both_signs_and_any_size(heavy, small):
    rng = np.random.default_rng(5)
    sums, wanted = weighed(rng.normal(size=N), heavy * rng.normal(size=1500))
    np.testing.assert_allclose(sums, wanted, rtol=1e-9, atol=1e-12 * heavy)


def test_sums_have_the_same_bits_in_whatever_order_blocks_take_pieces(small):
    answers = {}
    for blocks in (1, 2, 5):
        (results,) = run(1, skewed(), [RANK], options=GpuPlan(renumber=True), blocks=blocks)
        answers[blocks] = field(results, "rank", N).tobytes()
    assert len(set(answers.values())) == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("spread", [0, 12, 200])
@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize(("ranks", "directed"), [(1, True), (3, True), (3, False)])
def test_sums_differ_from_exact_ones_by_no_more_than_is_said(spread, rounds, ranks, directed, small):
    """Check the error bound for terms of both signs and many magnitudes; later rounds have far smaller ones."""
    rng = np.random.default_rng(spread)
    graph = skewed(directed)
    values = rng.normal(size=N) * 2.0 ** rng.integers(-spread, spread + 1, N)
    program = Passed(rounds=rounds, shrink=2.0**-40)
    (results,) = run(ranks, graph, [program], options=GpuPlan(renumber=True), wrapped=begin_with(values))
    scale = 2.0 ** (-40 * (rounds - 1))
    sums, degrees = exact(graph, values)
    most = abs(values).max() * degrees.max() * 2.0**-58  # the bound may count a row in several pieces twice
    error = abs(field(results, "found", N) - sums * scale)
    assert (error <= (degrees * most + abs(sums) * 2.0**-52) * scale).all()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_sums_of_what_is_not_finite(bad, small):
    graph = skewed()
    src, dst, _ = graph.arcs()
    values = np.linspace(-1.0, 2.0, N)
    values[src[0]] = bad
    (results,) = run(1, graph, [Passed()], options=GpuPlan(renumber=True), wrapped=begin_with(values))
    sums, _ = exact(graph, np.where(np.isfinite(values), values, 0.0))
    hit = np.isin(np.arange(N), dst[src == src[0]])
    np.testing.assert_allclose(field(results, "found", N), np.where(hit, bad, sums), rtol=1e-12, atol=1e-12)


def test_values_of_sinks_do_not_take_bits_from_others(small):
    graph = skewed()
    src, dst, _ = graph.arcs()
    values = np.full(N, 1e-3)
    sinks = np.setdiff1d(np.arange(N), src)
    assert sinks.size
    values[sinks] = 1e60
    (results,) = run(1, graph, [Passed()], options=GpuPlan(renumber=True), wrapped=begin_with(values))
    np.testing.assert_allclose(field(results, "found", N), 1e-3 * np.bincount(dst, minlength=N), rtol=1e-13)


@pytest.mark.exhaustive
def test_without_room_edges_are_pulled_as_they_lie(small, launched):
    src, dst, _ = skewed(False).arcs()
    graph = dgraph.Graph.from_edges(src, dst, n=N, directed=False, comm=SerialComm())

    def ran(room):
        launched.clear()
        backend = CudaBackend(0, 1, True, GpuPlan(renumber=True), Device(memory=room))
        result = flat_run("pagerank", graph, backend=backend, tol=0, max_iter=5)
        return "pull_tiles" in launched, backend.planned, result.columns["pagerank"]

    tiled, planned, ranks = ran(1 << 30)
    assert tiled
    assert ran(planned)[0]
    less, _, same = ran(planned - 1)
    assert not less
    np.testing.assert_allclose(same, ranks, rtol=1e-12)


def test_which_programs_sum_what_sources_have():
    able = {p: sums_source_floats(trace(p, "int32")) for p in (
        RANK, WeightedPageRank(), Passed(), Weighed(), Halved(), Squared(), Divided(), Wanted(), Parents(source=0)
    )}  # fmt: skip
    assert [type(p) for p, yes in able.items() if yes] == [PageRank, WeightedPageRank, Passed, Weighed, Halved]


def test_many_edges_a_vertex_lie_by_tiles_though_no_degree_stands_out(small, launched):
    rng = np.random.default_rng(3)
    for degree, tiled in ((7, False), (9, True)):
        launched.clear()
        src, dst = np.divmod(rng.choice(N * N, degree * N, replace=False), N)
        graph = simulated.Graph(N, src, dst)
        (results,) = run(1, graph, [RANK], options=GpuPlan())
        assert ("pull_tiles" in launched) == tiled
        oracle = oracles.pagerank(N, *graph.arcs()[:2], rounds=7)
        np.testing.assert_allclose(field(results, "rank", N), oracle, rtol=1e-12)


@pytest.mark.parametrize("options", [
    GpuPlan(renumber=False), GpuPlan(renumber=True, record=True), GpuPlan("twc", renumber=True),
])  # fmt: skip
def test_other_pulls_need_no_tiles(options, launched):
    run(1, skewed(), [RANK], options=options)
    assert launched
    assert "pull_tiles" not in launched


def check_ranks(mutant):
    graph = skewed()
    (results,) = run(1, graph, [RANK], options=GpuPlan(renumber=True), mutant=mutant)
    np.testing.assert_allclose(field(results, "rank", N), oracles.pagerank(N, *graph.arcs()[:2], rounds=7), rtol=1e-12)


def check_sums(mutant):
    graph, values = skewed(), 1.0 + np.arange(N) / N
    program = Passed(rounds=3, shrink=2.0**-40)
    (results,) = run(1, graph, [program], options=GpuPlan(renumber=True), wrapped=begin_with(values), mutant=mutant)
    np.testing.assert_allclose(field(results, "found", N), exact(graph, values)[0] * 2.0**-80, rtol=1e-13)


def check_mirrors(mutant):
    """Check sums in which one rank's terms are far larger than the other's."""
    graph, values = skewed(False), np.ones(N)
    values[0] = 2.0**12
    options = {"options": GpuPlan(renumber=True), "wrapped": begin_with(values), "mutant": mutant}
    (results,) = run(2, graph, [Passed()], **options)
    np.testing.assert_allclose(field(results, "found", N), exact(graph, values)[0], rtol=1e-9)


def check_weighed(mutant):
    rng = np.random.default_rng(5)
    sums, wanted = weighed(1.0 + rng.random(N), 1e15 * (1.0 + rng.random(1500)), mutant)
    np.testing.assert_allclose(sums, wanted, rtol=1e-9)


MUTANTS = {
    "weights are not heeded in the largest term": (
        check_weighed,
        "term_of(G, (u32)u, 1) * heaviest",
        "term_of(G, (u32)u, 1)",
    ),
    "bytes of other edges": (
        check_bytes,
        "x[k] = k < left ? term_of(G, u.of[k], w.of[k])",
        "x[k] = k < left ? term_of(G, u.of[k], w.of[k ^ 1])",
    ),
    "a product is truncated": (
        check_bytes,
        "const float x2 = x0 * x1;",
        "const float x2 = value_of(bits_of((double)x0 * x1) & ~0x1fffffffull);",
    ),
    "weights of other edges": (check_weighed, "words[k + i] = some.of[i];", "words[k + i] = some.of[i ^ 2];"),
    "carries are lost": (check_sums, "+ (before + low < before)", ""),
    "parts of a tile overwrite each other": (check_ranks, "else atomicAdd(shared + i, sum);", "else shared[i] = sum;"),
    "parts are not emptied": (check_ranks, "env.tile_parts[i] = 0;", ""),
    "blocks' sums are not": (check_ranks, "i < 2 * TILE; i += TILE_BLOCK) sums[i] = 0;\n}", "i < 0; i++) ;\n}"),
    "the largest terms are those of all rounds": (check_sums, "if (of != OF_MIRRORS) env", "if (0) env"),
    "pieces are claimed once": (check_ranks, "env.tile_words[CLAIMED + (of == OF_MIRRORS)] = 0;", ""),
    "mirrors are not heeded": (check_mirrors, "|| (env.neighbours_read && u >= (u64)env.masters)", ""),
    "rows' lengths are not heeded": (check_sums, "(32 - __clz(bound))", "0"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_give_other_sums(name, small):
    check, *mutant = MUTANTS[name]
    check(None)
    with pytest.raises(AssertionError):
        check(tuple(mutant))
