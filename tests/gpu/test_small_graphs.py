"""Small graphs on a GPU: NumPy makes their arrays, and one GPU alone needs no kernels of exchanges."""

import ctypes

import emulated
import numpy as np
import pytest
from devices import local_graph
from simulated import succeed
from test_cuda_exchange import mesh

import dgraph
import partitioning
from dgraph._support import cuda_start
from dgraph.backend.cuda.device_graph.device_graph import DeviceCsr, DeviceGraph
from dgraph.backend.cuda.device_graph.small_graph import FEW, MADE_ON_HOST, SmallGraph, graph_on
from dgraph.graph.build.local_graph import build
from dgraph.graph.stored_graph import Graph

N = 200


def hub_graph(directed, weighted=True):
    """Return a random graph with a hub and vertices without edges."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, N, (2, 900))
    src[:300] = 7
    weights = rng.integers(1, 9, 900).astype(np.int32) if weighted else None
    if not directed:
        src, dst = np.concatenate([src, dst]), np.concatenate([dst, src])
        weights = None
    return local_graph(N + 40, src, dst, weights, directed=directed)


def same(a, b):
    if isinstance(a, DeviceCsr):
        return all(same(getattr(a, name), getattr(b, name)) for name in vars(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a == b


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("renumber", [True, False])
def test_numpy_makes_the_arrays_that_a_gpu_would(directed, renumber):
    local = hub_graph(directed)
    small, other = (kind(local, emulated.Device(), renumber) for kind in (SmallGraph, DeviceGraph))
    for name in ("order", "place", "out", "original", "degree", *MADE_ON_HOST):
        assert same(getattr(small, name), getattr(other, name)), name
    assert small.rows_with_edges(N) == other.rows_with_edges(N)
    assert small.held_bytes({"incoming": 1, "heads": 4, "id_heads": 2, "light": 8, "tiles": 16}) == 1 + 4
    assert (small.incoming is small.out) == (not directed)
    small.forget("heads")
    assert same(small.heads, other.heads)
    offsets, neighbours, weights = vars(vars(small)["out"]).values()
    for moved in (weights, None):
        rows = DeviceCsr(offsets, neighbours, moved)
        assert same(small._turned(rows), other._turned(rows))
    assert not small.device._modules  # no kernel to wait for


@pytest.mark.parametrize("renumber", [True, False])
def test_degrees_of_a_whole_graph_come_from_its_offsets(renumber):
    class Noting(emulated.Device):
        def put(self, array, kind=None):
            sent.append(array)
            return super().put(array, kind)

    sent, local = [], hub_graph(directed=True)
    graph = DeviceGraph(local, Noting(), renumber)
    assert not any(array is local.out_degree for array in sent)
    assert same(graph.degree, graph.arranged(local.out_degree.astype(np.uint32)))


def test_numpy_makes_the_lists_of_mirrors_that_a_gpu_would():
    def lists(comm):
        local = build(graph.block(comm), partitioning.plan("cvc", graph.block(comm), comm.size, comm), comm)
        small, other = (kind(local, emulated.Device(), True) for kind in (SmallGraph, DeviceGraph))
        assert any(map(len, small.lids.values()))
        return all(same(getattr(small, name), getattr(other, name)) for name in ("lids", "mirror_slots"))

    graph = mesh()
    assert succeed(4, lists) == [True] * 4


def test_large_and_built_graphs_are_made_on_the_gpu(monkeypatch):
    local = hub_graph(True)
    assert type(graph_on(emulated.Device(), local, None)) is SmallGraph
    monkeypatch.setattr("dgraph.backend.cuda.device_graph.small_graph.FEW", local.out.arcs - 1)
    assert type(graph_on(emulated.Device(), local, None)) is DeviceGraph
    assert FEW >= 1 << 16


@emulated.needs_compiler
def test_one_gpu_alone_needs_no_module_of_exchanges():
    backend, asked = emulated.backend(), []
    module = backend.device.module
    backend.device.module = lambda text, name: asked.append("#define FUSED 0" in text) or module(text, name)
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3], device=backend)
    assert dgraph.run("bfs", graph, source=0, return_predecessors=False).summary["reached"] == 4
    assert asked
    assert not any(asked)


class Driver:
    """Driver with a number of GPUs, which records calls."""

    def __init__(self, gpus):
        self.gpus, self.calls = gpus, []

    def __getattr__(self, name):
        def call(*args):
            self.calls.append(name)
            if name == "cuDeviceGetCount":
                args[0]._obj.value = self.gpus
            return 0

        return call


@pytest.mark.parametrize(("gpus", "last"), [(1, "cuDevicePrimaryCtxRetain"), (2, "cuDeviceGetCount")])
def test_a_context_is_made_ahead_where_its_gpu_is_known(gpus, last, monkeypatch):
    driver = Driver(gpus)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(cuda_start, "find_spec", lambda name: object())
    monkeypatch.setattr(cuda_start, "_started", [])
    thread = cuda_start.start_cuda()
    thread.join()
    assert driver.calls[0] == "cuInit"
    assert driver.calls[-1] == last
    assert cuda_start.start_cuda() is thread


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        ("bfs rmat:8", True),
        ("sssp rmat:8 --backend cuda", True),
        ("bfs rmat:8 --backend cpu", False),
        ("bfs rmat:8 --backend=cpu", False),
        ("bfs --help", False),
        ("list", False),
        ("../cc rmat:8", False),
        ("", False),
    ],
)
def test_a_command_line_starts_cuda_early_where_it_may_need_it(words, starts, monkeypatch):
    began = []
    monkeypatch.setattr(cuda_start, "start_cuda", lambda: began.append(True))
    cuda_start.start_early(words.split())
    assert began == [True] * starts


def test_without_driver_or_cupy_nothing_is_started(monkeypatch):
    def refuse(name):
        raise OSError

    monkeypatch.setattr(cuda_start, "_started", [])
    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert cuda_start.start_cuda() is None
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver(1))
    monkeypatch.setattr(cuda_start, "find_spec", lambda name: None)
    assert cuda_start.start_cuda() is None
