"""Searches from many sources in one pass on any number of ranks, against one search after the other."""

from types import SimpleNamespace

import emulated
import gpu_ranks
import networkx as nx
import numpy as np
import oracles
import pytest
import scipy.sparse.csgraph
import simulated
from battery import CASES
from flat_run import flat_run
from test_battery import combinations, equal, graph_of, solve

import dgraph
from dgraph._support.compiled import plain
from dgraph.algorithms.bfs_programs import Levels
from dgraph.algorithms.many_sources import reach_kernel
from dgraph.algorithms.many_sources.gpu import reach_cuda, source_rows
from dgraph.algorithms.many_sources.reach_programs import ReachByPrograms
from dgraph.algorithms.many_sources.results import BITS, LEVELS
from dgraph.comm import SerialComm, world
from dgraph.errors import Cancelled, UsageError
from dgraph.program import MIN, Field, Program, TraceError, bit_count
from dgraph.report import Progress
from dgraph.result.result import UNREACHED


def hops(name, source):
    """Return the oracle's column of one source."""
    n, src, dst, _ = CASES[name].arcs()
    hops = np.array(oracles.bfs(n, src, dst, int(CASES[name].number(source))), np.int64)
    return np.where(hops < 0, UNREACHED, hops)


@pytest.mark.mpi
@pytest.mark.parametrize("name", CASES)
def test_hops(name):
    sources = CASES[name].vertices[:: max(1, CASES[name].vertices.size // 7)].tolist()[::-1]
    wanted = [hops(name, source) for source in sources]
    for chosen in combinations(name)[:2]:
        result, here = solve("multi_source_bfs", name, combination=chosen, sources=sources)
        assert list(result.columns) == ["vertex", *(f"distance_{source}" for source in sources)]
        for source, column in zip(sources, wanted, strict=True):
            equal(result.columns[f"distance_{source}"], column, here, f"from {source} {chosen}")
        result, here = solve("reachability", name, combination=chosen, sources=sources)
        assert list(result.columns) == ["vertex", *(f"reached_{source}" for source in sources)]
        for source, column in zip(sources, wanted, strict=True):
            equal(result.columns[f"reached_{source}"], column != UNREACHED, here, f"from {source} {chosen}")


@pytest.mark.mpi
def test_more_sources_than_bits_of_a_pass():
    """1,500 sources take three passes, on as many threads as there are; some limits cut off the deepest levels."""
    n, rng, comm = 1500, np.random.default_rng(8), world()
    src, dst = rng.integers(0, n, (2, 2 * n))
    graph = dgraph.Graph.from_edges(src[comm.rank :: comm.size], dst[comm.rank :: comm.size], n=n, comm=comm)
    G = nx.DiGraph(zip(src.tolist(), dst.tolist(), strict=True))
    (whole, short), (all_bits, few_bits) = (
        [search(graph, k=n, depth_limit=limit) for limit in (None, 3)]
        for search in (dgraph.multi_source_bfs, dgraph.reachability)
    )
    assert whole.summary["sources"] == n
    assert (all_bits.summary, few_bits.summary) == (whole.summary, short.summary)
    vertex = whole.columns["vertex"]
    for source in (0, 511, 512, 1023, 1024, n - 1):
        lengths = nx.single_source_shortest_path_length(G, source) if source in G else {source: 0}
        wanted = np.array([lengths.get(v, UNREACHED) for v in vertex.tolist()])
        with comm.together():
            np.testing.assert_array_equal(whole.columns[f"distance_{source}"], wanted)
            np.testing.assert_array_equal(short.columns[f"distance_{source}"], np.where(wanted <= 3, wanted, UNREACHED))
            np.testing.assert_array_equal(all_bits.columns[f"reached_{source}"], wanted != UNREACHED)
            np.testing.assert_array_equal(few_bits.columns[f"reached_{source}"], wanted <= 3)
    assert short.summary["depth"] == 3


@pytest.mark.mpi_skip
def test_columns_have_the_names_of_vertices(tmp_path):
    (tmp_path / "edges.txt").write_text("ann bob\nbob cyd\ndan ann\n")
    graph = dgraph.Graph.load(tmp_path / "edges.txt", ids="string", comm=SerialComm())
    result = dgraph.multi_source_bfs(graph, sources=["dan", "bob"], validate=True)
    table = result.to_pandas().set_index("vertex")
    assert table["distance_dan"].to_dict() == {"ann": 1, "bob": 2, "cyd": 3, "dan": 0}
    assert table["distance_bob"].isna().to_dict() == {"ann": True, "bob": False, "cyd": False, "dan": True}


@pytest.mark.mpi_skip
def test_sources_are_vertices():
    graph = dgraph.Graph.load("path:5", comm=SerialComm())
    for sources, words in (([7], "source 7 is not a vertex"), ([1, 1], "1 is given twice"), ([True], "True is not")):
        with pytest.raises(UsageError, match=words):
            dgraph.multi_source_bfs(graph, sources=sources)
    with pytest.raises(UsageError, match="have no weights"):
        dgraph.multi_source_bfs(graph, sources={1: 0.5})


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("name", ["skewed", "long_path"])
def test_on_an_emulated_gpu(name, monkeypatch):
    """Two words of sources, and distances of more than eight binary digits."""
    monkeypatch.setattr(source_rows, "DENSE", 12)  # a level of all vertices takes the emulator long
    graph, vertices = graph_of(name, None), CASES[name].vertices
    sources = vertices[:: max(1, vertices.size // 70)][:70].tolist()
    for search in ("multi_source_bfs", "reachability"):
        on_cpu = dgraph.run(search, graph, sources=sources)
        result = flat_run(search, graph, backend=emulated.backend(), sources=sources)
        assert result.summary == on_cpu.summary
        for column in on_cpu.columns:
            np.testing.assert_array_equal(result.columns[column], on_cpu.columns[column])
    for settings in ({"k": 70}, {"k": 5, "wf_improved": False}):
        on_cpu = dgraph.closeness(graph, **settings)
        result = flat_run("closeness", graph, backend=emulated.backend(), **settings)
        assert result.summary == on_cpu.summary
        np.testing.assert_array_equal(result.columns["closeness"], on_cpu.columns["closeness"])


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("count", "dense", "long"), [(3, 0, 8), (200, 12, 8), (300, 1 << 40, 4096)])
def test_words_on_an_emulated_gpu(count, dense, long, directed, monkeypatch):
    """One to eight words a vertex; frontiers always small, by size, and always large; rows by blocks and by warps."""
    monkeypatch.setattr(source_rows, "DENSE", dense)
    for name, value in (("LONG", long), ("SHORT", long // 2), ("PART", long // 2)):
        monkeypatch.setattr(source_rows, name, value)
    monkeypatch.setattr(reach_cuda, "MOST_WORDS", 8 if count == 300 else 2)
    monkeypatch.setattr(ReachByPrograms, "solve", None)
    some = simulated.skewed(400, 1500, directed=True)
    graph = dgraph.Graph.from_edges(some.src, some.dst, n=400, directed=directed, comm=SerialComm())
    sources = np.random.default_rng(3).choice(400, count, replace=False).tolist()
    for name, settings in (
        ("multi_source_bfs", {"sources": sources}), ("reachability", {"sources": sources, "depth_limit": 2}),
        ("closeness", {"k": count}),
    ):  # fmt: skip
        on_cpu = dgraph.run(name, graph, **settings)
        result = flat_run(name, graph, backend=emulated.backend(), **settings)
        assert result.summary == on_cpu.summary
        for column in on_cpu.columns:
            np.testing.assert_array_equal(result.columns[column], on_cpu.columns[column])


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("policy", ["oec", "cvc"])
def test_full_words_on_emulated_gpus(policy):
    """Sets of all 64 sources of a program, and those that lack one or the last, on one GPU and between three."""
    graph = simulated.skewed(150, 4000, directed=True)
    sources, answers = np.arange(1, 151, 2)[:70], {}  # ids begin at 1

    def search(context):
        works = (SimpleNamespace(keep=keep, limit=None) for keep in (LEVELS, BITS))
        searches = (ReachByPrograms(None).solve(context, sources, work) for work in works)
        rows = (np.stack([column() for column in reached.columns], axis=1) for reached in searches)
        gids = context.local.gids[: context.local.masters].tolist()
        answers.update({v: row for v, *row in zip(gids, *rows, strict=True)})

    gpu_ranks.run(3, graph, [Levels(source=1)], policy=policy, wrapped=search)
    assert max(marks[:64].sum() for _, marks in answers.values()) == 64
    for i, source in enumerate(sources.tolist()):
        wanted = np.array(oracles.bfs(150, graph.src, graph.dst, source - 1))
        np.testing.assert_array_equal([answers[v][0][i] for v in range(150)], np.where(wanted < 0, UNREACHED, wanted))
        np.testing.assert_array_equal([answers[v][1][i] for v in range(150)], wanted >= 0)


class Bits(Program):
    """Number of set bits of each id less 2, and the least of the neighbours."""

    bits = Field("int64")
    least = Field("int64", reduce=MIN)

    def init(self, v, g):
        return {"bits": bit_count(v.id - 2), "active": True}

    def edge(self, u, e, v):
        return {"least": bit_count(u.id - 2)}

    def step(self, g):
        return {"done": True}


@pytest.mark.mpi_skip
@pytest.mark.parametrize("way", ["arrays", "compiled", pytest.param("emulated", marks=emulated.needs_compiler)])
def test_bit_count(way, monkeypatch):
    monkeypatch.setenv("DGRAPH_COMPILE", "always" if way == "compiled" else "")
    graph = dgraph.Graph.load("path:40", comm=SerialComm()).undirected()
    result = flat_run(Bits(), graph, **({"backend": emulated.backend()} if way == "emulated" else {}))
    bits = [((v - 2) % 2**64).bit_count() for v in range(40)]
    assert result.columns["bits"].tolist() == bits
    beside = [[u for u in (v - 1, v + 1) if 0 <= u < 40] for v in range(40)]
    assert result.columns["least"].tolist() == [min(bits[u] for u in neighbours) for neighbours in beside]
    with pytest.raises(TraceError, match="bit_count takes int values"):
        bit_count(0.5)


class Impatient(Progress):
    """Observer that cancels the run on one rank after its first pass."""

    passes = 0

    def round(self, number, vertices, edges=None, direction=""):
        self.passes = number

    def cancelled(self):
        return world().rank == 0


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["closeness", "bc"])
def test_a_run_is_cancelled_between_passes(name):
    observer = Impatient()
    with pytest.raises(Cancelled, match="cancelled after pass 1"):
        dgraph.run(name, dgraph.Graph.load("rmat:6", comm=world()), progress=observer)
    assert observer.passes >= 1


def taken(result):
    """Return how the sources were searched, as the report says."""
    (way,) = (choice["taken"] for choice in result.report["choices"] if choice["what"] == "sources")
    return way


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["plateaus", "rounded_sums", "huge_ids", "random_sparse"])
def test_distances_by_weights(name):
    """Every column is that of the oracle, by the shared searches and by sssp where memory is short."""
    case = CASES[name]
    n, src, dst, weights = case.arcs(case.dtypes[0])
    sources = case.vertices[:: max(1, case.vertices.size // 20)].tolist()[::-1]
    for chosen in combinations(name)[:2]:
        result, here = solve("multi_source_sssp", name, case.dtypes[0], chosen, sources=sources, validate=True)
        assert taken(result) == "shared out among ranks and threads"
        for source in sources:
            distances = oracles.sssp(n, src, dst, weights, int(case.number(source)))
            column = result.columns[f"distance_{source}"]
            far = UNREACHED if column.dtype.kind == "i" else np.inf
            equal(column, np.array([far if d is None else d for d in distances], column.dtype), here, source)


@pytest.mark.mpi_skip
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_lanes_against_scipy(dtype):
    """Full and partly filled rows of lanes: directed skewed graphs scan in-arcs, long ones have a far list."""
    rng = np.random.default_rng(5)
    for spec, most in (("rmat:9,edge_factor=8", 200), ("grid:40x12", 9)):
        bare = dgraph.Graph.load(spec, comm=SerialComm())
        src, dst = np.repeat(np.arange(bare.n), np.diff(bare.block.offsets)), np.asarray(bare.block.targets)
        weights = rng.integers(0, most * (10**9 if dtype == "int64" else 1), len(src)).astype(dtype)
        graph = dgraph.Graph.from_edges(src, dst, weights, n=bare.n, comm=SerialComm())
        matrix = scipy.sparse.csr_matrix((np.maximum(weights.astype(float), 1e-30), (src, dst)), (bare.n, bare.n))
        sources = rng.choice(bare.n, 70, replace=False).tolist()
        result = dgraph.multi_source_sssp(graph, sources=sources)
        wanted = scipy.sparse.csgraph.dijkstra(matrix, indices=sources)
        for source, row in zip(sources, wanted, strict=True):
            column = result.columns[f"distance_{source}"]
            distances = np.where(column == (UNREACHED if column.dtype.kind == "i" else np.inf), np.inf, column)
            np.testing.assert_allclose(distances, row, 1e-5 if dtype == "float32" else 1e-12, 1e-20)
        assert taken(result) == "shared out among ranks and threads"


@pytest.mark.mpi
def test_sssp_takes_over_where_memory_is_short(monkeypatch):
    results = []
    for free in (None, 1000):
        if free:
            monkeypatch.setattr("dgraph.engine.rounds.passes.free_memory", lambda: 1000)
        results.append([solve(name, "skewed", "int32", **more)[0] for name, more in (
            ("multi_source_sssp", {"k": 5}), ("closeness", {"weighted": True, "k": 9}),
        )])  # fmt: skip
    for by_lanes, result in zip(*results, strict=True):
        with world().together():
            assert taken(result) == "one after the other"
            for column in by_lanes.columns:
                np.testing.assert_array_equal(result.columns[column], by_lanes.columns[column])


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["plateaus", "rounded_sums", "skewed"])
def test_closeness_by_weights(name):
    case = CASES[name]
    n, src, dst, weights = case.arcs(case.dtypes[0])
    G = nx.DiGraph() if case.directed else nx.Graph()
    G.add_nodes_from(range(n))
    for u, v, weight in sorted(zip(src.tolist(), dst.tolist(), weights.astype(float).tolist(), strict=True))[::-1]:
        G.add_edge(u, v, weight=weight)
    wanted = nx.closeness_centrality(G, distance="weight")
    result, here = solve("closeness", name, case.dtypes[0], combinations(name)[0], weighted=True, validate=True)
    with world().together():
        np.testing.assert_allclose(result.columns["closeness"], [wanted[v] for v in here.tolist()], 1e-12)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.exhaustive
def test_by_weights_on_an_emulated_gpu():
    graph = graph_of("grid", "int32")
    for name, settings in (("multi_source_sssp", {"k": 3}), ("closeness", {"k": 3, "weighted": True})):
        on_cpu = dgraph.run(name, graph, **settings)
        result = flat_run(name, graph, backend=emulated.backend(), validate=True, **settings)
        for column in on_cpu.columns:
            np.testing.assert_array_equal(result.columns[column], on_cpu.columns[column])


@pytest.mark.mpi_skip
def test_queues_search_from_more_sources_than_stamps():
    """On a grid no level is large, and 300 sources use each stamp of a thread's marks again."""
    limit = 4  # vertices near 0 keep its stamp until source 1 has the same
    G = nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 3))
    rows, sources = nx.to_scipy_sparse_array(G, format="csr"), np.repeat([0, 80, 1], [1, 253, 46])
    graph = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32)
    arrays = [np.zeros((1, 90), kind) for kind in (np.uint8, np.uint32, np.int64, np.int64)]
    levels, deepest = np.full((90, 300), -1, np.int32), np.zeros(1, np.int64)
    assert plain(reach_kernel.is_narrow)(0, 1, sources[:1], limit, *graph, *arrays, levels[:, :0])
    plain(reach_kernel.one_by_one)(0, 1, sources, 0, limit, *graph, *arrays, levels, deepest)
    hops = scipy.sparse.csgraph.shortest_path(rows, unweighted=True)[sources].T
    within = hops <= limit
    np.testing.assert_array_equal(levels, np.where(within, hops, -1))
    np.testing.assert_array_equal(arrays[2][0], (hops * within).sum(axis=1))
    np.testing.assert_array_equal(arrays[3][0], (within & (hops > 0)).sum(axis=1))
    assert deepest[0] == hops[within].max()
    star = np.array([0, 89, *range(90, 179)]), np.array([*range(1, 90), *[0] * 89], np.uint32)
    assert not plain(reach_kernel.is_narrow)(0, 1, sources[:1], limit, *star, *arrays, levels[:, :0])
