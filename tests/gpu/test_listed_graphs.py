"""Graphs of listed edges that a GPU builds: rows, counts, fingerprints and errors are those of the host."""

from importlib import import_module

import numpy as np
import pytest
from devices import device_of, on_devices
from emulated import needs_compiler

import dgraph
from dgraph.backend import build
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device import placed_rows
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build import build_memory, listed_edges, loaded_graph
from dgraph.backend.cuda.graph_load import plain_lines, record_columns
from dgraph.comm import SerialComm
from dgraph.errors import DataError
from dgraph.result.files.graph_writers import save_graph

pytestmark = [pytest.mark.mpi_skip, needs_compiler]


@pytest.fixture
def opened(monkeypatch):
    """Return a function that lets descriptions of devices mean a device, on which every graph is large."""

    def with_device(name):
        gpu = device_of(name)
        for module in (build, import_module("dgraph.engine.opened_device")):
            monkeypatch.setattr(module, "backend", lambda *_, **__: CudaBackend(0, 1, True, GpuPlan(), gpu))
        monkeypatch.setattr(build, "has_gpu", lambda: True)
        monkeypatch.setattr(build, "FEW", 0)
        monkeypatch.setattr(record_columns, "LEAST", 0)
        monkeypatch.setattr(record_columns, "PIECE", 31)
        monkeypatch.setattr(placed_rows, "LEAST", 38)
        monkeypatch.setattr(build_memory, "LEAST", 37)  # many pieces, and rows longer than a piece
        return gpu

    return with_device


def check(graph, want, gpu):
    """Check that a GPU built the graph, and everything about it against the host's."""
    assert graph.built_on is gpu
    assert vars(graph.facts) == vars(want.facts)
    for name in ("n", "m", "arcs", "directed", "weight_type"):
        assert getattr(graph, name) == getattr(want, name), name
    assert graph._fingerprint == want.fingerprint()
    assert graph.partition().local.repeats == want.partition().local.repeats
    for have, wanted in zip(rows_of(graph), rows_of(want), strict=True):
        np.testing.assert_array_equal(have, wanted)
    np.testing.assert_array_equal(graph.vertices(), want.vertices())


def rows_of(graph):
    weights = graph.block.weights
    return graph.block.offsets, graph.block.targets, np.zeros(0) if weights is None else weights


WEIGHTS = {
    "none": lambda rng, m: None,
    "small": lambda rng, m: rng.integers(-3, 4, m, np.int32),
    "equal": lambda rng, m: np.full(m, 7, np.int64),
    "wide": lambda rng, m: rng.integers(-(2**62), 2**62, m),
    "single": lambda rng, m: rng.random(m, np.float32),
    "double": lambda rng, m: rng.integers(-2, 3, m) / 2 * 1.0,
}


@on_devices
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("options", [
    {}, {"directed": False}, {"keep_loops": True, "keep_parallel": True}, {"keep_parallel": True, "directed": False},
])  # fmt: skip
def test_edges_in_memory(device, kind, dtype, options, opened):
    rng = np.random.default_rng(5)
    src, dst = (np.minimum(rng.integers(0, 20, 600), rng.integers(0, 40, 600)).astype(dtype) for _ in range(2))
    weights = WEIGHTS[kind](rng, src.size)
    gpu = opened(device)

    def make(device):
        return dgraph.Graph.from_edges(src, dst, weights, device=device, comm=SerialComm(), **options)

    check(make("cuda"), make("cpu"), gpu)


@on_devices
@pytest.mark.parametrize("kind", ["none", "small", "double"])
@pytest.mark.parametrize("whole", [True, False])
def test_both_arcs_of_each_edge_are_kept_as_parallel_edges(device, kind, whole, opened):
    """The warning is the host's: some arc lacks its reverse, or none does."""
    src, dst = np.array([0, 3, 4, 4, 9]), np.array([3, 3, 1, 1, 8])
    weights = WEIGHTS[kind](np.random.default_rng(1), 5)
    weights = None if weights is None else np.tile(weights, 2)[: 9 + whole]
    ends = np.append(src, dst)[: 9 + whole], np.append(dst, src)[: 9 + whole]
    gpu, options = opened(device), {"directed": False, "keep_parallel": True, "comm": SerialComm()}
    graph, want = (dgraph.Graph.from_edges(*ends, weights, device=to, **options) for to in ("cuda", "cpu"))
    check(graph, want, gpu)
    assert bool(graph.facts.warnings) is whole


@on_devices
@pytest.mark.parametrize("directed", [True, False])
def test_directed_rows_lie_where_the_edges_were_listed(device, directed, opened, monkeypatch):
    """The peak of memory is the list: its targets and weights become the rows'; of both directions they cannot."""
    gpu, lists = opened(device), []

    def listed(*arguments):
        edges = listed_edges.listed_edges(*arguments)
        lists.append((gpu.address(edges.targets), gpu.address(edges.weights), edges))
        return edges

    monkeypatch.setattr(loaded_graph, "listed_edges", listed)
    ends, weights = np.random.default_rng(7).integers(0, 60, (2, 300)), np.arange(1, 301)
    graph = dgraph.Graph.from_edges(*ends, weights, directed=directed, device="cuda", comm=SerialComm())
    rows, (targets, listed_weights, edges) = graph.partition().local.built, lists.pop()
    assert (edges.sources, edges.targets, edges.weights) == (None, None, None), "the list is freed"
    assert ((gpu.address(rows.neighbours), gpu.address(rows.weights)) == (targets, listed_weights)) is directed


@on_devices
@pytest.mark.parametrize("kind", ["none", "small", "double"])
@pytest.mark.parametrize(("directed", "kept"), [(True, False), (True, True), (False, False), (False, True)])
def test_rows_in_memory(device, kind, directed, kept, opened):
    """Rows in any order, with loops and parallel arcs; undirected ones list both arcs."""
    rng = np.random.default_rng(6)
    src, dst = (np.minimum(rng.integers(0, 30, 500), rng.integers(0, 50, 500)) for _ in range(2))
    weights = WEIGHTS[kind](rng, src.size)
    if not directed:
        apart = src != dst
        src, dst = np.concatenate([src, dst[apart]]), np.concatenate([dst, src[apart]])
        weights = None if weights is None else np.concatenate([weights, weights[apart]])
    order = np.argsort(src, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=55))])
    gpu = opened(device)

    def make(device):
        return dgraph.Graph.from_csr(
            offsets, dst[order].astype(np.int32), None if weights is None else weights[order],
            directed=directed, keep_loops=kept, keep_parallel=kept, device=device, comm=SerialComm(),
        )  # fmt: skip

    check(make("cuda"), make("cpu"), gpu)


@pytest.mark.parametrize("build_with", [
    lambda make, **where: make.from_edges([0, 1, 5], [1, -2, 0], n=6, **where),
    lambda make, **where: make.from_edges([0, 1, 6], [1, 2, 0], n=6, **where),
    lambda make, **where: make.from_edges([0, 1], [1, 0], [1.0, np.nan], **where),
    lambda make, **where: make.from_csr([0, 1, 2], [1, 2], **where),
    lambda make, **where: make.from_csr([0, 1, 2], np.array([1, -1], np.int32), **where),
    lambda make, **where: make.from_csr([0, 2, 3, 3], [1, 2, 0], directed=False, **where),
    lambda make, **where: make.from_csr([0, 1, 2], [1, 0], [3, 4], directed=False, **where),
])  # fmt: skip
def test_errors_are_those_of_the_host(build_with, opened):
    opened("emulated")
    texts = []
    for device in ("cpu", "cuda"):
        with pytest.raises(DataError) as refused:
            build_with(dgraph.Graph, device=device, comm=SerialComm())
        texts.append(str(refused.value))
    assert texts[0] == texts[1]


@on_devices
@pytest.mark.parametrize(("name", "options"), [
    ("g.el", {}), ("g.wel", {}), ("g.wel", {"directed": False, "keep_loops": True}), ("g.wel", {"weights": "1..9"}),
    ("g.sg", {}), ("g.wsg", {}), ("g.wsg", {"edge_data": "float32"}), ("g.npz", {}), ("g.wel", {"policy": "oec"}),
])  # fmt: skip
def test_files(device, name, options, opened, tmp_path):
    path = str(tmp_path / name)
    weights = "unit" if name in ("g.el", "g.sg") else "1..20"
    source = dgraph.Graph.load("rmat:5", weights=weights, device="cpu", comm=SerialComm())
    save_graph(tmp_path / name, source.block, SerialComm(), None)
    gpu = opened(device)
    graph, want = (dgraph.Graph.load(path, device=to, comm=SerialComm(), **options) for to in ("cuda", "cpu"))
    check(graph, want, gpu)
    assert graph.building[0] == "device"


@on_devices
@pytest.mark.parametrize("target", [-1, 32, 2**31 - 1])
def test_a_wrong_target_of_a_binary_file_is_named_as_on_the_host(device, target, opened, tmp_path):
    source, path = dgraph.Graph.load("rmat:5", weights="1..20", device="cpu", comm=SerialComm()), tmp_path / "g.wsg"
    save_graph(path, source.block, SerialComm(), None)
    content, place = path.read_bytes(), 17 + 8 * 33 + 8 * 40  # behind the header, 33 offsets and 40 arcs
    path.write_bytes(content[:place] + target.to_bytes(4, "little", signed=True) + content[place + 4 :])
    opened(device)
    texts = []
    for to in ("cpu", "cuda"):
        with pytest.raises(DataError) as refused:
            dgraph.Graph.load(path, device=to, comm=SerialComm())
        texts.append(str(refused.value))
    assert texts[0] == texts[1]
    assert f"target[40] is {target}" in texts[0]


def test_what_the_host_builds(opened):
    opened("emulated")
    for ends, options in (([1, 2], {"merge": "sum"}), ([1, 2**40], {"sparse_ids": True})):
        graph = dgraph.Graph.from_edges([0, 1], ends, [1, 2], device="cuda", comm=SerialComm(), **options)
        assert graph.built_on is None


@on_devices
@pytest.mark.parametrize("kind", ["none", "small", "double"])
def test_ids_with_gaps(device, kind, opened):
    """Rows, ids, answers and both directions of a graph whose vertices are the ids that occur."""
    rng = np.random.default_rng(9)
    src, dst = (7 + 3 * np.minimum(rng.integers(0, 40, 400), rng.integers(0, 60, 400)) for _ in range(2))
    weights = WEIGHTS[kind](rng, src.size)
    gpu = opened(device)
    graph, want = (
        dgraph.Graph.from_edges(src, dst, weights, sparse_ids=True, vertices=[0, 500], device=to, comm=SerialComm())
        for to in ("cuda", "cpu")
    )
    check(graph, want, gpu)
    source, calls = int(src[0]), [("cc", {}), ("scc", {}), ("cdlp", {})]
    for algorithm, parameters in [("bfs", {"source": source}), *calls]:
        results = [dgraph.run(algorithm, one, validate=True, **parameters) for one in (graph, want)]
        for name, column in results[0].columns.items():
            np.testing.assert_allclose(column, results[1].columns[name], rtol=1e-9)
    check(graph.undirected(), want.undirected(), gpu)


@on_devices
@pytest.mark.parametrize("kind", ["none", "small", "double"])
@pytest.mark.parametrize("kept", [{}, {"keep_parallel": True}, {"keep_loops": True, "keep_parallel": True}])
def test_forms(device, kind, kept, opened):
    """Both directions of a graph, and its simple form, are built from its rows on the GPU."""
    rng = np.random.default_rng(10)
    src, dst = (np.minimum(rng.integers(0, 20, 600), rng.integers(0, 40, 600)) for _ in range(2))
    src, dst = np.append(src, np.full(900, 7)), np.append(dst, np.arange(900))  # a hub: rows by degree
    weights = WEIGHTS[kind](rng, src.size)
    gpu = opened(device)
    graph, want = (
        dgraph.Graph.from_edges(src, dst, weights, device=to, comm=SerialComm(), **kept) for to in ("cuda", "cpu")
    )
    assert graph.partition().local.vertices.place is not None
    check(graph.undirected(), want.undirected(), gpu)
    if kept:
        check(graph.simplified(True, True), want.simplified(True, True), gpu)
        check(graph.undirected().simplified(True, True), want.undirected().simplified(True, True), gpu)
        check(graph, want, gpu)  # it lent its rows to the others


def test_runs(opened):
    """Both directions, forms, another policy and a certificate, of a graph that a GPU built."""
    opened("emulated")
    rng = np.random.default_rng(7)
    ends = rng.integers(0, 60, (2, 300))

    def make(device):
        return dgraph.Graph.from_edges(*ends, rng.integers(1, 9, 300), n=70, device=device, comm=SerialComm())

    rng = np.random.default_rng(8)
    graph = make("cuda")
    rng = np.random.default_rng(8)
    want = make("cpu")
    for algorithm, parameters in (("sssp", {"source": 3}), ("cc", {}), ("pagerank", {}), ("kcore", {})):
        results = [dgraph.run(algorithm, source, validate=True, **parameters) for source in (graph, want)]
        for name, column in results[0].columns.items():
            np.testing.assert_allclose(column, results[1].columns[name], rtol=1e-6)
    assert graph.undirected().fingerprint() == want.undirected().fingerprint()
    assert dgraph.sssp(graph.on("iec"), 3).report["choices"]
    changed = [source.with_edges([(0, 69)], weights=[1]) for source in (graph, want)]
    assert changed[0].fingerprint() == changed[1].fingerprint()


def test_a_run_copies_no_rows_to_the_host(opened):
    opened("emulated")
    ends, weights = np.random.default_rng(7).integers(0, 60, (2, 300)), np.arange(1, 301)
    graph = dgraph.Graph.from_edges(*ends, weights, device="cuda", comm=SerialComm())
    for algorithm in ("sssp", "bfs"):
        dgraph.run(algorithm, graph, source=3)
    assert "_ends" not in vars(graph.partition().local.out)


def facts(graph):
    """Return the findings of a load but for the lines of the slower reader, which differ by reader."""
    return {name: value for name, value in vars(graph.facts).items() if name != "scanned_lines"}


@on_devices
def test_text_is_parsed_on_the_gpu(device, opened, tmp_path, monkeypatch):
    """Files of consecutive and of sparse ids; the edges of one that the host is to build come back from the GPU."""
    gpu, read = opened(device), []
    parse = plain_lines._Parser.table
    monkeypatch.setattr(plain_lines._Parser, "table", lambda parser: read.append(parse(parser)) or read[-1])
    for name, text in (
        ("g.wel", "0 1 5\n3 2 7\n# why\n2 3 -1\n0 1 4\n"), ("g.el", "1 2\n2 2\n"),
        ("g.csv", "src,dst,weight\n5,1000,2.5\n7,5,1\n"), ("g.txt", "3 4\n0 1\n1 2\n2 3\n0 2\n"),
        ("g.el", "4 4\n0 1\n1 2\n2 3\n0 2\n"),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
        graph, want = (dgraph.Graph.load(tmp_path / name, device=to, comm=SerialComm()) for to in ("cuda", "cpu"))
        assert (graph.fingerprint(), facts(graph)) == (want.fingerprint(), facts(want))
        np.testing.assert_array_equal(graph.vertices(), want.vertices())
        assert isinstance(read.pop(), plain_lines.DeviceTable)
        assert graph.built_on is gpu
    (tmp_path / "g.wel").write_text("0 1 5\n3 x 7\n")
    with pytest.raises(DataError, match=r"g.wel:2: got '3 x 7'; 'x' in column 2 is not a whole number"):
        dgraph.Graph.load(tmp_path / "g.wel", device="cuda", comm=SerialComm())
