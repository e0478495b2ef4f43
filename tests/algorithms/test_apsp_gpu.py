"""All pairs on a GPU, emulated: searches, products, and matrices in host memory whose strips stream through the GPU."""

import time

import emulated
import numpy as np
import pytest
from flat_run import flat_run
from signed_arcs import graph, signed

import dgraph
from dgraph.algorithms.apsp import SEARCHES
from dgraph.algorithms.apsp_parts import minplus_streamed
from dgraph.algorithms.apsp_parts.minplus_cuda import GpuMinPlus
from dgraph.comm import SerialComm
from dgraph.errors import OutOfMemory, UsageError, ValidationFailed


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("method", ["blocked", "separators", "recursive", "squaring", "floyd-warshall"])
def test_on_an_emulated_gpu(method):
    n, src, dst, weights = signed(70)
    loaded = graph(n, src, dst, weights, SerialComm())
    dtype = "float64" if method == "recursive" else "auto"
    result = flat_run("apsp", loaded, backend=emulated.backend(), variant=method, block=33, dtype=dtype, validate=True)
    np.testing.assert_array_equal(result.matrix, dgraph.apsp(loaded, variant="johnson").matrix.here)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("search", SEARCHES[1:])
@pytest.mark.parametrize("dtype", ["auto", "float64"])
def test_searches_on_an_emulated_gpu(search, dtype):
    n, src, dst, weights = signed(70)
    options = {"variant": "johnson", "search": search, "dtype": dtype, "validate": True}
    for drawn in ((n, src, dst, weights), (n, src, dst, np.abs(weights)), (n + 5, src[:80], dst[:80], np.ones(80))):
        loaded = graph(*drawn, SerialComm())
        result = flat_run("apsp", loaded, backend=emulated.backend(), **options)
        np.testing.assert_array_equal(result.matrix, dgraph.apsp(loaded, variant="johnson").matrix.here)


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("search", "mutant"),
    [
        ("bellman-ford", ("] = round + 1;", "] = round;")),
        ("bellman-ford", ("fell = __syncthreads_or(lower)", "fell = 0")),
        ("dijkstra", ("env.least[v];", "2 * env.least[v];")),
        ("dijkstra", ("settled = __syncthreads_or(settles)", "settled = 0")),
    ],
)
def test_mutants_of_searches_are_rejected(search, mutant):
    n, src, dst, weights = signed(150, seed=3)
    loaded = graph(n, src, dst, np.abs(weights), SerialComm())
    backend = emulated.backend()
    backend.device.mutants = (mutant,)
    with pytest.raises(ValidationFailed):
        flat_run("apsp", loaded, backend=backend, variant="johnson", search=search, validate=True)
    assert backend.device.changed == {mutant}


@pytest.mark.mpi
def test_searches_of_gpus_are_refused_elsewhere():
    with pytest.raises(UsageError, match="runs on GPUs alone"):
        dgraph.apsp(dgraph.Graph.load("path:5", device="cpu"), variant="johnson", search="dijkstra")
    with pytest.raises(UsageError, match="is for variant='johnson'"):
        dgraph.apsp("path:5", search="bellman-ford")


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("products", ["streamed", "hybrid"])
@pytest.mark.parametrize("method", ["blocked", "separators", "recursive", "squaring", "floyd-warshall"])
def test_products_stream_through_an_emulated_gpu(method, products, monkeypatch):
    """Check matrices in host memory, of which a strip has 14 rows, with blocks of pivots wider than a GPU closes."""
    monkeypatch.setattr(minplus_streamed, "STRIP", 4000)
    n, src, dst, weights = signed(140)
    loaded = graph(n, src, dst, weights, SerialComm())
    options = {"variant": method, "products": products, "validate": True}
    result = flat_run("apsp", loaded, backend=emulated.backend(), **options)
    np.testing.assert_array_equal(result.matrix, dgraph.apsp(loaded, variant="johnson").matrix.here)
    assert ("products", products) in [(choice["what"], choice["taken"]) for choice in result.report["choices"]]


@pytest.mark.mpi_skip
@emulated.needs_compiler
@pytest.mark.parametrize("hybrid", [False, True])
def test_each_strip_is_taken_once(hybrid, monkeypatch):
    monkeypatch.setattr(minplus_streamed, "STRIP", 4 * 8 * 30)
    rng = np.random.default_rng(2)
    a, b, c = rng.random((30, 5)), rng.random((5, 30)), rng.random((30, 30))
    wanted = np.minimum(c, (a[:, :, None] + b[None]).min(axis=1))
    kernel = GpuMinPlus(emulated.backend()).streamed(hybrid)
    kernel.update(c, slice(0, 30), slice(0, 30), a, b)
    np.testing.assert_array_equal(c, wanted)
    assert sum(kernel.taken.values()) == -(-30 // 4)
    assert hybrid or kernel.taken["cpu"] == 0


@pytest.mark.mpi_skip
@emulated.needs_compiler
@pytest.mark.parametrize(("slow", "more"), [("cpu", False), ("gpu", True)])
def test_threads_take_strips_while_that_is_sooner(slow, more, monkeypatch):
    monkeypatch.setattr(minplus_streamed, "STRIP", 4 * 8 * 30)
    kernel = GpuMinPlus(emulated.backend()).streamed(True)
    owner = kernel.threads if slow == "cpu" else kernel.gpu
    update = owner.update
    monkeypatch.setattr(owner, "update", lambda *product: (time.sleep(0.1), update(*product)))
    rng = np.random.default_rng(2)
    a, b, c = rng.random((30, 5)), rng.random((5, 30)), np.full((30, 30), np.inf)
    while kernel.taken["cpu"] < minplus_streamed.TRIED:
        kernel.update(c, slice(0, 30), slice(0, 30), a, b)
    tried = kernel.taken["cpu"]
    c[...] = np.inf
    kernel.update(c, slice(0, 30), slice(0, 30), a, b)
    np.testing.assert_array_equal(c, (a[:, :, None] + b[None]).min(axis=1))
    assert (kernel.taken["cpu"] > tried) is more


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("lost", ["arriving", "leaving"])
def test_a_strip_that_does_not_wait_for_its_copy_is_found(lost, monkeypatch):
    monkeypatch.setattr(minplus_streamed, "STRIP", 4000)
    n, src, dst, weights = signed(70)
    backend = emulated.backend()
    name = "hold" if lost == "arriving" else "wait"
    monkeypatch.setattr(backend.device.raw, name, lambda *_: None)
    with pytest.raises(ValidationFailed):
        flat_run(
            "apsp", graph(n, src, dst, weights, SerialComm()), backend=backend, variant="blocked", products="streamed",
            validate=True,
        )  # fmt: skip


@emulated.needs_compiler
@pytest.mark.mpi_skip
def test_a_matrix_above_the_memory_of_a_gpu_is_streamed(monkeypatch):
    n, src, dst, weights = signed(300)
    loaded = graph(n, src, dst, weights, SerialComm())
    wanted = dgraph.apsp(loaded, variant="johnson").matrix.here
    monkeypatch.setattr(minplus_streamed, "STRIP", 4000)
    monkeypatch.setattr(minplus_streamed.StreamedMinPlus, "preferred", 32)
    backend = emulated.backend()
    backend.device.memory = 300_000
    result = flat_run("apsp", loaded, backend=backend, variant="blocked", validate=True)
    np.testing.assert_array_equal(result.matrix, wanted)
    (choice,) = (choice for choice in result.report["choices"] if choice["what"] == "products")
    assert (choice["taken"], choice["reason"]) == ("streamed", "the matrix exceeds the memory of a GPU")
    for memory, options in ((300_000, {"products": "resident"}), (1000, {})):
        backend = emulated.backend()
        backend.device.memory = memory
        with pytest.raises(OutOfMemory, match="of its GPU"):
            flat_run("apsp", loaded, backend=backend, variant="blocked", **options)


@pytest.mark.mpi
def test_products_of_gpus_are_refused_elsewhere():
    with pytest.raises(UsageError, match="runs on GPUs alone"):
        dgraph.apsp(dgraph.Graph.load("path:5", device="cpu"), variant="blocked", products="streamed")
    with pytest.raises(UsageError, match="is for a variant of products"):
        dgraph.apsp("path:5", products="hybrid")


MUTANTS = [
    ("k + column < env.depth", "k + column + 1 < env.depth"),
    ("left + column < env.columns;", "left + column + 1 < env.columns;"),
    ("const int x = threadIdx.x % 16", "const int x = threadIdx.x % 15"),
    ("buffer ^= 1;", ""),
]


@emulated.needs_compiler
@pytest.mark.mpi_skip
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_of_the_kernel_are_rejected(mutant):
    n, src, dst, weights = signed(150, seed=3)
    loaded = graph(n, src, dst, weights, SerialComm())
    backend = emulated.backend()
    backend.device.mutants = (mutant,)
    with pytest.raises(ValidationFailed):
        flat_run("apsp", loaded, backend=backend, variant="blocked", block=33, validate=True)
    assert backend.device.changed == {mutant}
