"""Lazy columns, and results that stay on a GPU until they are accessed."""

import gc
import pickle
import time
import weakref

import numpy as np
import oracles
import pytest
import simulated
from emulated import Device, needs_compiler
from emulated_raw import Raw
from flat_run import flat_run

import dgraph
from dgraph.backend.cpu.threads.field_figures import reached
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device import downloads, pools
from dgraph.backend.cuda.device_graph import lazy_result
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.comm import SerialComm
from dgraph.result.columns import Columns
from dgraph.result.result import UNREACHED

pytestmark = pytest.mark.mpi_skip
A, B = np.array([5, 3, 4]), np.array([0.5, 0.25, 1])


@pytest.fixture
def columns():
    calls = []

    def make():
        calls.append("b")
        return B

    lazy = Columns({"a": A, "b": make}, np.argsort(A))
    lazy.calls = calls
    return lazy


@pytest.mark.parametrize("ask", [
    dict, lambda c: {**c}, lambda c: dict(c.items()), lambda c: dict(zip(c, c.values(), strict=True)),
    lambda c: c.copy(), lambda c: c | {}, lambda c: {} | c, lambda c: {name: c.get(name) for name in c},
    lambda c: pickle.loads(pickle.dumps(c)), lambda c: {name: c.pop(name) for name in list(c)},
])  # fmt: skip
def test_however_they_are_asked_for(columns, ask):
    assert list(columns) == ["a", "b"]
    assert len(columns) == 2
    assert not columns.calls
    for _ in range(2):
        result = ask(columns)
        assert type(result) is dict
        if result:
            assert [values.tolist() for values in result.values()] == [[3, 4, 5], [0.25, 1, 0.5]]
    assert columns.calls == ["b"]


def test_some_rows_are_read_without_the_others():
    read = []

    class Watched(np.ndarray):
        def __getitem__(self, rows):
            read.append(np.size(rows))
            return super().__getitem__(rows)

    columns = Columns({"a": np.arange(10).view(Watched)}, np.arange(10)[::-1])
    assert columns.rows("a", np.array([0, 2])).tolist() == [9, 7]
    assert read == [2]


def test_what_is_written_stays(columns):
    columns["b"] = A
    assert columns["b"] is A
    del columns["a"]
    assert list(columns) == ["b"]
    assert columns.get("a") is None
    with pytest.raises(KeyError):
        columns["a"]
    columns.update({"c": B}, d=A)
    columns |= {"b": B}
    assert columns.setdefault("c") is columns["b"] is B
    assert columns.setdefault("e", A) is A
    assert columns.popitem()[0] == "e"
    assert list(columns) == ["b", "c", "d"]
    columns["b"] = A
    assert "array([5, 3, 4])" in repr(columns)
    assert not columns.calls


@needs_compiler
@pytest.mark.parametrize("renumbered", [True, False])
@pytest.mark.parametrize("fetch", ["asked", "short"])
def test_what_a_search_left_is_on_the_gpu_until_it_is_wanted(renumbered, fetch, monkeypatch):
    monkeypatch.setattr(pools, "_caches", {})
    monkeypatch.setattr(pools, "give_back", lambda *_: None)
    edges = simulated.skewed(300, 900, directed=True)
    graph = dgraph.Graph.from_edges(edges.src, edges.dst, n=edges.n, comm=SerialComm())
    device, asked = Device(), []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (asked.append(array.size), get(array))[1])
    backend = CudaBackend(0, 1, True, GpuPlan(renumber=renumbered), device)
    result = flat_run("bfs", graph, source=1, backend=backend)
    levels = oracles.bfs(edges.n, edges.src, edges.dst, 1)
    assert edges.n not in asked, "nothing of the vertices has come to the host"
    assert result.summary["reached"] == (levels >= 0).sum()
    assert result.summary["depth"] == levels.max()
    src, dst = oracles.simple(edges.src, edges.dst)[:2]
    assert result.report["outcome"]["edges_traversed"] == np.isin(src, np.flatnonzero(levels >= 0)).sum()
    if fetch == "short":
        pools.drop_caches(None, device.number, weakref.ref(device))
        assert edges.n in asked
        asked.clear()
    assert np.array_equal(result.columns["distance"], np.where(levels < 0, UNREACHED, levels))
    ones = np.ones(len(src), np.int64)
    distance = [None if level < 0 else level for level in levels.tolist()]
    oracles.check_tree(edges.n, src, dst, ones, distance, result.columns["predecessor"], 1)
    assert (edges.n in asked) == (fetch == "asked")


@needs_compiler
@pytest.mark.parametrize("renumbered", [False, True])
def test_columns_of_a_device_pass_no_host(renumbered, monkeypatch):
    """They are in the order of the vertices, as those on the host are; so are the first rows of a repr."""
    edges = simulated.skewed(300, 900, directed=True)
    graph = dgraph.Graph.from_edges(edges.src, edges.dst, n=edges.n, comm=SerialComm())
    device, got, put = Device(), [], []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (got.append(array.size), get(array))[1])
    result = flat_run("bfs", graph, source=1, backend=CudaBackend(0, 1, True, GpuPlan(renumber=renumbered), device))
    got.clear()
    monkeypatch.setattr(device, "put", lambda array, put_=device.put: (put.append(array), put_(array))[1])
    there = {name: result.device_column(name) for name in ("distance", "predecessor")}
    assert repr(result).count("\n") == 7
    assert max(got, default=0) <= 5, "only the rows of the repr came to the host"
    there["vertex"] = result.device_column("vertex")
    assert any(array is result.columns["vertex"] for array in put), "what is on the host goes up"
    levels = oracles.bfs(edges.n, edges.src, edges.dst, 1)
    assert np.array_equal(there["distance"], np.where(levels < 0, UNREACHED, levels))
    there["distance"][:] = 7
    assert result.columns["distance"].tolist() == np.where(levels < 0, UNREACHED, levels).tolist(), "a copy"
    for name in ("vertex", "predecessor"):
        assert np.array_equal(there[name], result.columns[name])
    assert np.array_equal(result.device_column("predecessor"), there["predecessor"]), "after it was fetched, too"


@needs_compiler
@pytest.mark.parametrize("renumbered", [False, True])
@pytest.mark.parametrize("order", ["original", "degree"])
def test_columns_come_from_a_device_in_pieces(renumbered, order, monkeypatch):
    """More pieces than slots of pinned memory, converted and ordered on the GPU; a gather leaves the field there."""
    monkeypatch.setattr(pools, "_caches", {})
    monkeypatch.setattr(pools, "give_back", lambda *_: None)
    monkeypatch.setattr(lazy_result, "FEW", 0)
    monkeypatch.setattr(downloads, "PIECE", 80)
    monkeypatch.setattr(downloads, "AT_ONCE", 4)
    graph = dgraph.Graph.load("rmat:8", order=order, comm=SerialComm(), device="cpu")
    wanted = {name: values.copy() for name, values in dgraph.run("bfs", graph, source=1).columns.items()}
    device, whole = Device(), []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (whole.append(array.size), get(array))[1])
    result = flat_run("bfs", graph, source=1, backend=CudaBackend(0, 1, True, GpuPlan(renumber=renumbered), device))
    whole.clear()
    gathered = result.gather()
    assert max(whole, default=0) <= 20
    assert len(device._downloads.slots) == downloads.SLOTS < graph.n // 20
    for name in wanted:
        assert np.array_equal(gathered[name], wanted[name]), name
    gathered["distance"][:] = 7
    whole.clear()
    pools.drop_caches(None, device.number, weakref.ref(device))
    assert graph.n in whole, "the fields were there"
    again = result.gather()
    for name in wanted:
        assert np.array_equal(again[name], wanted[name]), name
        assert np.array_equal(result.columns[name], wanted[name]), name


@pytest.mark.gpu
@pytest.mark.parametrize("algorithm", ["bfs", "sssp", "cc", "pagerank", "kcore", "color"])
@pytest.mark.parametrize("order", ["original", "degree"])
def test_columns_of_a_gpu_are_arrays_of_cupy(algorithm, order, monkeypatch):
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr(lazy_result, "FEW", 100)
    monkeypatch.setattr(downloads, "PIECE", 800)
    graph = dgraph.Graph.load("rmat:12", weights="1..255", order=order, device="cuda", comm=SerialComm())
    result = dgraph.run(algorithm, graph, **({"source": 1} if algorithm in ("bfs", "sssp") else {}))
    there = {name: result.device_column(name) for name in result.columns}
    for name, column in there.items():
        assert column.__dlpack_device__()[0] == 2, "kDLCUDA"
        assert column.__cuda_array_interface__["shape"] == (graph.n,)
        assert np.array_equal(cupy.asnumpy(cupy.from_dlpack(column)), result.columns[name]), name


class Late(Raw):
    """GPU that copies when the host waits for a copy, and counts the bytes that it pins."""

    def __init__(self):
        super().__init__()
        self.bytes, self.copies = 0, {}

    def pinned(self, size):
        self.bytes += size
        return super().pinned(size)

    def copy(self, to, source, size, stream=None):
        self.last = to, source, size

    def record(self, event, stream=None):
        self.copies[event] = self.last

    def wait(self, event):
        super().copy(*self.copies.pop(event))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
def test_threads_convert_pieces_from_a_few_slots(dtype, monkeypatch):
    """A slot that is filled before its last piece is converted, or a piece that is converted before it came, shows."""
    for name, value in {"PIECE": 80, "AT_ONCE": 3}.items():
        monkeypatch.setattr(downloads, name, value)
    gpu, values = Late(), np.arange(1005).astype(dtype)
    copier, rows = downloads.Downloads(gpu, lambda array: array.ctypes.data, 3), 80 // values.itemsize

    def slowly(some):
        time.sleep(0.0001 * (some.size and int(some[0]) % 7))
        return some.astype(np.int64) + 1

    for _ in range(2):
        fetched = copier.fetch((values[i : i + rows] for i in range(0, values.size, rows)), slowly, values.size)
        assert fetched.dtype == np.int64
        assert np.array_equal(fetched, values.astype(np.int64) + 1)
    assert gpu.bytes == downloads.SLOTS * 80


@pytest.mark.gpu
def test_whole_pieces_come_from_a_gpu_in_order():
    """Each slot of pinned memory is used more than once; a piece that is overwritten early would show."""
    pytest.importorskip("cupy")
    from dgraph.backend.cuda.device.device import CudaDevice

    device = CudaDevice(0)
    with device.using():
        values = device.put(np.random.default_rng(1).permutation(3 * downloads.SLOTS * downloads.PIECE // 8 + 5))
    left = lazy_result.LazyFields(device, {"d": lazy_result.FieldView(device, values, None)}, None, None)
    wanted = device.get(values) + 1
    for _ in range(3):
        assert np.array_equal(left.fetch("d", lambda part: part + 1, None), wanted)


@needs_compiler
@pytest.mark.parametrize("renumbered", [False, True])
def test_ranks_of_pages_stay_on_the_gpu_until_they_are_wanted(renumbered, monkeypatch):
    """The sum of ranks is computed without copying them."""
    edges = simulated.skewed(300, 900, directed=True)
    graph = dgraph.Graph.from_edges(edges.src, edges.dst, n=edges.n, comm=SerialComm())
    device, asked = Device(), []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (asked.append(array.size), get(array))[1])
    result = flat_run("pagerank", graph, backend=CudaBackend(0, 1, True, GpuPlan(renumber=renumbered), device))
    assert edges.n not in asked
    assert result.summary["sum"] == pytest.approx(1, rel=1e-12)
    src, dst = oracles.simple(edges.src, edges.dst)[:2]
    ranks = oracles.pagerank(edges.n, src, dst, rounds=result.rounds)
    np.testing.assert_allclose(result.columns["pagerank"], ranks, rtol=1e-12)
    assert edges.n in asked


@needs_compiler
def test_a_result_keeps_no_graph(monkeypatch):
    device = Device()
    graph = dgraph.Graph.load("rmat:6", comm=SerialComm())
    backend = CudaBackend(0, 1, True, GpuPlan(), device)
    result = flat_run("bfs", graph, source=1, backend=backend)
    there = [weakref.ref(graph), *(weakref.ref(part.local) for part in graph.partitions.values())]
    gc.disable()
    try:
        del graph
        assert not any(reference() for reference in there)
    finally:
        gc.enable()
    assert result.columns["distance"].min() == 0


@needs_compiler
@pytest.mark.parametrize("values", [
    np.array([3, 0, 2**31 - 1], np.int32), np.array([3.5, np.inf, 0.0]), np.array([], np.int32),
    np.array([2**40, 5, 2**63 - 1]), np.array([2**32 - 1, 2**32 - 2, 1], np.uint32), np.array([np.inf] * 3, np.float32),
    np.array([0.5, 1e30, np.inf], np.float32),
])  # fmt: skip
def test_what_is_counted_on_a_gpu_is_what_the_host_counts(values):
    degree = np.array([2, 7, 1], np.int64)[: len(values)]
    device = Device()
    own = np.array([3, 1, 5])[: len(values)]
    left = lazy_result.LazyFields(
        device, {"d": lazy_result.FieldView(device, values, None)}, degree.astype(np.uint32), own
    )
    assert left.reached("d") == reached(values, degree)
    if values.dtype.kind != "f":
        most = values.max(initial=0)
        assert left.own("d") == (values == own).sum()
        assert left.largest("d") == (most, (values == most).sum())
    assert np.array_equal(left["d"], values)
    assert left.reached("d") is left.own("d") is left.largest("d") is None, "it is on the host now"
