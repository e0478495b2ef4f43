"""Graphs that emulated GPUs generate and build: rows, weights, ids and facts equal those of the host's build.

Runs on these graphs are tested, too.
"""

import tracemalloc

import emulated
import numpy as np
import oracles
import pytest
from building_checks import built, check_parts
from devices import device_of, on_devices
from emulated import Device, needs_compiler
from flat_run import flat_run
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from simulated import on_ranks, succeed

from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.pagerank import Pagerank
from dgraph.algorithms.scc import Scc
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build import LoadedGraph, build_memory
from dgraph.backend.cuda.transports import Links
from dgraph.comm import SerialComm
from dgraph.engine.rounds.context import Context
from dgraph.errors import UsageError
from dgraph.graph.generate import GENERATORS
from dgraph.graph.generators.spec import parse
from dgraph.graph.local import LocalGraph
from dgraph.graph.stored_graph import Graph
from dgraph.report import Progress, Record

FAR = 2**31 - 1
pytestmark = [pytest.mark.mpi_skip, needs_compiler]

ALONE = [
    ("rmat:7", {}),
    ("rmat:7", {"weights": "1..9", "directed": False}),
    ("rmat:6,permute=0,symmetric", {"keep_loops": True, "keep_parallel": True, "weights": "hash", "seed": 4}),
    ("rmat-alb:6", {}),
    ("gtgraph:6,symmetric", {"weights": "0.5..2.0"}),
    ("kron:6,noise=0.05", {"weights": "dimacs", "keep_loops": True}),
    ("uniform:7", {"keep_loops": True, "weights": "unit"}),
    ("grid:5x6,torus", {"weights": "-5000000000..7000000000", "directed": True}),
    ("road:9x11", {}), ("road:12x1", {}), ("roadnet:9x11", {"directed": True}), ("roadnet:20x2", {}),
    ("bipartite:9x30", {}), ("star:50", {}), ("path:1", {}), ("path:30", {}), ("complete:40", {}),
    ("tree:40,arity=3", {}), ("smallworld:60,k=4", {}),
    ("rmat:0,edge_factor=1", {}),
]  # fmt: skip


def test_every_generator_is_built():
    assert {parse(spec, GENERATORS)[0].name for spec, _ in ALONE} == set(GENERATORS)


def check_alone(graph, spec, options):
    want = Graph.load(spec, comm=SerialComm(), **options)
    local = next(iter(graph.partitions.values())).local
    np.testing.assert_array_equal(local.out.offsets, want.block.offsets)
    np.testing.assert_array_equal(local.out.neighbours, want.block.targets)
    np.testing.assert_array_equal(local.out_degree, np.diff(want.block.offsets))
    assert local.out.weight_type == want.weight_type
    if want.weight_type is not None:
        np.testing.assert_array_equal(local.out.weights, want.block.weights)
        low, high, total = local.out.weight_range
        if want.arcs:
            assert (low, high) == (want.block.weights.min(), want.block.weights.max())
        assert total == pytest.approx(want.block.weights.sum())
    check_known(graph, want)


def check_known(graph, want):
    assert vars(graph.facts) == vars(want.facts)
    for name in ("n", "m", "arcs", "directed", "weight_type"):
        assert getattr(graph, name) == getattr(want, name)
    assert graph.hub() == want.hub()
    assert graph.fingerprint() == want.fingerprint()


@on_devices
@pytest.mark.parametrize(("spec", "options"), ALONE)
def test_one_gpu_builds_what_the_host_builds(device, spec, options):
    check_alone(built(spec, device=device_of(device), **options), spec, options)


@on_devices
@pytest.mark.parametrize("least", [7, 50])
@pytest.mark.parametrize("spec", ["rmat:7", "rmat-alb:6", "star:300", "grid:9x9"])
def test_rows_are_sorted_piece_by_piece(device, spec, least, monkeypatch):
    """Check pieces shorter than a row, and than the hub's row, with and without renumbering."""
    monkeypatch.setattr(build_memory, "LEAST", least)
    monkeypatch.setattr("dgraph.backend.cuda.graph_build.degrees.SOME", least)
    for renumber in (True, False):
        graph = built(spec, renumber=renumber, keep_loops=True, device=device_of(device))
        check_alone(graph, spec, {"keep_loops": True})


@pytest.mark.parametrize("mutant", [
    ("again = !dropped && key ==", "again = false && key =="),
    ("loops += u == v", "loops += 0"),
    ("env.to + (at ? env.kept[at - 1] : 0)", "env.to + (at ? env.kept[at] : 0)"),
    ("= numbered(position(v))", "= position(v)"),
])  # fmt: skip
def test_mutants_fail(mutant):
    with pytest.raises(AssertionError):
        check_alone(built("rmat:6", renumber=True, device=Device(mutant=mutant)), "rmat:6", {})


@pytest.mark.parametrize(("spec", "ranks", "policy", "options"), [
    ("rmat:7", 3, "oec", {"weights": "1..9"}),
    ("rmat:7", 2, "iec", {"keep_parallel": True}),
    ("rmat:7,symmetric", 4, "cvc", {"weights": "1..9", "keep_loops": True}),
    ("rmat:7", 4, "hvc,threshold=20", {"weights": "0.5..2.0"}),
    ("rmat:7", 3, "hash", {}),
    ("rmat-alb:6", 3, "auto", {}),
    ("path:2", 4, "cvc", {}),
    ("path:2", 4, "oec", {}),
    ("road:9x11", 2, "auto", {}),
])  # fmt: skip
def test_gpus_build_what_the_host_builds(spec, ranks, policy, options):
    parts = succeed(ranks, lambda comm: (graph := built(spec, comm, policy, **options), graph.partitions[policy].local))
    check_parts(parts, Graph.load(spec, comm=SerialComm(), **options))


@pytest.mark.parametrize("policy", ["oec", "iec", "cvc", "auto", "hvc,threshold=20"])
def test_a_sample_shows_where_to_cut(policy, monkeypatch):
    """Check that blocks cut by sampled degrees are about as even as those cut by all degrees."""

    def arcs(sample):
        monkeypatch.setattr("dgraph.backend.cuda.graph_build.ownership.SAMPLE", sample)
        parts = succeed(
            3, lambda comm: (graph := built("rmat:8", comm, policy), graph.partitions[policy].local.out.arcs)
        )
        assert len({graph._fingerprint for graph, _ in parts}) == 1
        return parts[0][0]._fingerprint, np.array([here for _, here in parts])

    (want, even), (counted, by_sample) = arcs(1 << 26), arcs(256)
    assert want == counted
    assert by_sample.sum() == even.sum()
    assert by_sample.max() < 1.3 * even.max()
    if policy.startswith("hvc"):
        np.testing.assert_array_equal(by_sample, even)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "spec", "options"), [
    ("bfs", "rmat:7", {"source": 3}), ("sssp", "rmat:6,symmetric", {"source": 3, "weights": "1..9"}),
    ("cc", "rmat:6", {}), ("scc", "rmat:6,edge_factor=3", {}), ("pagerank", "uniform:6", {}),
    ("pagerank", "rmat:6", {"weights": "0.5..2.0"}),
])  # fmt: skip
def test_runs_give_the_same_answers(name, spec, options):
    keywords = {"comm": SerialComm(), **options}
    result = flat_run(name, spec, backend=emulated.backend(), build="device", validate=True, **keywords)
    want = flat_run(name, spec, backend="cpu", **keywords)
    for column, values in want.columns.items():
        np.testing.assert_allclose(result.columns[column], values, rtol=1e-6 if name == "pagerank" else 0)
    assert result.report["graph"] == want.report["graph"]


@pytest.mark.parametrize(("policy", "ranks"), [("oec", 3), ("cvc", 4), ("hvc,threshold=9", 2)])
def test_gpus_run_on_what_they_built(policy, ranks):
    """Check levels, distances and ranks between emulated GPUs, without copying rows to a host."""
    spec, options = "rmat:7", {"weights": "1..9"}

    def work(comm):
        graph = built(spec, comm, policy, **options)
        backend = CudaBackend(0, 1, False, GpuPlan(), graph.built_on)
        backend.links = Links(comm.duplicate(), {peer: "p2p" for peer in range(ranks) if peer != comm.rank})
        local = graph.partitions[policy].local
        context = Context(local, comm, backend, Record(comm, ["test"]), Progress())
        values = [context.run(Levels(source=3))["level"], context.run(Distances(source=3).retype(dist="int32"))["dist"]]
        values.append(Pagerank(tol=0, max_iter=9).run(context).columns["pagerank"]())
        assert not {"_ends", "offsets"} & vars(local.out).keys(), "rows were copied to the host"
        return local.gids[: local.masters], values

    src, dst, weights = (
        (want := Graph.load(spec, comm=SerialComm(), **options).block).sources(),
        want.targets,
        want.weights,
    )
    levels = oracles.bfs(want.n, src, dst, 3)
    distances = oracles.sssp(want.n, src, dst, weights, 3)
    shares = oracles.pagerank(want.n, src, dst, weights=weights, rounds=9)
    for gids, (level, dist, share) in succeed(ranks, work):
        np.testing.assert_array_equal(np.where(level == FAR, -1, level), levels[gids])
        np.testing.assert_array_equal(dist, [FAR if distances[gid] is None else distances[gid] for gid in gids])
        np.testing.assert_allclose(share, shares[gids], rtol=1e-12)


@pytest.mark.parametrize(("policy", "ranks"), [("cvc", 4), ("oec", 3), ("iec", 1)])
def test_reversed_edges_of_what_gpus_built(policy, ranks):
    """Check components and in-degrees between emulated GPUs; rows are not copied to a host."""
    spec = "rmat:7,edge_factor=3"

    def work(comm):
        graph = built(spec, comm, policy)
        backend = CudaBackend(0, 1, ranks == 1, GpuPlan(), graph.built_on)
        if ranks > 1:
            backend.links = Links(comm.duplicate(), {peer: "p2p" for peer in range(ranks) if peer != comm.rank})
        local = graph.partitions[policy].local
        context = Context(local, comm, backend, Record(comm, ["test"]), Progress())
        labels = Scc().run(context).columns["labels"]
        labels_of_rank = labels() if callable(labels) else labels
        for rows in (local, context.reversed):
            assert not {"_ends", "offsets"} & vars(rows.out).keys(), "rows were copied to the host"
        assert context.reversed.out.built.neighbours is backend.graph_of(local).incoming.neighbours
        return local.gids, local.masters, labels_of_rank, context.reversed.out_degree

    want = Graph.load(spec, comm=SerialComm()).block
    matrix = csr_matrix((np.ones(want.arcs), want.targets, want.offsets), shape=(want.n, want.n))
    _, labels = connected_components(matrix, connection="strong")
    _, first = np.unique(labels, return_index=True)
    for gids, masters, labels_of_rank, degree in succeed(ranks, work):
        np.testing.assert_array_equal(labels_of_rank, first[labels][gids[:masters]])
        np.testing.assert_array_equal(degree, np.bincount(want.targets, minlength=want.n)[gids])


@pytest.mark.exhaustive
def test_offsets_and_gids_of_64_bits(monkeypatch):
    """Check 64-bit types, as for 2**31 arcs per rank, 2**32 vertices, or a vertex with 2**31 edges."""
    monkeypatch.setattr("dgraph.backend.cuda.graph_build.degrees.NARROW", 1)
    for module in ("graph_build.build_rows", "device_graph.device_graph"):
        monkeypatch.setattr(f"dgraph.backend.cuda.{module}.WIDE", 1)
    for module in ("build_kernels", "vertices"):
        monkeypatch.setattr(
            f"dgraph.backend.cuda.graph_build.{module}.gid_dtype", lambda n: (np.dtype(np.int64), "i64")
        )
    graph = built("rmat:6", weights="1..9", renumber=False)
    check_alone(graph, "rmat:6", {"weights": "1..9"})
    local = graph.partitions["auto"].local
    assert local.extent.wide
    assert local.extent.ids == local.built.offsets.itemsize == 8
    result = flat_run("bfs", graph, source=3, backend=CudaBackend(0, 1, True, GpuPlan(), graph.built_on), validate=True)
    want = flat_run("bfs", "rmat:6", source=3, backend="cpu", comm=SerialComm())
    np.testing.assert_array_equal(result.columns["predecessor"], want.columns["predecessor"])
    several = succeed(4, lambda comm: built("rmat:6", comm, "cvc"))
    assert {graph_built._fingerprint for graph_built in several} == {want.report["graph"]["fingerprint"]}
    assert {graph_built.facts.largest_degree for graph_built in several} == {want.report["graph"]["largest_degree"]}


def test_the_peak_is_planned(monkeypatch):
    """Compare planned and measured peaks; NumPy, in CuPy's place, needs less for sorting."""
    monkeypatch.setattr(build_memory, "LEAST", 1 << 10)
    for weights, renumber in ((None, False), ("1..9", False), (None, True)):
        device = Device()
        built("uniform:9,edge_factor=40", renumber=renumber, device=device, weights=weights)  # compiles
        tracemalloc.start()
        try:
            graph = built("uniform:9,edge_factor=40", renumber=renumber, device=device, weights=weights)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        planned = graph.partitions["auto"].local.planned
        assert 0.6 * planned < peak < 1.05 * planned + 40_000


@pytest.mark.parametrize("weights", [None, "1..9"])
@pytest.mark.parametrize("factor", [2, 8])
def test_the_peak_of_wide_offsets_is_planned(weights, factor, monkeypatch):
    """Check that arrays derived from finished rows are made piece by piece, so they do not raise the peak."""
    for name in ("graph_build.build_rows", "graph_build.build_memory", "device_graph.device_graph"):
        monkeypatch.setattr(f"dgraph.backend.cuda.{name}.WIDE", 1)
    monkeypatch.setattr("dgraph.backend.cuda.graph_build.degrees.SOME", 1000)
    monkeypatch.setattr(build_memory, "LEAST", 1 << 10)
    spec, device = f"uniform:15,edge_factor={factor}", Device()
    built(spec, renumber=False, weights=weights, device=device)  # compiles
    tracemalloc.start()
    try:
        graph = built(spec, renumber=False, weights=weights, device=device)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.85 * graph.partitions["auto"].local.planned < peak < graph.partitions["auto"].local.planned + 20_000


@pytest.mark.parametrize(("scale", "ranks", "weight", "renumbered"), [
    (22, 1, 0, True), (24, 1, 4, True), (30, 1, 0, False), (29, 1, 4, True), (26, 2, 0, False), (30, 4, 8, False),
    (26, 2, 0, True), (30, 4, 0, True), (30, 4, 8, True), (31, 8, 4, True),
])  # fmt: skip
def test_at_most_half_as_much_again_as_what_stays(scale, ranks, weight, renumbered):
    """Check that building needs at most 1.5 times the finished graph.

    The graph is R-MAT with 16 edges per vertex, and every rank has a copy of every vertex.
    """
    n = 1 << scale
    arcs, vertices = 16 * n // ranks, n
    stays = (4 + weight) * arcs + (8 if arcs >= 2**31 else 4) * vertices + (16 if renumbered else 8) * vertices
    sizes = {"ids": 4, "weight": weight, "renumbered": renumbered, "group": n // ranks}
    assert build_memory.building(n, vertices, arcs, ranks, **sizes) <= 1.5 * stays


@pytest.mark.parametrize(("spec", "policy", "options", "told"), [
    ("rmat:5", "metis", {}, "must see a graph before it places it"),
    ("rmat:5", "oce", {}, "unknown policy"),
    ("rmat:5", "oec", {"order": "degree"}, "order= needs the edges on the host"),
    ("web.txt", "oec", {}, "GPUs build generated graphs"),
    ("rmat:12", "oec", {}, r"building [\d,]+ arcs needs [\d,]+ bytes of GPU memory, and 200,000 are free"),
])  # fmt: skip
def test_what_cannot_be_is_refused_on_every_rank(spec, policy, options, told):
    """Check that both ranks refuse before anything large is allocated."""
    errors = on_ranks(2, lambda comm: built(spec, comm, policy, device=Device(memory=200_000), **options))
    for error in errors:
        with pytest.raises(UsageError, match=told):
            raise error


def test_rows_alone_may_be_too_many():
    with pytest.raises(UsageError, match=r"building 4,194,304 rows needs [\d,]+ bytes"):
        built("rmat:22", device=Device(memory=1 << 20))


@pytest.mark.parametrize("renumber", [True, False])
def test_rows_are_copied_to_the_host_where_something_asks(renumber, monkeypatch):
    monkeypatch.setattr("dgraph.backend.cuda.graph_build.built_local.SOME", 10)
    monkeypatch.setattr("dgraph.backend.cuda.graph_build.built_graph.load", None)
    options = {"weights": "1..9", "keep_loops": True}
    graph = built("rmat:6,symmetric", renumber=renumber, **options)
    check_blocks([graph.block], "rmat:6,symmetric", options)
    assert not {"_ends", "offsets"} & vars(graph.partitions["auto"].local.out).keys()
    if not renumber:
        check_blocks(succeed(3, lambda comm: built("rmat:6", comm, **options).block), "rmat:6", options)


@pytest.mark.parametrize("policy", ["oec", "cvc", "hash"])
@pytest.mark.parametrize("renumber", [True, False])
def test_a_vertex_is_found_by_the_gpu(policy, renumber, monkeypatch):
    """Compare look-ups with the host's, and check that ids and degrees are not copied to the host for them."""
    monkeypatch.setattr("dgraph.backend.cuda.graph_build.built_local.SOME", 10)
    locals_ = succeed(3, lambda comm: built("rmat:6", comm, policy, renumber).partitions[policy].local)
    for local in locals_:
        asked = [local.lid(vertex) for vertex in (-1, *range(local.n), local.n, 1 << 40)]
        degrees = [local.degree_of(lid) for lid in range(local.size)]
        largest = local.largest_degree
        assert not {"gids", "out_degree"} & vars(local).keys()
        assert local.ascending == LocalGraph.ascending.func(local) == local.masters
        assert asked == [LocalGraph.lid(local, vertex) for vertex in (-1, *range(local.n), local.n, 1 << 40)]
        assert (degrees, largest) == (local.out_degree.tolist(), max(local.out_degree))


def test_rows_are_made_on_the_host_where_ranks_hold_no_blocks():
    check_blocks(succeed(2, lambda comm: built("rmat:6", comm, "cvc").block), "rmat:6", {})


def check_blocks(blocks, spec, options):
    want = Graph.load(spec, comm=SerialComm(), **options).block
    assert [block.first for block in blocks] == [sum(b.rows for b in blocks[:k]) for k in range(len(blocks))]
    for name in ("n", "m", "arcs", "directed"):
        assert {getattr(block, name) for block in blocks} == {getattr(want, name)}
    np.testing.assert_array_equal(np.concatenate([np.diff(block.offsets) for block in blocks]), np.diff(want.offsets))
    np.testing.assert_array_equal(np.concatenate([block.targets for block in blocks]), want.targets)
    assert blocks[0].targets.dtype == want.targets.dtype
    if want.weights is not None:
        np.testing.assert_array_equal(np.concatenate([block.weights for block in blocks]), want.weights)


@pytest.mark.parametrize("spec", ["rmat:6", "rmat-alb:6"])
def test_an_undirected_graph_of_a_directed_one(spec):
    """Check that an edge exists where either arc does, merged; the directed graph is generated again on demand."""
    graph, want = built(spec), Graph.load(spec, comm=SerialComm())
    both = graph.undirected()
    check_known(both, want.undirected())
    np.testing.assert_array_equal(both.block.targets, want.undirected().block.targets)
    assert not graph.partitions, "the rows of both ways are not held beside those of one"
    assert graph.hub() == want.hub()
    result = flat_run("bfs", graph, source=3, backend=CudaBackend(0, 1, True, GpuPlan(), graph.built_on))
    assert result.report["graph"]["fingerprint"] == want.fingerprint()


@pytest.mark.parametrize(
    ("spec", "options"), [("rmat:5", {"weights": "1..9"}), ("uniform:6", {"weights": "0.5..2.0", "keep_loops": True})]
)
def test_an_undirected_graph_with_two_weights_a_pair(spec, options):
    """Check that the smaller weight counts, and that the GPU makes the rows of its own."""
    both = built(spec, **options).undirected()
    assert isinstance(both, LoadedGraph)
    assert both.fingerprint() == Graph.load(spec, comm=SerialComm(), **options).undirected().fingerprint()
