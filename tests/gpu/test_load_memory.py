"""Memory that a load takes on a GPU: its peak over what stays, and what was asked for before it was taken."""

import gc
import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from devices import device_of
from emulated import needs_compiler

import dgraph
from dgraph.backend import build
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device import placed_rows, uploads
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build import build_memory, listed_edges
from dgraph.comm import SerialComm

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
N, M = 1 << 14, 1 << 18
SLACK = 50_000
"""Bytes of Python objects, and of kernels' arguments."""


@pytest.fixture
def gpu(monkeypatch):
    """Return an emulated GPU that builds every graph, and whose scratch memory is small."""
    device = device_of("emulated")
    for module in (build, import_module("dgraph.engine.opened_device")):
        monkeypatch.setattr(module, "backend", lambda *_, **__: CudaBackend(0, 1, True, GpuPlan(), device))
    monkeypatch.setattr(build, "has_gpu", lambda: True)
    monkeypatch.setattr(build, "FEW", 0)
    for module in (build_memory, placed_rows):
        monkeypatch.setattr(module, "LEAST", 1 << 10)
    return device


def taken_by(load, gpu, monkeypatch):
    """Return the peak of bytes of a load, those that stay on the GPU, and the most that were asked for."""
    asked = []
    monkeypatch.setattr(gpu, "free", lambda wanted=0: asked.append(wanted) or 1 << 40, raising=False)
    load()  # compiles
    gc.collect()
    asked.clear()
    tracemalloc.start()
    try:
        graph = load()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert graph.built_on is gpu
    local = graph.partition().local
    rows, vertices = local.built, local.vertices
    arrays = [rows.offsets, rows.neighbours, vertices.original, local.degree]
    arrays += [array for array in (rows.weights, vertices.place) if array is not None]
    return peak, sum(array.nbytes for array in arrays), max(asked)


def ends():
    """Return edges few of which are parallel, and of which a hub has many."""
    rng = np.random.default_rng(3)
    src = np.where(np.arange(M) < N // 2, 7, rng.integers(0, N, M)).astype(np.uint32)
    return src, rng.integers(0, N, M, np.uint32), rng.integers(1, 200, M).astype(np.int32)


@pytest.mark.parametrize(("weighted", "options", "most"), [
    (True, {}, 1.5), (True, {"directed": False}, 1.4), (False, {"directed": False}, 1.6),
])  # fmt: skip
def test_lists_of_edges(weighted, options, most, gpu, monkeypatch):
    src, dst, weights = ends()
    options |= {} if weighted else {"keep_parallel": True}

    def load():
        return dgraph.Graph.from_edges(
            src, dst, weights if weighted else None, device="cuda", comm=SerialComm(), **options
        )

    peak, stays, asked = taken_by(load, gpu, monkeypatch)
    assert peak < most * stays
    assert peak < asked / listed_edges.SHARE + SLACK


@pytest.mark.parametrize(("weighted", "directed"), [(True, True), (False, True), (True, False)])
def test_rows(weighted, directed, gpu, monkeypatch):
    src, dst, weights = ends()
    if not directed:
        src, dst, weights = np.append(src, dst), np.append(dst, src), np.append(weights, weights)
    order = np.argsort(src, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=N))])
    dst, weights = dst[order], weights[order] if weighted else None

    def load():
        return dgraph.Graph.from_csr(offsets, dst, weights, directed=directed, device="cuda", comm=SerialComm())

    peak, stays, asked = taken_by(load, gpu, monkeypatch)
    assert peak < 1.35 * stays
    assert peak < asked / listed_edges.SHARE + SLACK


def test_what_is_read_ahead_goes_to_the_arrays_in_order(monkeypatch):
    """Pieces of the stream lie across arrays, and arrays across pieces."""
    monkeypatch.setattr(uploads, "PIECE", 16)
    device = device_of("emulated", blocks=3)
    source = np.random.default_rng(1).integers(0, 256, 3000).astype(np.uint8)
    sizes = [1, 15, 16, 40, 700, 0, 228, 2000]
    arrays = [np.zeros(size, np.uint8) for size in sizes]

    def read(place, first):
        place[:] = source[first : first + place.size]

    with device.streamed(sum(sizes), read) as fill:
        for array in arrays:
            fill(array)
    np.testing.assert_array_equal(np.concatenate(arrays), source)
    with pytest.raises(ZeroDivisionError), device.streamed(3000, lambda place, first: 1 // 0) as fill:
        fill(np.zeros(40, np.uint8))
    device.fill(arrays[-1], lambda place, first: place.fill(7))
    assert (arrays[-1] == 7).all()
