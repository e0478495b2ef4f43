"""Graphs stay on GPUs between runs as long as their handle, and leave if memory is short; GPUs are emulated."""

import gc
import weakref

import numpy as np
import oracles
import pytest
from emulated import Device, needs_compiler
from emulated_raw import Raw
from flat_run import flat_run
from simulated import succeed

import dgraph
from dgraph import backend as backends
from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.codegen import exchange_state
from dgraph.backend.cuda.device import gpu_assignment, pools
from dgraph.backend.cuda.device_graph import device_graph, small_graph
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.transports import aware, selftest
from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.result.result import UNREACHED

pytestmark = [pytest.mark.mpi_skip, needs_compiler]
GPUS = 4


class Gpu(Device):
    """Emulated GPU whose memory is used by ``there``, the graphs on it."""

    def __init__(self, number, memory, there):
        super().__init__(2, seed=number + 1, memory=memory)
        self.raw, self.number, self.there = Raw(f"GPU-{number}"), number, there

    def free(self, wanted=0):
        if self._free() < wanted:
            pools.drop_caches(None, self.number, weakref.ref(self))
        return self._free()

    def _free(self):
        return super().free() - sum(map(taken, self.there))


def taken(graph):
    rows = [graph.out, *([graph.incoming] if "incoming" in graph.__dict__ else [])]
    return sum(rows_of_side.offsets.nbytes + rows_of_side.neighbours.nbytes for rows_of_side in rows)


class Uploads(list):
    """Numbers of the GPUs that graphs were uploaded to. ``memory``: bytes of a GPU."""

    memory = 1 << 30

    def __init__(self):
        super().__init__()
        self.there = [weakref.WeakSet() for _ in range(GPUS)]

    def bring(self, graph, local):
        Uploads.upload(graph, local)
        self.append(graph.device.number)
        graph.device.there.add(graph)

    def gpu(self, backend, place, ranks_here, gpus, allocator):
        number, backend.how = gpu_assignment.number(gpus, place, ranks_here, GPUS)
        return Gpu(number, self.memory, self.there[number])

    upload = device_graph.DeviceGraph._upload


@pytest.fixture
def uploads(monkeypatch):
    counter = Uploads()
    monkeypatch.setattr(small_graph, "FEW", 0)
    monkeypatch.setattr("dgraph.engine.opened_device._cpus", {})
    monkeypatch.setattr(device_graph.DeviceGraph, "_upload", lambda graph, local: counter.bring(graph, local))
    monkeypatch.setattr(CudaBackend, "_gpu", lambda backend, *about: counter.gpu(backend, *about))
    monkeypatch.setattr("dgraph.backend.cuda.device.device.count", lambda: GPUS)
    monkeypatch.setattr(backends, "_takes_gpu", lambda *_, **__: True)
    monkeypatch.setattr(selftest, "SIZES", (64, 20_000))
    monkeypatch.setattr(selftest, "TURNS", 4)
    monkeypatch.setattr(aware, "library_says", lambda: aware.NO)
    monkeypatch.setattr(pools, "_caches", {})
    monkeypatch.setattr(pools, "give_back", lambda *_: gc.collect())
    return counter


def graph_of(comm, n=300, seed=3):
    src, dst = np.random.default_rng(seed).integers(0, n, (2, 8 * n))
    mine = slice(comm.rank, None, comm.size)
    return dgraph.Graph.from_edges(src[mine], dst[mine], n=n, comm=comm), oracles.bfs(n, src, dst, 1)


def check(graph, expected, **more):
    result = flat_run("bfs", graph, source=1, return_predecessors=False, **more)
    reached = expected[result.columns["vertex"]]
    assert np.array_equal(result.columns["distance"], np.where(reached < 0, UNREACHED, reached))
    return result


def test_a_run_beyond_its_limit_is_refused_with_figures(uploads):
    graph, expected = graph_of(SerialComm())
    need = check(graph, expected, backend="cuda", direction="pull").report["ranks"][0]["gpu_memory"]["planned_bytes"]
    graph.keep_backend(None)
    assert check(graph, expected, backend="cuda", direction="pull", gpu_memory=str(need)).converged
    graph.keep_backend(None)
    refused = rf"needs {need:,} bytes .* and {need - 1:,} are free .* limit of {need - 1:,} "
    with pytest.raises(UsageError, match=refused):
        check(graph, expected, backend="cuda", direction="pull", gpu_memory=str(need - 1))
    graph.keep_backend(None)
    assert check(graph, expected, backend="cuda", direction="pull").converged


@pytest.mark.parametrize("size", [1, 3])
def test_a_graph_is_brought_to_a_gpu_once(size, uploads):
    def work(comm):
        graph, expected = graph_of(comm)
        for _ in range(3):
            check(graph, expected, backend="cuda")
        check(graph, expected, gpus=",".join(map(str, range(size))))
        assert graph.kept_backend.how == "by place on the node"

    succeed(size, work)
    assert sorted(uploads) == [*range(size)]


def test_it_goes_to_another_gpu_where_that_is_asked_for(uploads):
    graph, expected = graph_of(SerialComm())
    for gpus in ("0", None, "2", None, "0"):
        check(graph, expected, gpus=gpus)
    assert uploads == [0, 2, 0]


def test_it_leaves_with_its_handle(uploads):
    graph, expected = graph_of(SerialComm())
    check(graph, expected)
    device = weakref.ref(graph.kept_backend.device)
    gc.disable()
    try:
        del graph
        assert device() is None
    finally:
        gc.enable()


def test_a_backend_of_ones_own_is_not_kept(uploads):
    graph, expected = graph_of(SerialComm())
    check(graph, expected, backend=CudaBackend(0, 1, True, GpuPlan(), Gpu(1, 1 << 30, set())))
    assert graph.kept_backend is None
    check(graph, expected)
    assert uploads == [1, 0]


def test_a_graph_leaves_where_another_wants_its_room(uploads):
    one, other = (graph_of(SerialComm(), seed=seed) for seed in (3, 4))
    most = max(check(*arguments).report["ranks"][0]["gpu_memory"]["planned_bytes"] for arguments in (one, other))
    for memory, brought in ((2 * most, 2), (most, 6)):
        one[0].keep_backend(None)
        other[0].keep_backend(None)
        uploads.clear()
        uploads.memory = memory
        for _ in range(3):
            check(*one)
            check(*other)
        assert len(uploads) == brought
    uploads.memory = most - 1
    one[0].keep_backend(None)
    other[0].keep_backend(None)
    assert check(*one).converged  # it only pushes, and needs no in-edges


@pytest.mark.exhaustive
def test_the_same_graph_by_another_policy_takes_the_place_of_the_first(uploads, monkeypatch):
    monkeypatch.setattr(exchange_state, "MAILED", 0)

    def work(comm):
        graph, expected = graph_of(comm)
        runs = [check(graph, expected, policy=policy) for policy in ("oec", "cvc", "cvc", "oec")]
        assert len(graph.kept_backend._graphs) == 2
        planned = [rank["gpu_memory"]["planned_bytes"] for run in runs for rank in run.report["ranks"]]
        graph.kept_backend.device.memory = max(planned) + 4_000  # enough for messages, but not for other edges
        for policy in ("hvc", "oec", "oec"):
            check(graph, expected, policy=policy)
            assert len(graph.kept_backend._graphs) == 1

    succeed(2, work)
    assert sorted(uploads) == [0] * 4 + [1] * 4


def test_what_a_program_left_with_a_graph_is_no_shortage(uploads):
    """Check that in-edges stay for programs that pull, and are freed if another program needs the memory."""
    graph, expected = graph_of(SerialComm())
    planned = [
        check(graph, expected, direction=direction).report["ranks"][0]["gpu_memory"]["planned_bytes"]
        for direction in ("push", "pull", "push", "pull")
    ]
    assert planned[2] < planned[3]
    device, (_, there, machines) = graph.kept_backend.device, *graph.kept_backend._graphs.values()
    device.memory = planned[3] + 100
    check(graph, expected, direction="pull")
    assert "incoming" in there.__dict__
    device.memory = planned[2] + 100
    machines.clear()  # a machine that was kept needs no memory
    check(graph, expected, direction="push")
    assert "incoming" not in there.__dict__
    assert uploads == [0]


def test_a_graph_that_left_one_gpu_leaves_all(uploads):
    """Check that all ranks upload again: otherwise they would order message positions differently."""

    def work(comm):
        graph, expected = graph_of(comm)
        check(graph, expected, policy="oec")
        if comm.rank == 1:
            graph.kept_backend._graphs.clear()
        check(graph, expected, policy="oec")

    succeed(3, work)
    assert sorted(uploads) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("algorithm", ["bfs", "cc", "kcore", "pagerank"])
def test_what_a_run_made_leaves_without_a_collection(algorithm, uploads):
    def work(comm):
        graph, _ = graph_of(comm)
        parameters = {"source": 1} if algorithm == "bfs" else {}
        flat_run(algorithm, graph, **parameters)
        (left,) = (weakref.ref(entry) for _, entry, _ in graph.kept_backend._graphs.values())
        graph.kept_backend._graphs.clear()
        return left() is None

    gc.collect()
    gc.disable()
    try:
        assert succeed(2, work) == [True, True]
    finally:
        gc.enable()
