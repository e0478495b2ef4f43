"""Limits of GPU memory, CuPy's allocator in the place of the pool, and memory that a closed graph gives back."""

import gc

import numpy as np
import pytest

import dgraph
from dgraph._support.sizes import parse_size
from dgraph.backend.cuda.device.pools import process_allocator
from dgraph.errors import UsageError
from dgraph.graph.devices import memory_limit

pytestmark = pytest.mark.mpi_skip


@pytest.fixture
def cupy():
    cupy = pytest.importorskip("cupy")
    if not cupy.cuda.is_available():
        pytest.skip("there is no GPU")
    return cupy


@pytest.mark.parametrize(("text", "size"), [("20GiB", 20 << 30), ("64M", 64 << 20), ("1e9", 10**9), ("1.5 KiB", 1536)])
def test_sizes(text, size):
    assert parse_size(text) == memory_limit(text, 1) == size


def test_shares_and_mistakes():
    assert memory_limit(0.25, 80 << 30) == 20 << 30
    assert memory_limit(1 << 30, 1) == 1 << 30
    for wrong in (0, -5, -0.5):
        with pytest.raises(UsageError, match=r"memory = .* is not (a limit|valid)"):
            dgraph.Cuda(memory=wrong)
    with pytest.raises(UsageError, match="'many' is not a size"):
        dgraph.Cuda(memory="many")
    with pytest.raises(UsageError, match="unknown allocator 'cuppy': did you mean 'cupy'"):
        dgraph.Cuda(allocator="cuppy")


def test_a_limit_without_a_gpu_is_refused(monkeypatch):
    monkeypatch.setattr("dgraph.backend.has_gpu", lambda: False)
    with pytest.raises(UsageError, match="memory='1GiB' is about GPUs, and this run has none"):
        dgraph.cc(dgraph.Graph.load("path:9", device=dgraph.Auto(memory="1GiB")))


@pytest.mark.gpu
def test_what_exceeds_the_limit_is_refused_with_figures(cupy):
    graph = dgraph.Graph.load("rmat:18", device=dgraph.Cuda(memory="8MiB"))
    with pytest.raises(UsageError, match=r"[\d,]+ bytes"):
        dgraph.cc(graph)
    result = dgraph.cc(graph.on(device=dgraph.Cuda(memory="2GiB")))
    memory = result.report["ranks"][0]["gpu_memory"]
    assert 0 < memory["peak_bytes"] <= memory["held_bytes"] <= 2 << 30
    expected = dgraph.cc(graph.on(device="cpu"))
    assert np.array_equal(result.columns["labels"], expected.columns["labels"])


@pytest.mark.gpu
def test_the_allocator_of_the_process_is_used_and_kept(cupy):
    calls, pool = [], cupy.cuda.MemoryPool()

    def allocate(size):
        calls.append(size)
        return pool.malloc(size)

    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(allocate)
    try:
        with dgraph.Graph.load("rmat:12", device=dgraph.Cuda(allocator="cupy")) as graph:
            ranks = dgraph.pagerank(graph).columns["pagerank"]
            assert sum(calls) > 0
            assert cupy.cuda.get_allocator() is allocate
            expected = dgraph.pagerank(graph.on(device="cpu")).columns["pagerank"]
        np.testing.assert_allclose(ranks, expected, atol=1e-9)
        gc.collect()
        assert pool.used_bytes() == 0
    finally:
        cupy.cuda.set_allocator(before)


@pytest.mark.gpu
def test_a_closed_graph_gives_its_memory_back(cupy):
    dgraph.cc(dgraph.Graph.load("rmat:10", device="cuda"))  # context and kernels stay
    gc.collect()
    free = cupy.cuda.Device().mem_info[0]
    with dgraph.Graph.load("rmat:20,symmetric", device="cuda") as graph:
        dgraph.cc(graph)
        assert cupy.cuda.Device().mem_info[0] < free - (64 << 20)
    gc.collect()
    assert cupy.cuda.Device().mem_info[0] >= free - (8 << 20)


@pytest.mark.gpu
def test_the_allocator_of_the_process_is_set_back_and_limits_add_up(cupy):
    before = process_allocator(cupy)  # an earlier test may have left a device's own in place
    one = dgraph.Graph.load("rmat:16", device=dgraph.Cuda(memory="2GiB"))
    bytes_of_one = dgraph.cc(one).report["ranks"][0]["gpu_memory"]["held_bytes"]
    assert cupy.cuda.get_allocator() == before
    other = dgraph.Graph.load("rmat:16", device=dgraph.Cuda(memory=bytes_of_one + (1 << 20)))
    dgraph.cc(other)  # the first graph leaves the GPU: both do not fit in the second's limit
    assert one.kept_backend.device.used() + other.kept_backend.device.used() <= bytes_of_one + (1 << 20)
    one.close()
    other.close()
