"""Lazy columns, and results that stay on a GPU until they are accessed."""

import gc
import pickle
import weakref

import numpy as np
import oracles
import pytest
import simulated
from emulated import Device, needs_compiler
from flat_run import flat_run

import dgraph
from dgraph.algorithms.distances import distances
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device_graph import lazy_result
from dgraph.backend.cuda.gpu_options import Options
from dgraph.comm import SerialComm
from dgraph.result.columns import Columns
from dgraph.result.result import UNREACHED

pytestmark = pytest.mark.mpi_skip
A, B = np.array([5, 3, 4]), np.array([0.5, 0.25, 1])


@pytest.fixture
def columns():
    made = []

    def make():
        made.append("b")
        return B

    found = Columns({"a": A, "b": make}, np.argsort(A))
    found.made = made
    return found


@pytest.mark.parametrize("ask", [
    dict, lambda c: {**c}, lambda c: dict(c.items()), lambda c: dict(zip(c, c.values(), strict=True)),
    lambda c: c.copy(), lambda c: c | {}, lambda c: {} | c, lambda c: {name: c.get(name) for name in c},
    lambda c: pickle.loads(pickle.dumps(c)), lambda c: {name: c.pop(name) for name in list(c)},
])  # fmt: skip
def test_however_they_are_asked_for(columns, ask):
    assert list(columns) == ["a", "b"]
    assert len(columns) == 2
    assert not columns.made
    for _ in range(2):
        found = ask(columns)
        assert type(found) is dict
        if found:
            assert [values.tolist() for values in found.values()] == [[3, 4, 5], [0.25, 1, 0.5]]
    assert columns.made == ["b"]


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
    assert not columns.made


@needs_compiler
@pytest.mark.parametrize("renumbered", [True, False])
@pytest.mark.parametrize("fetch", ["asked", "short"])
def test_what_a_search_left_is_on_the_gpu_until_it_is_wanted(renumbered, fetch, monkeypatch):
    monkeypatch.setattr(pools, "_caches", [])
    monkeypatch.setattr(pools, "give_back", lambda *_: None)
    monkeypatch.setattr(lazy_result, "SOME", 50)
    given = simulated.skewed(300, 900, directed=True)
    graph = dgraph.Graph.from_edges(given.src, given.dst, n=given.n, comm=SerialComm())
    device, asked = Device(), []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (asked.append(array.size), get(array))[1])
    backend = CudaBackend(0, 1, True, Options(renumber=renumbered), device)
    found = flat_run("bfs", graph, source=1, backend=backend)
    levels = oracles.bfs(given.n, given.src, given.dst, 1)
    assert given.n not in asked, "nothing of the vertices has come to the host"
    assert found.summary["reached"] == (levels >= 0).sum()
    assert found.summary["depth"] == levels.max()
    src, dst = oracles.simple(given.src, given.dst)[:2]
    assert found.report["outcome"]["edges_traversed"] == np.isin(src, np.flatnonzero(levels >= 0)).sum()
    if fetch == "short":
        pools.drop_caches(None, device.number, weakref.ref(device))
        assert given.n in asked
        asked.clear()
    assert np.array_equal(found.columns["distance"], np.where(levels < 0, UNREACHED, levels))
    ones = np.ones(len(src), np.int64)
    distance = [None if level < 0 else level for level in levels.tolist()]
    oracles.check_tree(given.n, src, dst, ones, distance, found.columns["predecessor"], 1)
    assert (given.n in asked) == (fetch == "asked")


@needs_compiler
@pytest.mark.parametrize("renumbered", [False, True])
def test_columns_of_a_device_pass_no_host(renumbered, monkeypatch):
    """They are in the order of the vertices, as those on the host are; so are the first rows of a repr."""
    given = simulated.skewed(300, 900, directed=True)
    graph = dgraph.Graph.from_edges(given.src, given.dst, n=given.n, comm=SerialComm())
    device, got, put = Device(), [], []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (got.append(array.size), get(array))[1])
    found = flat_run("bfs", graph, source=1, backend=CudaBackend(0, 1, True, Options(renumber=renumbered), device))
    got.clear()
    monkeypatch.setattr(device, "put", lambda array, put_=device.put: (put.append(array), put_(array))[1])
    there = {name: found.device_column(name) for name in ("distance", "predecessor")}
    assert repr(found).count("\n") == 7
    assert max(got, default=0) <= 5, "only the rows of the repr came to the host"
    there["vertex"] = found.device_column("vertex")
    assert any(array is found.columns["vertex"] for array in put), "what is on the host goes up"
    levels = oracles.bfs(given.n, given.src, given.dst, 1)
    assert np.array_equal(there["distance"], np.where(levels < 0, UNREACHED, levels))
    there["distance"][:] = 7
    assert found.columns["distance"].tolist() == np.where(levels < 0, UNREACHED, levels).tolist(), "a copy"
    for name in ("vertex", "predecessor"):
        assert np.array_equal(there[name], found.columns[name])
    assert np.array_equal(found.device_column("predecessor"), there["predecessor"]), "after it was fetched, too"


@pytest.mark.gpu
@pytest.mark.parametrize("algorithm", ["bfs", "sssp", "cc", "pagerank", "kcore", "color"])
@pytest.mark.parametrize("order", ["original", "degree"])
def test_columns_of_a_gpu_are_arrays_of_cupy(algorithm, order):
    cupy = pytest.importorskip("cupy")
    graph = dgraph.Graph.load("rmat:12", weights="1..255", order=order, device="cuda", comm=SerialComm())
    found = dgraph.run(algorithm, graph, **({"source": 1} if algorithm in ("bfs", "sssp") else {}))
    there = {name: found.device_column(name) for name in found.columns}
    for name, column in there.items():
        assert column.__dlpack_device__()[0] == 2, "kDLCUDA"
        assert column.__cuda_array_interface__["shape"] == (graph.n,)
        assert np.array_equal(cupy.asnumpy(cupy.from_dlpack(column)), found.columns[name]), name


@needs_compiler
@pytest.mark.parametrize("renumbered", [False, True])
def test_ranks_of_pages_stay_on_the_gpu_until_they_are_wanted(renumbered, monkeypatch):
    """The sum of ranks is computed without copying them."""
    monkeypatch.setattr(lazy_result, "SOME", 50)
    given = simulated.skewed(300, 900, directed=True)
    graph = dgraph.Graph.from_edges(given.src, given.dst, n=given.n, comm=SerialComm())
    device, asked = Device(), []
    monkeypatch.setattr(device, "get", lambda array, get=device.get: (asked.append(array.size), get(array))[1])
    found = flat_run("pagerank", graph, backend=CudaBackend(0, 1, True, Options(renumber=renumbered), device))
    assert given.n not in asked
    assert found.summary["sum"] == pytest.approx(1, rel=1e-12)
    src, dst = oracles.simple(given.src, given.dst)[:2]
    ranks = oracles.pagerank(given.n, src, dst, rounds=found.rounds)
    np.testing.assert_allclose(found.columns["pagerank"], ranks, rtol=1e-12)
    assert given.n in asked


@needs_compiler
def test_a_result_keeps_no_graph(monkeypatch):
    device = Device()
    graph = dgraph.Graph.load("rmat:6", comm=SerialComm())
    backend = CudaBackend(0, 1, True, Options(), device)
    found = flat_run("bfs", graph, source=1, backend=backend)
    there = [weakref.ref(graph), *(weakref.ref(part.local) for part in graph._locals.values())]
    gc.disable()
    try:
        del graph
        assert not any(each() for each in there)
    finally:
        gc.enable()
    assert found.columns["distance"].min() == 0


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
    expected = distances(values, degree)
    assert left.reached("d") == (expected.reached, expected.farthest, expected.arcs)
    if values.dtype.kind != "f":
        most = values.max(initial=0)
        assert left.own("d") == (values == own).sum()
        assert left.largest("d") == (most, (values == most).sum())
    assert np.array_equal(left["d"], values)
    assert left.reached("d") is left.own("d") is left.largest("d") is None, "it is on the host now"
